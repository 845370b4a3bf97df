"""Kraken's orders over WebSocket: the calls of private REST under other names."""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.kraken.orders import KrakenOrders
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Call, Fields, known

_AS_IN_REST = {
    "order_type": "ordertype",
    "side": "type",
    "order_qty": "volume",
    "limit_price": "price",
    "time_in_force": "timeinforce",
    "cl_ord_id": "cl_ord_id",
    "deadline": "deadline",
    "order_userref": "userref",
    "stp_type": "stptype",
    "validate": "validate",
}
_AMENDED = {
    "order_id": "txid",
    **{name: name for name in ("cl_ord_id", "order_qty", "limit_price", "post_only", "deadline")},
}
Result = dict[str, object]


class KrakenTrading:
    """`rest`: AddOrder, AmendOrder, CancelOrder and CancelAll of the `orders`."""

    def __init__(self, exchange: SimulatedExchange, orders: KrakenOrders, rest: Mapping[str, Call]) -> None:
        self._exchange = exchange
        self._orders = orders
        self._rest = rest
        self._methods: dict[str, tuple[Callable[[Fields], list[Result]], frozenset[str]]] = {
            "add_order": (self._add, known("token", "symbol", "post_only", "triggers", *_AS_IN_REST)),
            "amend_order": (self._amend, known("token", *_AMENDED)),
            "cancel_order": (self._cancel, known("token", "order_id", "cl_ord_id")),
            "cancel_all": (self._cancel_all, known("token")),
        }

    def knows(self, method: str) -> bool:
        return method in self._methods

    def results(self, method: str, parameters: Fields) -> list[Result]:
        """Return the results; each order is answered by itself. Raises RequestRejectedError."""
        answer, names = self._methods[method]
        for name in parameters:
            if name not in names:
                raise RequestRejectedError("invalid_request", name)
        return answer(parameters)

    def _add(self, parameters: Fields) -> list[Result]:
        listing = self._exchange.listings.get(str(parameters.get("symbol")))
        if listing is None:
            raise RequestRejectedError("unknown_market")
        fields = _rest_fields(parameters)
        if not isinstance(parameters.get("post_only", False), bool):
            raise RequestRejectedError("invalid_request", "post_only")
        if not isinstance(parameters.get("cl_ord_id", ""), str):
            raise RequestRejectedError("client_id_invalid")
        if parameters.get("post_only"):
            fields["oflags"] = "post"
        row: Any = self._rest["AddOrder"]({**fields, "pair": listing.market_id})
        result: Result = {"order_id": row["txid"][0]} if "txid" in row else {}
        if "cl_ord_id" in row:
            result["cl_ord_id"] = row["cl_ord_id"]
        return [result]

    def _amend(self, parameters: Fields) -> list[Result]:
        fields = {_AMENDED[name]: parameters[name] for name in parameters if name != "token"}
        row: Any = self._rest["AmendOrder"](fields)
        named = {name: parameters[name] for name in ("order_id", "cl_ord_id") if name in parameters}
        return [{"amend_id": row["amend_id"], **named}]

    def _cancel(self, parameters: Fields) -> list[Result]:
        """Cancel all of them or none: an unknown id rejects the whole call."""
        names, client_ids = _texts(parameters, "order_id"), _texts(parameters, "cl_ord_id")
        customer = self._exchange.customer
        orders = [customer.order(name) for name in names]
        orders += [customer.latest_by_client_id(name) for name in client_ids]
        if not orders:
            raise RequestRejectedError("invalid_request", "order_id")
        for order in orders:
            if order.state != "open":
                raise RequestRejectedError("order_ended", order.order_id)
        for order in {order.order_id: order for order in orders}.values():
            self._orders.cancel(order)
        results: list[Result] = [{"order_id": name} for name in names]
        results += [{"cl_ord_id": name} for name in client_ids]
        return results

    def _cancel_all(self, _parameters: Fields) -> list[Result]:
        row: Any = self._rest["CancelAll"]({})
        return [{"count": row["count"]}]


def _rest_fields(parameters: Fields) -> dict[str, Any]:
    """Return the fields by REST's names: there the price of a stop order is the one that it waits for, and its limit is
    the second one."""
    fields = {rest: parameters[name] for name, rest in _AS_IN_REST.items() if name in parameters}
    if "stptype" in fields:
        fields["stptype"] = str(fields["stptype"]).replace("_", "-")
    triggers = parameters.get("triggers")
    if triggers is None:
        return fields
    if not isinstance(triggers, dict) or not set(triggers) <= {"price", "reference", "price_type"}:
        raise RequestRejectedError("invalid_request", "triggers")
    if triggers.get("price_type", "static") != "static":
        raise RequestRejectedError("invalid_request", "triggers")
    limit = {"price2": fields["price"]} if "price" in fields else {}
    return {**fields, **limit, "price": triggers.get("price"), "trigger": triggers.get("reference", "last")}


def _texts(parameters: Fields, name: str) -> list[str]:
    rows = parameters.get(name, [])
    if not isinstance(rows, list):
        raise RequestRejectedError("invalid_request", name)
    return [str(row) for row in rows]
