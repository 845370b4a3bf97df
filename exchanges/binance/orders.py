"""Orders on Binance, by REST or its WebSocket API: `origClientOrderId` finds the order again; fees are paid in the
received currency."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.binance.order_socket import binance_order_socket
from exchanges.binance.symbols import binance_symbol
from exchanges.ports.error_mapping import is_not_found
from exchanges.ports.order_calls import Ask, PrivateCall, rest_calls
from exchanges.ports.orders import (
    AnswerNotUnderstoodError,
    ExchangeOrders,
    KeyRights,
    Pages,
    SocketOrders,
    number_in,
    on_exchange_clock,
    report_of,
    row_of,
    rows_of,
    side_in,
    symbol_in,
    text_in,
)
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side, StatedOrder
from market.money import Amount, Price, text_of

RECEIVE_WITHIN_MS = 5_000
"""After that Binance refuses a request by its timestamp, so that no order arrives late (`recvWindow`)."""
_ENDED = ("FILLED", "CANCELED", "EXPIRED", "EXPIRED_IN_MATCH", "REJECTED")
_MICROS_OF_MS = 1_000
_PAGE = 1_000


_REST = {
    ("POST", "order"): "privatePostOrder",
    ("DELETE", "order"): "privateDeleteOrder",
    ("GET", "order"): "privateGetOrder",
    ("GET", "myTrades"): "privateGetMyTrades",
}
"""ccxt's methods of the calls that go over a socket as well."""


class BinanceOrderApi:
    """`ask`: how orders are posted, followed and cancelled; by default by REST, as everything else is."""

    def __init__(self, client: Any, ask: Ask | None = None) -> None:
        self._client = client
        self._rest = rest_calls(client, _REST)
        self._ask = ask or self._rest

    async def post(self, order: LimitOrder, market: Market) -> str:
        terms = {
            "symbol": binance_symbol(market),
            "side": order.side.upper(),
            "type": "LIMIT",
            "timeInForce": "IOC",
            "price": text_of(order.price),
            "quantity": text_of(order.amount),
            "newClientOrderId": order.client_order_id,
            "newOrderRespType": "ACK",
            "recvWindow": str(RECEIVE_WITHIN_MS),
        }
        return text_in(row_of(await self._ask(PrivateCall("POST", "order", terms, is_order=True))), "orderId")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        return await self._report(self._ask, market, {"orderId": exchange_order_id})

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        """By REST alone: after an unknown outcome the way that it was sent is in doubt."""
        return await self._report(self._rest, market, {"origClientOrderId": order.client_order_id})

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        terms = {"symbol": binance_symbol(market), "orderId": exchange_order_id}
        await self._ask(PrivateCall("DELETE", "order", terms))

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(row_of(await self._client.privateGetAccount()).get("balances"))
        return {text_in(row, "asset"): number_in(row, "free") + number_in(row, "locked") for row in rows}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        """One request per market: all at once weighs more than ten of them."""
        found = []
        for market in markets:
            rows = rows_of(await self._client.privateGetOpenOrders({"symbol": binance_symbol(market)}))
            found += [_open_order(row, market) for row in rows]
        return found

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """Oldest first: by time, then by the id after the last; the two cannot be combined."""
        began = on_exchange_clock(self._client, since)
        found = []
        for market in markets:
            pages = Pages()
            query = {"symbol": binance_symbol(market), "limit": str(_PAGE)}
            rows = rows_of(await self._client.privateGetMyTrades(query | {"startTime": str(began // _MICROS_OF_MS)}))
            while rows:
                pages.add_page(text_in(row, "id") for row in rows)
                found += [_account_fill(row, market) for row in rows]
                following = str(int(number_in(rows[-1], "id")) + 1)
                is_full = len(rows) == _PAGE
                rows = rows_of(await self._client.privateGetMyTrades(query | {"fromId": following})) if is_full else []
        return found

    async def _report(self, ask: Ask, market: Market, key: dict[str, str]) -> OrderReport | None:
        order = PrivateCall("GET", "order", {"symbol": binance_symbol(market)} | key)
        try:
            if "orderId" in key:
                row, fills = await asyncio.gather(ask(order), _fills(ask, market, key["orderId"]))
            else:
                row = await ask(order)
                fills = await _fills(ask, market, text_in(row_of(row), "orderId"))
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        found = row_of(row)
        has_ended = text_in(found, "status") in _ENDED
        stated, once = _stated(found, market, fills), [one.fill for one in fills]
        return report_of(text_in(found, "orderId"), has_ended, number_in(found, "executedQty"), once, stated)


async def _fills(ask: Ask, market: Market, exchange_order_id: str) -> list[AccountFill]:
    query = {"symbol": binance_symbol(market), "orderId": exchange_order_id, "limit": str(_PAGE)}
    return [_account_fill(row, market) for row in rows_of(await ask(PrivateCall("GET", "myTrades", query)))]


def _open_order(row: Mapping[str, Any], market: Market) -> OpenOrder:
    price = number_in(row, "price")
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "orderId"),
        # the exchange generates one if none was sent
        client_order_id=text_in(row, "clientOrderId"),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "origQty")),
        price=Price(price) if price else None,
        placed_at=int(number_in(row, "time")) * _MICROS_OF_MS,
    )


def _account_fill(row: Mapping[str, Any], market: Market) -> AccountFill:
    is_buyer = row.get("isBuyer")
    if not isinstance(is_buyer, bool):
        raise AnswerNotUnderstoodError(f"isBuyer is missing in {str(row)[:200]}")
    return AccountFill(_fill(row, "buy" if is_buyer else "sell", market), text_in(row, "orderId"))


def _stated(row: Mapping[str, Any], market: Market, fills: Sequence[AccountFill]) -> StatedOrder:
    return StatedOrder(
        client_order_id=text_in(row, "clientOrderId"),
        symbol=symbol_in(row, "symbol", market, [binance_symbol(market)]),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "origQty")),
        price=Price(number_in(row, "price")),
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )


def _fill(row: Mapping[str, Any], side: Side, market: Market) -> Fill:
    return Fill(
        fill_id=text_in(row, "id"),
        exchange=market.exchange,
        symbol=symbol_in(row, "symbol", market, [binance_symbol(market)]),
        side=side,
        price=Price(number_in(row, "price")),
        amount=Amount(number_in(row, "qty")),
        cost=number_in(row, "quoteQty"),
        fee=number_in(row, "commission"),
        # The received currency, or BNB if the account pays its fees in it.
        fee_currency=text_in(row, "commissionAsset"),
        filled_at=int(number_in(row, "time")) * _MICROS_OF_MS,
    )


async def _taker_rate(client: Any, _markets: Sequence[Market]) -> Decimal:
    return number_in(row_of(row_of(await client.privateGetAccount()).get("commissionRates")), "taker")


async def _server_time(client: Any) -> tuple[int, int]:
    return int(number_in(row_of(await client.publicGetTime()), "serverTime")), 0


async def _key_rights(client: Any, market: Market) -> KeyRights:
    """GET /api/v3/account/commission, and GET /sapi/v1/account/apiRestrictions, which the test network lacks."""
    asked = {"symbol": binance_symbol(market)}
    discount = row_of(row_of(await client.privateGetAccountCommission(asked)).get("discount"))
    is_taken = discount.get("enabledForAccount") is True and discount.get("enabledForSymbol") is True
    pays_in = str(discount.get("discountAsset")) if is_taken else None
    try:
        said = row_of(await client.sapiGetAccountApiRestrictions())
    except ccxt.NotSupported:
        return KeyRights(pays_in=pays_in)
    return KeyRights(said.get("enableWithdrawals") is True, said.get("ipRestrict") is True, pays_in)


ORDERS = ExchangeOrders(
    BinanceOrderApi,
    _taker_rate,
    _server_time,
    _key_rights,
    socket=SocketOrders(binance_order_socket, _REST, BinanceOrderApi),
)
