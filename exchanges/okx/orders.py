"""Orders on OKX, of accounts in spot or futures mode: `clOrdId` finds the order again; fees are paid in the received
currency, unless the account chose the quote currency."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.okx.facts import FACTS
from exchanges.okx.symbols import okx_instrument
from exchanges.ports.error_mapping import is_not_found
from exchanges.ports.orders import (
    AnswerNotUnderstoodError,
    ExchangeOrders,
    KeyRights,
    Pages,
    number_in,
    on_exchange_clock,
    optional_text_in,
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
from market.money import Amount, Price, text_of, total
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

_ENDED = ("filled", "canceled", "mmp_canceled")
_SPOT = {"instType": "SPOT"}
_MICROS_OF_MS = 1_000
_PAGE = 100
_KEPT_IN_FILLS = 2 * 86_400 * MICROSECONDS
"""GET trade/fills has the last three days, GET trade/fills-history three months, some minutes later."""

Row = Mapping[str, Any]
Ask = Callable[[dict[str, str]], Awaitable[object]]
_our_id = FACTS.order_document.our_id


class OkxOrderApi:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        answer = await self._client.privatePostTradeOrder(
            {
                "instId": okx_instrument(market),
                "tdMode": "cash",
                "side": order.side,
                "ordType": "ioc",
                "px": text_of(order.price),
                "sz": text_of(order.amount),
                "clOrdId": FACTS.order_document.sent_id(order.client_order_id),
            }
        )
        row = _only_row(answer)
        if text_in(row, "sCode") != "0":
            # ccxt raises an error for each that it sees
            raise AnswerNotUnderstoodError(f"neither an order nor an error: {str(answer)[:200]}")
        return text_in(row, "ordId")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        named = {"ordId": exchange_order_id}
        row, fills = await asyncio.gather(self._order(market, named), self._fills(market, named))
        return None if row is None else await self._report(row, fills, market)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        row = await self._order(market, {"clOrdId": FACTS.order_document.sent_id(order.client_order_id)})
        if row is None:
            return None
        return await self._report(row, await self._fills(market, {"ordId": text_in(row, "ordId")}), market)

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        await self._client.privatePostTradeCancelOrder({"instId": okx_instrument(market), "ordId": exchange_order_id})

    async def balances(self) -> dict[str, Decimal]:
        """Return what the trading account has; the funding account trades nothing."""
        details = rows_of(_only_row(await self._client.privateGetAccountBalance()).get("details"))
        return {text_in(coin, "ccy"): number_in(coin, "cashBal") for coin in details}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        by_id = {okx_instrument(market): market for market in markets}
        rows = await _all_pages(self._client.privateGetTradeOrdersPending, _SPOT, "ordId")
        return [_open_order(row, by_id[name]) for row in rows if (name := text_in(row, "instId")) in by_id]

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """Read the newest and, of an older `since`, the history too, which has the newest ones late."""
        by_id = {okx_instrument(market): market for market in markets}
        began = on_exchange_clock(self._client, since)
        now = wall_now() + int(self._client.exchange_ahead_ms) * _MICROS_OF_MS
        query = {**_SPOT, "begin": str(began // _MICROS_OF_MS)}
        rows = await _all_pages(self._client.privateGetTradeFills, query, "billId")
        if now - began >= _KEPT_IN_FILLS:
            rows += await _all_pages(self._client.privateGetTradeFillsHistory, query, "billId")
        return [_account_fill(row, by_id[name]) for row in rows if (name := text_in(row, "instId")) in by_id]

    async def _order(self, market: Market, named: dict[str, str]) -> Row | None:
        """Return the newest order of that id; one that was cancelled without a fill is forgotten after two hours."""
        try:
            return _only_row(await self._client.privateGetTradeOrder({"instId": okx_instrument(market), **named}))
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise

    async def _fills(self, market: Market, named: dict[str, str]) -> list[AccountFill]:
        return await self._listed_fills(self._client.privateGetTradeFills, market, named)

    async def _listed_fills(self, ask: Ask, market: Market, named: dict[str, str]) -> list[AccountFill]:
        return [_account_fill(row, market) for row in await _all_pages(ask, {**_SPOT, **named}, "billId")]

    async def _report(self, row: Row, fills: Sequence[AccountFill], market: Market) -> OrderReport:
        filled, placed = number_in(row, "accFillSz"), int(number_in(row, "cTime")) * _MICROS_OF_MS
        if total(one.fill.amount for one in fills) != filled and wall_now() - placed > _KEPT_IN_FILLS:
            named = {"ordId": text_in(row, "ordId")}
            fills = await self._listed_fills(self._client.privateGetTradeFillsHistory, market, named)
        stated = StatedOrder(
            client_order_id=_our_id(optional_text_in(row, "clOrdId")),
            symbol=symbol_in(row, "instId", market, [okx_instrument(market)]),
            side=side_in(row, "side"),
            amount=Amount(number_in(row, "sz")),
            price=price_in(row, "px"),
            # nothing, or zero, if nothing was filled
            average=price_in(row, "avgPx") or None,
            orders_of_fills=frozenset(one.exchange_order_id for one in fills),
        )
        once = [one.fill for one in fills]
        return report_of(text_in(row, "ordId"), text_in(row, "state") in _ENDED, filled, once, stated)


async def _all_pages(ask: Ask, query: Mapping[str, str], row_id: str) -> list[Row]:
    """Return all rows, newest first; each page begins behind the last row of the one before."""
    found: list[Row] = []
    pages = Pages()
    behind: dict[str, str] = {}
    while True:
        rows = rows_of(row_of(await ask({**query, **behind, "limit": str(_PAGE)})).get("data"))
        found += rows
        if len(rows) < _PAGE:
            return found
        pages.add_page(text_in(row, row_id) for row in rows)
        behind = {"after": text_in(rows[-1], row_id)}


def _only_row(answer: object) -> Row:
    rows = rows_of(row_of(answer).get("data"))
    if len(rows) != 1:
        raise AnswerNotUnderstoodError(f"expected one row, got {str(answer)[:200]}")
    return rows[0]


def _open_order(row: Row, market: Market) -> OpenOrder:
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "ordId"),
        client_order_id=_our_id(optional_text_in(row, "clOrdId")),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "sz")),
        # a market order has none
        price=price_in(row, "px"),
        placed_at=int(number_in(row, "cTime")) * _MICROS_OF_MS,
    )


def _account_fill(row: Row, market: Market) -> AccountFill:
    price, amount = number_in(row, "fillPx"), number_in(row, "fillSz")
    fill = Fill(
        fill_id=text_in(row, "tradeId"),
        exchange=market.exchange,
        symbol=symbol_in(row, "instId", market, [okx_instrument(market)]),
        side=side_in(row, "side"),
        price=Price(price),
        amount=Amount(amount),
        cost=price * amount,
        # what is charged is negative, a rebate is not
        fee=-number_in(row, "fee"),
        fee_currency=text_in(row, "feeCcy"),
        filled_at=int(number_in(row, "ts")) * _MICROS_OF_MS,
    )
    return AccountFill(fill, text_in(row, "ordId"))


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    by_group = {text_in(row_of(client.markets[market.symbol].get("info")), "groupId"): market for market in markets}
    return max([await _rate_in(client, group, market) for group, market in by_group.items()])


async def _rate_in(client: Any, group: str, market: Market) -> Decimal:
    """Return the rate of `market` and of all in its group; the exchange says what it takes with a minus."""
    row = _only_row(await client.privateGetAccountTradeFee({**_SPOT, "instId": okx_instrument(market)}))
    # `taker` beside the groups is of markets in USDT alone
    for one in rows_of(row.get("feeGroup")):
        if text_in(one, "groupId") == group:
            return -number_in(one, "taker")
    raise AnswerNotUnderstoodError(f"no taker fee for {market.symbol}, of group {group}")


async def _server_time(client: Any) -> tuple[int, int]:
    return int(number_in(_only_row(await client.publicGetPublicTime()), "ts")), 0


async def _key_rights(client: Any, _market: Market) -> KeyRights:
    """GET account/config: the rights as words with commas between them, and the addresses likewise."""
    said = _only_row(await client.privateGetAccountConfig())
    return KeyRights(
        may_withdraw="withdraw" in text_in(said, "perm").split(","),
        is_bound=optional_text_in(said, "ip") is not None,
    )


ORDERS = ExchangeOrders(OkxOrderApi, _taker_rate, _server_time, _key_rights)
