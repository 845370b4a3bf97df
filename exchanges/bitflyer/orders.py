"""Orders on bitFlyer, which has no client order ids: an order is found by its content and the time it was sent."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from exchanges.bitflyer.facts import FACTS
from exchanges.bitflyer.symbols import bitflyer_product
from exchanges.errors import OutcomeUnknownError
from exchanges.ports.orders import (
    SEARCH_MARGIN,
    ExchangeOrders,
    KeyRights,
    Pages,
    dated_answer,
    micros_of,
    number_in,
    on_exchange_clock,
    price_in,
    report_of,
    row_of,
    rows_of,
    side_in,
    symbol_in,
    text_in,
)
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, StatedOrder
from market.money import Amount, Price, floor_to_step

_COST_STEPS = FACTS.order_quirks.cost_steps
_PAGE = 500


Ask = Callable[[dict[str, str]], Awaitable[object]]


class BitflyerOrderApi:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        # bitFlyer takes JSON numbers; a float prints the digits it was made from
        is_whole = order.price == int(order.price)
        answer = await self._client.privatePostSendchildorder(
            {
                "product_code": bitflyer_product(market),
                "child_order_type": "LIMIT",
                "side": order.side.upper(),
                "price": int(order.price) if is_whole else float(order.price),
                "size": float(order.amount),
                "time_in_force": "IOC",
            }
        )
        return text_in(row_of(answer), "child_order_acceptance_id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        query = {"product_code": bitflyer_product(market), "child_order_acceptance_id": exchange_order_id}
        query["count"] = str(_PAGE)
        orders, executions = await asyncio.gather(
            self._client.privateGetGetchildorders(query), self._client.privateGetGetexecutions(query)
        )
        fills = [_account_fill(row, market) for row in reversed(rows_of(executions))]
        for row in rows_of(orders):
            if text_in(row, "child_order_acceptance_id") == exchange_order_id:
                has_ended = text_in(row, "child_order_state") != "ACTIVE"
                once, stated = [one.fill for one in fills], _stated(row, market, fills)
                return report_of(exchange_order_id, has_ended, number_in(row, "executed_size"), once, stated)
        return None

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        """Raise OutcomeUnknownError if two orders match: then a person must decide.

        It searches far back, so `others` must contain every other known order of that time.
        """
        query = {"product_code": bitflyer_product(market)}
        since = on_exchange_clock(self._client, order.intended_at, SEARCH_MARGIN)
        rows = await self._rows(self._client.privateGetGetchildorders, query, "child_order_date", since)
        fitting = [text_in(row, "child_order_acceptance_id") for row in rows if _fits(row, order, since)]
        found = [name for name in fitting if name not in others]
        if len(found) > 1:
            raise OutcomeUnknownError(
                f"{len(found)} orders on bitflyer match {order.client_order_id}: {', '.join(found)}"
            )
        return await self.report(order, market, found[0]) if found else None

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        query = {"product_code": bitflyer_product(market), "child_order_acceptance_id": exchange_order_id}
        # the answer to it is empty
        await self._client.privatePostCancelchildorder(query)

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(await self._client.privateGetGetbalance())
        return {text_in(row, "currency_code"): number_in(row, "amount") for row in rows}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        found = []
        for market in markets:
            query = {"product_code": bitflyer_product(market), "child_order_state": "ACTIVE"}
            rows = await self._rows(self._client.privateGetGetchildorders, query, "child_order_date", 0)
            found += [_open_order(row, market) for row in rows]
        return found

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        began = on_exchange_clock(self._client, since)
        found = []
        for market in markets:
            query = {"product_code": bitflyer_product(market)}
            rows = await self._rows(self._client.privateGetGetexecutions, query, "exec_date", began)
            found += [_account_fill(row, market) for row in rows if micros_of(text_in(row, "exec_date")) >= began]
        return found

    async def _rows(self, ask: Ask, query: dict[str, str], date: str, since: int) -> list[Mapping[str, Any]]:
        """Newest first, page by page, down to `since` of the field `date` or a little further."""
        page = rows_of(await ask(query | {"count": str(_PAGE)}))
        found, pages = page, Pages()
        while len(page) == _PAGE and micros_of(text_in(page[-1], date)) >= since:
            pages.add_page(text_in(row, "id") for row in page)
            page = rows_of(await ask(query | {"count": str(_PAGE), "before": text_in(page[-1], "id")}))
            found = found + page
        return found


def _fits(row: Mapping[str, Any], order: LimitOrder, since: int) -> bool:
    return (
        micros_of(text_in(row, "child_order_date")) >= since
        and text_in(row, "side").lower() == order.side
        and number_in(row, "price") == order.price
        and number_in(row, "size") == order.amount
    )


def _open_order(row: Mapping[str, Any], market: Market) -> OpenOrder:
    price = number_in(row, "price")
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "child_order_acceptance_id"),
        client_order_id=None,
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "size")),
        # a market order has zero
        price=Price(price) if price else None,
        placed_at=micros_of(text_in(row, "child_order_date")),
    )


def _stated(row: Mapping[str, Any], market: Market, fills: Sequence[AccountFill]) -> StatedOrder:
    return StatedOrder(
        symbol=symbol_in(row, "product_code", market, [bitflyer_product(market)]),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "size")),
        price=Price(number_in(row, "price")),
        average=price_in(row, "average_price"),
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )


def _account_fill(row: Mapping[str, Any], market: Market) -> AccountFill:
    return AccountFill(_fill(row, market), text_in(row, "child_order_acceptance_id"))


def _fill(row: Mapping[str, Any], market: Market) -> Fill:
    """Return a fill in `market`: executions do not name their market."""
    price, amount = number_in(row, "price"), number_in(row, "size")
    cost, step = price * amount, _COST_STEPS.get(market.quote_currency)
    return Fill(
        fill_id=text_in(row, "id"),
        exchange=market.exchange,
        symbol=market.symbol,
        side=side_in(row, "side"),
        price=Price(price),
        amount=Amount(amount),
        # Executions do not report the cost; it is booked rounded down, yen as whole numbers.
        cost=cost if step is None else floor_to_step(cost, step),
        fee=number_in(row, "commission"),
        fee_currency=market.base,
        filled_at=micros_of(text_in(row, "exec_date")),
    )


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    queries = [{"product_code": bitflyer_product(market)} for market in markets]
    answers = [row_of(await client.privateGetGettradingcommission(query)) for query in queries]
    return max(number_in(answer, "commission_rate") for answer in answers)


async def _server_time(client: Any) -> tuple[int, int]:
    """Ask for any cheap answer, which has an HTTP date: there is no endpoint for the time."""
    return await dated_answer(client, client.publicGetGetticker({"product_code": "BTC_JPY"}))


async def _key_rights(client: Any, _market: Market) -> KeyRights:
    """GET /v1/me/getpermissions: the paths that the key may ask."""
    paths = await client.privateGetGetpermissions()
    moving = {"/v1/me/withdraw", "/v1/me/sendcoin"}
    return KeyRights(may_withdraw=isinstance(paths, list) and not moving.isdisjoint(map(str, paths)))


async def _why_closed(client: Any, market: Market) -> str:
    """Its list of markets does not say."""
    state = row_of(await client.publicGetGetboardstate({"product_code": bitflyer_product(market)})).get("state")
    return "" if state == "RUNNING" else str(state)


ORDERS = ExchangeOrders(BitflyerOrderApi, _taker_rate, _server_time, _key_rights, _why_closed)
