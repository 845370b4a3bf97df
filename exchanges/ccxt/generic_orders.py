"""Orders on any exchange that ccxt knows, by ccxt's unified methods."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeVar

import ccxt

from exchanges.ccxt.order_documents import our_id, sent_id
from exchanges.errors import OutcomeUnknownError
from exchanges.ports.error_mapping import is_clock_fault, is_not_found
from exchanges.ports.order_terms import EarlierPage, OrderQuirks
from exchanges.ports.orders import (
    SEARCH_MARGIN,
    AnswerNotUnderstoodError,
    Result,
    number_in,
    on_exchange_clock,
    optional_text_in,
    report_of,
    row_of,
    rows_of,
    side_in,
    text_in,
    understood,
)
from market.instruments.fees import fee_currency
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side, StatedOrder
from market.money import ZERO, Amount, Price, decimal_of, floor_to_step, total
from runtime.clock import SystemClock

_ENDED = ("closed", "canceled", "expired", "rejected")
_MICROS_OF_MS = 1_000
_LEAST_PAGE = 20
"""Fewer rows than this are no full page at any exchange."""
_MAX_PAGES = 50
_TRIES_FOR_A_NONCE = 10
_NEXT_NONCE_SECONDS = 0.002

Rows = list[Mapping[str, Any]]
_Default = TypeVar("_Default")


class SharedMarkets:
    """The exchange's markets, read by one client and given to the other: once, since an order must not wait for them,
    and again when the rules in force have changed, since ccxt prints amounts and prices by them."""

    def __init__(self, reads: Any, orders: Any) -> None:
        self._reads = reads
        self._orders = orders
        self._turn = asyncio.Lock()
        self._loaded_for: tuple[Market, ...] = ()

    async def load(self, in_force: tuple[Market, ...]) -> None:
        """`in_force`: the session's markets by the rules of now. Raises ccxt's errors, AnswerNotUnderstoodError."""
        async with self._turn:
            if not self._orders.markets or in_force != self._loaded_for:
                await understood(self._reads.load_markets(True))
                self._orders.set_markets_from_exchange(self._reads)
                self._loaded_for = in_force


class GenericOrderApi:
    """One call at a time: if an exchange counts nonces, one that overtakes another is rejected."""

    def __init__(self, client: Any, quirks: OrderQuirks) -> None:
        # ccxt's numbers as texts with the exchange's own digits, not as floats
        client.number = str
        if quirks.options:
            client.options |= quirks.options
        self._client = client
        self._quirks = quirks
        self._turn = asyncio.Lock()

    async def post(self, order: LimitOrder, market: Market) -> str:
        # ccxt takes floats; one prints the digits that it was made from, up to fifteen
        parameters = dict(self._quirks.parameters)
        if self._quirks.client_id_parameter is not None:
            parameters[self._quirks.client_id_parameter] = self._sent_id(order)
        numbers = float(order.amount), float(order.price)
        return text_in(await self._row("create_order", order.symbol, "limit", order.side, *numbers, parameters), "id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        """Return an order that rests although it should not is cancelled."""
        row = await self._order_row(market, exchange_order_id, {})
        if row is not None and row.get("status") not in _ENDED and not self._quirks.is_immediate:
            # what cannot be cancelled has ended meanwhile
            with suppress(ccxt.InvalidOrder):
                await self.cancel(order, market, exchange_order_id)
            row = await self._order_row(market, exchange_order_id, {})
        return None if row is None else await self._report_of(row, order, market)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        """By our id if ccxt can ask for it, otherwise among the account's orders since the intent: by our id where
        the exchange shows it, otherwise by side, price and size, as `others` does not contain it.

        Raises OutcomeUnknownError if two orders match: then a person must decide.
        """
        if self._quirks.finds_by_client_id:
            row = await self._order_row(market, "", {"clientOrderId": self._sent_id(order)})
            return None if row is None else await self._report_of(row, order, market)
        since = on_exchange_clock(self._client, order.intended_at, SEARCH_MARGIN)
        rows = await self._orders_since(market, since // _MICROS_OF_MS)
        named = [row for row in rows if row.get("clientOrderId") == self._sent_id(order)]
        fitting = [row for row in rows if _fits(row, order, since) and text_in(row, "id") not in others]
        ids = list(dict.fromkeys(text_in(row, "id") for row in named or fitting))
        if len(ids) > 1:
            raise OutcomeUnknownError(
                f"{len(ids)} orders on {market.exchange} match {order.client_order_id}: {', '.join(ids)}"
            )
        if not ids:
            return None
        # a list may know an order before the exchange finds it by its id
        return await self.report(order, market, ids[0]) or report_of(ids[0], False, ZERO, [])

    def _sent_id(self, order: LimitOrder) -> str:
        return sent_id(self._client.id, order.client_order_id)

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        await self._call(self._client.cancel_order, exchange_order_id, market.symbol)

    async def balances(self) -> dict[str, Decimal]:
        totals = row_of((await self._row("fetch_balance")).get("total"))
        return {str(code): decimal_of(amount) for code, amount in totals.items() if amount is not None}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        found = []
        for market in markets:
            found += [self._open_order(row, market) for row in await self._rows("fetch_open_orders", market.symbol)]
        return found

    def _open_order(self, row: Mapping[str, Any], market: Market) -> OpenOrder:
        price = _stated(row, "price")
        return OpenOrder(
            exchange=market.exchange,
            symbol=market.symbol,
            exchange_order_id=text_in(row, "id"),
            client_order_id=our_id(self._client.id, row.get("clientOrderId") or None),
            side=side_in(row, "side"),
            amount=Amount(number_in(row, "amount")),
            # a market order may have zero
            price=Price(price) if price else None,
            placed_at=int(number_in(row, "timestamp")) * _MICROS_OF_MS,
        )

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        began = on_exchange_clock(self._client, since)
        found = []
        for market in markets:
            for row in await self._all_since("fetch_my_trades", market, began // _MICROS_OF_MS):
                fill = self._fill(row, side_in(row, "side"), market)
                if fill.filled_at >= began:
                    found.append(AccountFill(fill, text_in(row, "order")))
        return found

    async def _order_row(self, market: Market, name: str, key: dict[str, str]) -> Mapping[str, Any] | None:
        try:
            return await self._row("fetch_order", name, market.symbol, {**self._quirks.order_parameters, **key})
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise

    async def _report_of(self, row: Mapping[str, Any], order: LimitOrder, market: Market) -> OrderReport:
        exchange_order_id = text_in(row, "id")
        # if the order has a fill twice, ccxt has counted it twice
        stated = None if _has_twice(row.get("trades") or ()) else _stated(row, "filled")
        rows = [] if stated == ZERO else await self._fills_of(row, order, market, exchange_order_id)
        fills = [self._fill(one, _side_of(one, order.side), market) for one in rows]
        filled = total(fill.amount for fill in fills) if stated is None else stated
        return report_of(exchange_order_id, row.get("status") in _ENDED, filled, fills, _stated_order(row, rows))

    async def _fills_of(self, row: Mapping[str, Any], order: LimitOrder, market: Market, name: str) -> Rows:
        """From the order itself if that has them, with their ids; otherwise from the account's fills."""
        trades: Rows = [one for one in row.get("trades") or () if one.get("id") and one.get("amount")]
        if not trades and self._client.has.get("fetchOrderTrades") is True:
            trades = await self._rows("fetch_order_trades", name, market.symbol)
        elif not trades:
            since = on_exchange_clock(self._client, order.intended_at, SEARCH_MARGIN)
            trades = [
                one
                for one in await self._all_since("fetch_my_trades", market, since // _MICROS_OF_MS)
                if one.get("order") == name
            ]
        return list({text_in(one, "id"): one for one in trades}.values())

    async def _orders_since(self, market: Market, since_ms: int) -> Rows:
        """Open orders first: one that ends in between is then found among the ended."""
        has = self._client.has
        if has.get("fetchOrders"):
            return await self._all_since("fetch_orders", market, since_ms)
        methods = ["fetch_open_orders"]
        if has.get("fetchCanceledAndClosedOrders"):
            methods.append("fetch_canceled_and_closed_orders")
        else:
            methods += ["fetch_closed_orders"] if has.get("fetchClosedOrders") else []
            methods += ["fetch_canceled_orders"] if has.get("fetchCanceledOrders") else []
        found: Rows = []
        for method in methods:
            found += await self._all_since(method, market, since_ms)
        return found

    async def _all_since(self, method: str, market: Market, since_ms: int) -> Rows:
        """Read on from a full page, which may be the oldest or the newest one, in both directions until nothing is
        new."""
        asked = self._quirks.earlier_fills if method == "fetch_my_trades" else EarlierPage()
        # if an offset passes over rows of every symbol, all of them are read and counted
        symbol = None if asked.counts == "account rows" else market.symbol
        found = {text_in(row, "id"): row for row in await self._rows(method, symbol, since_ms)}
        for _ in range(_MAX_PAGES):
            if len(found) < _LEAST_PAGE:
                return _of_symbol(found.values(), market, symbol)
            times = [int(number_in(row, "timestamp")) for row in found.values()]
            later = await self._rows(method, symbol, max(times))
            earlier = await self._rows(method, symbol, since_ms, None, _before(list(found.values()), asked))
            new = {text_in(row, "id"): row for row in (*later, *earlier)}
            if new.keys() <= found.keys():
                return _of_symbol(found.values(), market, symbol)
            found |= new
        raise AnswerNotUnderstoodError(f"{market.exchange} has more rows of {method} than {_MAX_PAGES} pages")

    def _fill(self, row: Mapping[str, Any], side: Side, market: Market) -> Fill:
        price, amount = Price(number_in(row, "price")), Amount(number_in(row, "amount"))
        step = self._quirks.cost_steps.get(market.quote_currency)
        cost = price * amount if step is not None else _stated(row, "cost") or price * amount
        fee, currency = self._fee(row, side, market, cost)
        return Fill(
            fill_id=text_in(row, "id"),
            exchange=market.exchange,
            symbol=optional_text_in(row, "symbol") or market.symbol,
            side=side,
            price=price,
            amount=amount,
            cost=cost if step is None else floor_to_step(cost, step),
            fee=fee,
            fee_currency=currency,
            filled_at=int(number_in(row, "timestamp")) * _MICROS_OF_MS,
        )

    def _fee(self, row: Mapping[str, Any], side: Side, market: Market, cost: Decimal) -> tuple[Decimal, str]:
        """As the exchange reported it. Where ccxt says none, an estimate by the listed rate: the comparison of the
        ledger with the balances then shows the difference."""
        usual = fee_currency(market, side)
        if self._quirks.fee_field is not None:
            return number_in(row_of(row.get("info")), self._quirks.fee_field), usual
        stated = [one for one in row.get("fees") or (row.get("fee"),) if one and one.get("cost") is not None]
        if stated:
            currency = stated[0].get("currency")
            costs = [number_in(one, "cost") for one in stated if one.get("currency") == currency]
            return total(costs), str(currency or usual)
        rate = decimal_of(self._client.market(market.symbol).get("taker") or ZERO)
        return rate * (number_in(row, "amount") if usual == market.base else cost), usual

    async def _row(self, method: str, *arguments: object) -> Mapping[str, Any]:
        return row_of(await self._call(getattr(self._client, method), *arguments))

    async def _rows(self, method: str, *arguments: object) -> Rows:
        return rows_of(await self._call(getattr(self._client, method), *arguments))

    async def _call(self, method: Callable[..., Awaitable[Result]], *arguments: object) -> Result:
        """Another process may share the key, so that a nonce is too low; the request was not executed, so a retry is
        safe."""
        async with self._turn:
            for tries_left in reversed(range(_TRIES_FOR_A_NONCE)):
                try:
                    # if it fails, an order may have been accepted all the same
                    return await understood(method(*arguments))
                except ccxt.InvalidNonce as error:
                    if tries_left == 0 or is_clock_fault(error):
                        raise
                await SystemClock().sleep(_NEXT_NONCE_SECONDS)
            raise AssertionError("the last try returns or raises")


def _stated_order(row: Mapping[str, Any], fills: Rows) -> StatedOrder:
    """Return what ccxt reads at every exchange that has it: amounts and prices of orders are often rounded or left
    out."""
    return StatedOrder(
        symbol=optional_text_in(row, "symbol"),
        side=_side_of(row, None),
        orders_of_fills=frozenset(text_in(one, "order") for one in fills if one.get("order")),
    )


def _side_of(row: Mapping[str, Any], default: _Default) -> Side | _Default:
    return default if row.get("side") is None else side_in(row, "side")


def _fits(row: Mapping[str, Any], order: LimitOrder, since: int) -> bool:
    """Whether the order may be ours by its content; one with another client order id is not."""
    return (
        row.get("clientOrderId") is None
        and row.get("side") == order.side
        and _stated(row, "price") == order.price
        and _stated(row, "amount") == order.amount
        and int(row.get("timestamp") or 0) * _MICROS_OF_MS >= since
    )


def _of_symbol(rows: Iterable[Mapping[str, Any]], market: Market, asked: str | None) -> Rows:
    """Return the market's own rows, if those of all symbols were asked for."""
    return [row for row in rows if asked is not None or row.get("symbol") == market.symbol]


def _before(rows: Rows, asked: EarlierPage) -> Mapping[str, int]:
    """Return the parameter for the page before these rows. Times overlap by a unit: a page may end within one."""
    first = min(int(number_in(row, "timestamp")) for row in rows)
    of = {
        "milliseconds": lambda: first,
        "ids": lambda: min(int(text_in(row, "id")) for row in rows),
        "rows": lambda: len(rows),
        "account rows": lambda: len(rows),
    }
    return {asked.parameter: of[asked.counts]()}


def _has_twice(trades: Sequence[Mapping[str, Any]]) -> bool:
    ids = [one["id"] for one in trades if one.get("id")]
    return len(set(ids)) < len(ids)


def _stated(row: Mapping[str, Any], name: str) -> Decimal | None:
    return None if row.get(name) is None else number_in(row, name)
