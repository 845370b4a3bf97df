"""Orders on Bybit, of unified accounts, by REST or over a socket: `orderLinkId` finds the order again; fees are paid in
the received currency."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

from exchanges.bybit.order_socket import bybit_order_socket
from exchanges.bybit.symbols import bybit_symbol
from exchanges.ports.order_calls import Ask, PrivateCall, rest_calls
from exchanges.ports.orders import (
    AnswerNotUnderstoodError,
    ExchangeOrders,
    KeyRights,
    Pages,
    SocketOrders,
    highest_rate,
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
from market.instruments.markets import Market, codes_in
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side, StatedOrder
from market.money import Amount, Price, text_of, total
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

_ENDED = ("Filled", "Cancelled", "PartiallyFilledCanceled", "Rejected", "Deactivated")
_SPOT = {"category": "spot"}
_MICROS_OF_MS = 1_000
_FILLS_A_PAGE, _ORDERS_A_PAGE = 100, 50
_WEEK = 7 * 86_400 * MICROSECONDS
"""The longest time that one question about fills may span: docs/v5/order/execution."""

Row = Mapping[str, Any]
AskList = Callable[[dict[str, str]], Awaitable[object]]


_REST = {
    ("POST", "v5/order/create"): "privatePostV5OrderCreate",
    ("POST", "v5/order/cancel"): "privatePostV5OrderCancel",
}
"""ccxt's methods of the calls that go over a socket as well."""


class BybitOrderApi:
    """`ask`: how orders are posted and cancelled; by default by REST, as everything else is."""

    def __init__(self, client: Any, ask: Ask | None = None) -> None:
        self._client = client
        self._ask = ask or rest_calls(client, _REST)

    async def post(self, order: LimitOrder, market: Market) -> str:
        terms = {
            **_SPOT,
            "symbol": bybit_symbol(market),
            "side": order.side.capitalize(),
            "orderType": "Limit",
            "timeInForce": "IOC",
            "price": text_of(order.price),
            "qty": text_of(order.amount),
            "orderLinkId": order.client_order_id,
        }
        return text_in(
            _result(await self._ask(PrivateCall("POST", "v5/order/create", terms, is_order=True))), "orderId"
        )

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        named = {"orderId": exchange_order_id}
        row, page = await asyncio.gather(self._order(market, named), self._page_of_fills(named))
        return None if row is None else await self._report(row, page, market)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        row = await self._order(market, {"orderLinkId": order.client_order_id})
        if row is None:
            return None
        return await self._report(row, await self._page_of_fills({"orderId": text_in(row, "orderId")}), market)

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        terms = {**_SPOT, "symbol": bybit_symbol(market), "orderId": exchange_order_id}
        await self._ask(PrivateCall("POST", "v5/order/cancel", terms))

    async def balances(self) -> dict[str, Decimal]:
        """Return what the unified account has; nothing is borrowed for spot orders unless they ask for it."""
        result = _result(await self._client.privateGetV5AccountWalletBalance({"accountType": "UNIFIED"}))
        coins = [coin for account in rows_of(result.get("list")) for coin in rows_of(account.get("coin"))]
        return {text_in(coin, "coin"): number_in(coin, "walletBalance") for coin in coins}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        by_symbol = {bybit_symbol(market): market for market in markets}
        rows = await _all_pages(self._client.privateGetV5OrderRealtime, {"limit": str(_ORDERS_A_PAGE)}, "orderId")
        return [_open_order(row, by_symbol[symbol]) for row in rows if (symbol := text_in(row, "symbol")) in by_symbol]

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """Week by week, each from its newest fill back; a fill is in no other week."""
        by_symbol = {bybit_symbol(market): market for market in markets}
        began, found = on_exchange_clock(self._client, since), []
        while began <= wall_now() + int(self._client.exchange_ahead_ms) * _MICROS_OF_MS:
            span = {"startTime": began // _MICROS_OF_MS, "endTime": (began + _WEEK) // _MICROS_OF_MS - 1}
            query = {name: str(milliseconds) for name, milliseconds in span.items()} | {"limit": str(_FILLS_A_PAGE)}
            rows = await _all_pages(self._client.privateGetV5ExecutionList, query, "execId")
            found += [
                _account_fill(row, by_symbol[symbol]) for row in rows if (symbol := row.get("symbol")) in by_symbol
            ]
            began += _WEEK
        return found

    async def _order(self, market: Market, named: dict[str, str]) -> Row | None:
        """Return the newest order of that id; those that ended before its servers were restarted are in the history
        alone."""
        query = {**_SPOT, "symbol": bybit_symbol(market), **named}
        for ask in (self._client.privateGetV5OrderRealtime, self._client.privateGetV5OrderHistory):
            rows = rows_of(_result(await ask(query)).get("list"))
            if rows:
                return rows[0]
        return None

    async def _page_of_fills(self, named: dict[str, str]) -> Row:
        return _result(await self._client.privateGetV5ExecutionList(_of_order(named)))

    async def _report(self, row: Row, page: Row, market: Market) -> OrderReport:
        """Return the report with the fills of `page`, and of those behind it if the order counts more: the last page
        may name another one, which would be asked for in vain."""
        rows = rows_of(page.get("list"))
        if total(number_in(one, "execQty") for one in rows) != number_in(row, "cumExecQty"):
            query = _of_order({"orderId": text_in(row, "orderId")})
            rows = await _pages_from(self._client.privateGetV5ExecutionList, query, page, "execId")
        return _report(row, [_account_fill(one, market) for one in rows], market)


def _of_order(named: dict[str, str]) -> dict[str, str]:
    return {**_SPOT, "limit": str(_FILLS_A_PAGE), **named}


async def _all_pages(ask: AskList, query: dict[str, str], row_id: str) -> list[Row]:
    asked = {**_SPOT, **query}
    return await _pages_from(ask, asked, _result(await ask(asked)), row_id)


async def _pages_from(ask: AskList, query: dict[str, str], first: Row, row_id: str) -> list[Row]:
    """Return the rows of `first` and of all pages behind it, each of which names the next one; a short page need not
    be the last."""
    found: list[Row] = []
    pages, result = Pages(), first
    while True:
        rows = rows_of(result.get("list"))
        found += rows
        cursor = str(result.get("nextPageCursor") or "")
        if not rows or not cursor:
            return found
        pages.add_page(text_in(row, row_id) for row in rows)
        result = _result(await ask({**query, "cursor": cursor}))


def _result(answer: object) -> Row:
    return row_of(row_of(answer).get("result"))


def _report(row: Row, fills: Sequence[AccountFill], market: Market) -> OrderReport:
    has_ended, once = text_in(row, "orderStatus") in _ENDED, [one.fill for one in fills]
    stated = StatedOrder(
        client_order_id=optional_text_in(row, "orderLinkId"),
        symbol=symbol_in(row, "symbol", market, [bybit_symbol(market)]),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "qty")),
        price=price_in(row, "price"),
        # nothing, or zero, if nothing was filled
        average=price_in(row, "avgPrice") or None,
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )
    return report_of(text_in(row, "orderId"), has_ended, number_in(row, "cumExecQty"), once, stated)


def _open_order(row: Row, market: Market) -> OpenOrder:
    price = number_in(row, "price")
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "orderId"),
        client_order_id=optional_text_in(row, "orderLinkId"),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "qty")),
        # a market order has zero
        price=Price(price) if price else None,
        placed_at=int(number_in(row, "createdTime")) * _MICROS_OF_MS,
    )


def _account_fill(row: Row, market: Market) -> AccountFill:
    side = side_in(row, "side")
    fee, fee_currency = _charged(row, market, side)
    fill = Fill(
        fill_id=text_in(row, "execId"),
        exchange=market.exchange,
        symbol=symbol_in(row, "symbol", market, [bybit_symbol(market)]),
        side=side,
        price=Price(number_in(row, "execPrice")),
        amount=Amount(number_in(row, "execQty")),
        cost=number_in(row, "execValue"),
        fee=fee,
        fee_currency=fee_currency,
        filled_at=int(number_in(row, "execTime")) * _MICROS_OF_MS,
    )
    return AccountFill(fill, text_in(row, "orderId"))


def _charged(row: Row, market: Market, side: Side) -> tuple[Decimal, str]:
    """Return the fee with the taxes on it, and its currency: what the fill says; it may say nothing, then a fee is of
    what was received and a rebate of what was given (docs/v5/enum, Spot fee currency instruction). Raises
    AnswerNotUnderstoodError for a tax in another currency."""
    fee, (base, quote) = number_in(row, "execFee"), codes_in(market.symbol)
    currency = optional_text_in(row, "feeCurrency") or (base if (side == "buy") == (fee >= 0) else quote)
    for tax in _taxes_in(row):
        if text_in(tax, "feeCoin") != currency:
            raise AnswerNotUnderstoodError(f"a tax in another currency than the fee, {currency}: {str(tax)[:200]}")
        fee = total((fee, number_in(tax, "fee")))
    return fee, currency


def _taxes_in(row: Row) -> list[Row]:
    """Return what some countries charge beside the fee; documented as a text, and seen as a list."""
    said = row.get("extraFees") or []
    try:
        return [tax for tax in rows_of(orjson.loads(said) if isinstance(said, str) else said) if number_in(tax, "fee")]
    except orjson.JSONDecodeError as error:
        raise AnswerNotUnderstoodError(f"extraFees is no list in {str(row)[:200]}") from error


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    names = [bybit_symbol(market) for market in markets]
    # without a symbol, the answer is of all
    query = {**_SPOT, "symbol": names[0]} if len(names) == 1 else _SPOT
    return highest_rate(
        {
            text_in(row, "symbol"): number_in(row, "takerFeeRate")
            for row in rows_of(_result(await client.privateGetV5AccountFeeRate(query)).get("list"))
            if row.get("symbol") in names
        },
        names,
    )


async def _server_time(client: Any) -> tuple[int, int]:
    return int(number_in(row_of(await client.publicGetV5MarketTime()), "time")), 0


async def _key_rights(client: Any, _market: Market) -> KeyRights:
    """GET /v5/user/query-api, which any key may ask."""
    said = _result(await client.privateGetV5UserQueryApi())
    wallet, addresses = row_of(said.get("permissions")).get("Wallet"), said.get("ips")
    return KeyRights(
        may_withdraw=isinstance(wallet, list) and "Withdraw" in wallet,
        is_bound=isinstance(addresses, list) and bool(addresses) and "*" not in addresses,
    )


ORDERS = ExchangeOrders(
    BybitOrderApi,
    _taker_rate,
    _server_time,
    _key_rights,
    socket=SocketOrders(bybit_order_socket, _REST, BybitOrderApi),
)
