"""Orders on Kraken: `cl_ord_id` finds the order among the open ones, then among the closed."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.common_codes import common_code
from exchanges.kraken.symbols import kraken_name, kraken_pair
from exchanges.ports.orders import (
    FILLS_MARGIN,
    HALF_SECOND_MS,
    PERCENT,
    AnswerNotUnderstoodError,
    ExchangeOrders,
    KeyRights,
    Pages,
    number_in,
    optional_text_in,
    price_in,
    report_of,
    row_of,
    side_in,
    symbol_in,
    text_from,
    text_in,
)
from market.instruments.markets import Market, codes_in
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, StatedOrder
from market.money import Amount, Price, text_of
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now

_ENDED = ("closed", "canceled", "expired")
_TRADES_A_QUERY = 20
_TRADES_A_PAGE = 50
# Orders and reads use two connections and may overtake each other.
_TRIES_FOR_A_NONCE = 10
# ccxt counts nonces in milliseconds.
_NEXT_NONCE_SECONDS = 0.002

DEADLINE_SECONDS = 5
"""After that the matching engine refuses a new order (docs.kraken.com, "Add Order"; 2 to 60 seconds)."""

Method = Callable[[dict[str, str]], Awaitable[object]]


class KrakenOrderApi:
    """One call at a time: a nonce that overtakes another is rejected."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._turn = asyncio.Lock()

    async def post(self, order: LimitOrder, market: Market) -> str:
        result = await self._call(
            self._client.privatePostAddOrder,
            {
                "pair": kraken_pair(market),
                "type": order.side,
                "ordertype": "limit",
                "price": text_of(order.price),
                "volume": text_of(order.amount),
                "timeinforce": "IOC",
                # The fee in quote currency, whatever the account prefers.
                "oflags": "fciq",
                "cl_ord_id": order.client_order_id,
                **self._deadline(),
            },
        )
        names = result.get("txid")
        if not isinstance(names, list) or len(names) != 1:
            raise AnswerNotUnderstoodError(f"expected one txid, got {str(result)[:200]}")
        return text_from(names[0], "txid")

    def _deadline(self) -> dict[str, str]:
        """By the exchange's clock; none before that was measured."""
        ahead_ms = self._client.order_clock_ahead_ms
        if ahead_ms is None:
            return {}
        seconds = wall_now() / MICROSECONDS + ahead_ms / 1_000 + DEADLINE_SECONDS
        moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
        return {"deadline": moment.replace("+00:00", "Z")}

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        query = {"txid": exchange_order_id, "trades": "true"}
        rows = await self._call(self._client.privatePostQueryOrders, query)
        row = rows.get(exchange_order_id)
        return None if row is None else await self._report(order, market, exchange_order_id, row_of(row))

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        query = {"cl_ord_id": order.client_order_id, "trades": "true"}
        # Open orders first: one that ends in between is then found among the closed.
        for method, name in (
            (self._client.privatePostOpenOrders, "open"),
            (self._client.privatePostClosedOrders, "closed"),
        ):
            rows = row_of((await self._call(method, query)).get(name))
            for exchange_order_id, row in rows.items():
                if row_of(row).get("cl_ord_id") == order.client_order_id:
                    return await self._report(order, market, str(exchange_order_id), row_of(row))
        return None

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        await self._call(self._client.privatePostCancelOrder, {"txid": exchange_order_id})

    async def balances(self) -> dict[str, Decimal]:
        rows = await self._call(self._client.privatePostBalanceEx, {})
        return {common_code("kraken", name): number_in(row_of(row), "balance") for name, row in rows.items()}

    async def cancel_all_after(self, seconds: int) -> None:
        """https://docs.kraken.com/api-reference/trading/cancel-all-orders-after-x; 0 turns it off."""
        await self._call(self._client.privatePostCancelAllOrdersAfter, {"timeout": str(seconds)})

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        """Kraken returns them on one page."""
        by_pair = {name: market for market in markets for name in _pairs(market)}
        rows = row_of((await self._call(self._client.privatePostOpenOrders, {})).get("open"))
        found = [(str(name), row_of(row)) for name, row in rows.items()]
        return [
            _open_order(name, row, by_pair[text_in(row_of(row.get("descr")), "pair")])
            for name, row in found
            if text_in(row_of(row.get("descr")), "pair") in by_pair
        ]

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """Newest first: a new fill pushes others to the next page, where they occur again."""
        by_pair = {name: market for market in markets for name in _pairs(market)}
        # Kraken's nonces need not be times, so its clock was not measured yet
        ahead = int(number_in(_result(await self._client.publicGetTime()), "unixtime")) - wall_now() // MICROSECONDS
        # Kraken excludes `start` itself, and clocks in whole seconds differ by up to a second
        start = (since - FILLS_MARGIN) // MICROSECONDS + ahead - 2
        query = {"start": str(start), "without_count": "true"}
        found: list[AccountFill] = []
        pages, offset = Pages(), 0
        while True:
            answer = await self._call(self._client.privatePostTradesHistory, query | {"ofs": str(offset)})
            rows = {str(name): row_of(row) for name, row in row_of(answer.get("trades")).items()}
            for name, row in rows.items():
                market = by_pair.get(text_in(row, "pair"))
                if market is not None:
                    found.append(AccountFill(_fill(name, row, market), text_in(row, "ordertxid")))
            if len(rows) < _TRADES_A_PAGE:
                return found
            pages.add_page(rows)
            offset += len(rows)

    async def _report(self, order: LimitOrder, market: Market, name: str, row: Mapping[str, Any]) -> OrderReport:
        trades = [text_from(trade, "a trade") for trade in row.get("trades") or ()]
        fills: list[AccountFill] = []
        for start in range(0, len(trades), _TRADES_A_QUERY):
            query = {"txid": ",".join(trades[start : start + _TRADES_A_QUERY])}
            rows = await self._call(self._client.privatePostQueryTrades, query)
            for trade in rows:
                fill = row_of(rows[trade])
                fills.append(AccountFill(_fill(str(trade), fill, market), text_in(fill, "ordertxid")))
        has_ended, once = text_in(row, "status") in _ENDED, [one.fill for one in fills]
        return report_of(name, has_ended, number_in(row, "vol_exec"), once, _stated(row, market, fills))

    async def _call(self, method: Method, parameters: dict[str, str]) -> Mapping[str, Any]:
        return row_of(await self.result(method, parameters))

    async def result(self, method: Method, parameters: dict[str, str]) -> object:
        """Another process may share the key, so that a nonce is too low; the request was not executed, so a retry is
        safe."""
        async with self._turn:
            for _ in range(_TRIES_FOR_A_NONCE - 1):
                with suppress(ccxt.InvalidNonce):
                    return row_of(await method(parameters)).get("result")
                await SystemClock().sleep(_NEXT_NONCE_SECONDS)
            return row_of(await method(parameters)).get("result")


def _result(answer: object) -> Mapping[str, Any]:
    return row_of(row_of(answer).get("result"))


def _open_order(name: str, row: Mapping[str, Any], market: Market) -> OpenOrder:
    terms = row_of(row.get("descr"))
    price = number_in(terms, "price")
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=name,
        client_order_id=text_in(row, "cl_ord_id") if row.get("cl_ord_id") else None,
        side=side_in(terms, "type"),
        amount=Amount(number_in(row, "vol")),
        # a market order has zero
        price=Price(price) if price else None,
        placed_at=int(number_in(row, "opentm") * MICROSECONDS),
    )


def _stated(row: Mapping[str, Any], market: Market, fills: Sequence[AccountFill]) -> StatedOrder:
    terms = row_of(row.get("descr"))
    return StatedOrder(
        client_order_id=optional_text_in(row, "cl_ord_id"),
        symbol=symbol_in(terms, "pair", market, _pairs(market)),
        side=side_in(terms, "type"),
        amount=Amount(number_in(row, "vol")),
        price=price_in(terms, "price"),
        average=price_in(row, "price"),
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )


def _fill(fill_id: str, row: Mapping[str, Any], market: Market) -> Fill:
    return Fill(
        fill_id=fill_id,
        exchange=market.exchange,
        symbol=symbol_in(row, "pair", market, _pairs(market)),
        side=side_in(row, "type"),
        price=Price(number_in(row, "price")),
        amount=Amount(number_in(row, "vol")),
        cost=number_in(row, "cost"),
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=int(number_in(row, "time") * MICROSECONDS),
    )


def _pairs(market: Market) -> set[str]:
    """Return the pair's names in rows: XBTUSD, or XXBTZUSD with the old prefix letters."""
    base, quote = map(kraken_name, codes_in(market.symbol))
    return {head + base + middle + quote for head in ("", "X", "Z") for middle in ("", "X", "Z")}


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    """Return the account's fees, in percent."""
    names = [str(client.markets[market.symbol]["id"]) for market in markets]
    result = row_of(row_of(await client.privatePostTradeVolume({"pair": ",".join(names)})).get("result"))
    fees = row_of(result.get("fees"))
    return max(number_in(row_of(fees.get(name)), "fee") for name in names) / PERCENT


async def _server_time(client: Any) -> tuple[int, int]:
    whole_seconds = number_in(row_of(row_of(await client.publicGetTime()).get("result")), "unixtime")
    return int(whole_seconds) * 1_000 + HALF_SECOND_MS, HALF_SECOND_MS


async def _key_rights(client: Any, _market: Market) -> KeyRights:
    """POST /0/private/GetApiKeyInfo, which needs no permission."""
    said = row_of(row_of(await client.privatePostGetApiKeyInfo()).get("result"))
    permissions, addresses = said.get("permissions"), said.get("ipAllowlist")
    return KeyRights(
        may_withdraw=isinstance(permissions, list) and "withdraw-funds" in permissions, is_bound=bool(addresses)
    )


ORDERS = ExchangeOrders(KrakenOrderApi, _taker_rate, _server_time, _key_rights)
