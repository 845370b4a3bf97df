"""Orders on Coinbase Advanced Trade: `client_order_id` is found again in the list of orders; fees are paid in the quote
currency. An id that was used makes no second order: the exchange answers with the first one."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.coinbase.symbols import coinbase_product
from exchanges.common_codes import common_code
from exchanges.ports.error_mapping import is_not_found
from exchanges.ports.orders import (
    SEARCH_MARGIN,
    AnswerNotUnderstoodError,
    ExchangeOrders,
    KeyRights,
    Pages,
    iso_of,
    micros_of,
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
from market.money import ZERO, Amount, Price, floor_to_step, text_of, total

_ENDED = ("FILLED", "CANCELLED", "EXPIRED", "FAILED")
_PAGE = "250"

Row = Mapping[str, Any]
Query = Mapping[str, object]
Ask = Callable[[dict[str, object]], Awaitable[object]]


class CoinbaseOrderApi:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        sizes = {"base_size": text_of(order.amount), "limit_price": text_of(order.price)}
        answer = await self._client.v3PrivatePostBrokerageOrders(
            {
                "client_order_id": order.client_order_id,
                "product_id": coinbase_product(market),
                "side": order.side.upper(),
                "order_configuration": {"sor_limit_ioc": sizes},
            }
        )
        return text_in(row_of(row_of(answer).get("success_response")), "order_id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        row, fills = await asyncio.gather(self._order(exchange_order_id), self._fills(market, exchange_order_id))
        return None if row is None else _report(row, fills, market)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        """No request asks for an order by our id: it is looked for among the orders since the intent."""
        since = on_exchange_clock(self._client, order.intended_at, SEARCH_MARGIN)
        query = {"product_ids": [coinbase_product(market)], "start_date": iso_of(since)}
        for row in await self._pages(self._client.v3PrivateGetBrokerageOrdersHistoricalBatch, query, "orders"):
            if row.get("client_order_id") == order.client_order_id:
                return _report(row, await self._fills(market, text_in(row, "order_id")), market)
        return None

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        answer = await self._client.v3PrivatePostBrokerageOrdersBatchCancel({"order_ids": [exchange_order_id]})
        for row in rows_of(row_of(answer).get("results")):
            if row.get("success") is not True:
                raise ccxt.ExchangeError(f"coinbase did not cancel {exchange_order_id}: {row.get('failure_reason')}")

    async def balances(self) -> dict[str, Decimal]:
        """Return what the portfolio of the key has, in all accounts of a currency."""
        held: dict[str, Decimal] = {}
        for row in await self._pages(self._client.v3PrivateGetBrokerageAccounts, {}, "accounts", "uuid"):
            code = common_code("coinbase", text_in(row, "currency"))
            parts = (number_in(row_of(row.get(name)), "value") for name in ("available_balance", "hold"))
            held[code] = total((held.get(code, ZERO), *parts))
        return held

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        by_id = {coinbase_product(market): market for market in markets}
        ask = self._client.v3PrivateGetBrokerageOrdersHistoricalBatch
        rows = await self._pages(ask, {"order_status": ["OPEN"]}, "orders")
        return [_open_order(row, by_id[name]) for row in rows if (name := text_in(row, "product_id")) in by_id]

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        by_id = {coinbase_product(market): market for market in markets}
        query = {"start_sequence_timestamp": iso_of(on_exchange_clock(self._client, since))}
        rows = await self._listed_fills(query)
        return [_account_fill(row, by_id[name]) for row in rows if (name := text_in(row, "product_id")) in by_id]

    async def _order(self, exchange_order_id: str) -> Row | None:
        try:
            answer = await self._client.v3PrivateGetBrokerageOrdersHistoricalOrderId({"order_id": exchange_order_id})
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        return row_of(row_of(answer).get("order"))

    async def _fills(self, market: Market, exchange_order_id: str) -> list[AccountFill]:
        rows = await self._listed_fills({"order_ids": [exchange_order_id]})
        return [_account_fill(row, market) for row in rows]

    async def _listed_fills(self, query: Query) -> list[Row]:
        """Return executions; corrections and reversals of one show in the balances alone."""
        ask = self._client.v3PrivateGetBrokerageOrdersHistoricalFills
        rows = await self._pages(ask, query, "fills", "entry_id")
        return [row for row in rows if row.get("trade_type") == "FILL"]

    async def _pages(self, ask: Ask, query: Query, name: str, row_id: str = "order_id") -> list[Row]:
        """Return the rows of all pages, newest first, each of which names the next one."""
        found: list[Row] = []
        pages, cursor = Pages(), ""
        while True:
            following = {"cursor": cursor} if cursor else {}
            answer = row_of(await ask({**query, **following, "limit": _PAGE}))
            rows = rows_of(answer.get(name))
            found += rows
            cursor = optional_text_in(answer, "cursor") or ""
            if not rows or not cursor or answer.get("has_next") is False:
                return found
            pages.add_page(text_in(row, row_id) for row in rows)


def _report(row: Row, fills: Sequence[AccountFill], market: Market) -> OrderReport:
    terms = _terms_of(row)
    stated = StatedOrder(
        client_order_id=optional_text_in(row, "client_order_id"),
        symbol=symbol_in(row, "product_id", market, [coinbase_product(market)]),
        side=side_in(row, "side"),
        amount=_amount_of(terms),
        price=price_in(terms, "limit_price"),
        # zero if nothing was filled
        average=price_in(row, "average_filled_price") or None,
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )
    has_ended, once = text_in(row, "status") in _ENDED, [one.fill for one in fills]
    return report_of(text_in(row, "order_id"), has_ended, number_in(row, "filled_size"), once, stated)


def _terms_of(row: Row) -> Row:
    """Return sizes and prices; they stand under the name of the order's kind."""
    kinds = row_of(row.get("order_configuration"))
    if len(kinds) != 1:
        raise AnswerNotUnderstoodError(f"expected one kind of order in {str(row)[:200]}")
    return row_of(next(iter(kinds.values())))


def _amount_of(terms: Row) -> Amount | None:
    """None for an order for a sum of money."""
    return Amount(number_in(terms, "base_size")) if optional_text_in(terms, "base_size") else None


def _open_order(row: Row, market: Market) -> OpenOrder:
    terms = _terms_of(row)
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "order_id"),
        client_order_id=optional_text_in(row, "client_order_id"),
        side=side_in(row, "side"),
        amount=_amount_of(terms) or Amount(ZERO),
        # an order at the market has none
        price=price_in(terms, "limit_price"),
        placed_at=micros_of(text_in(row, "created_time")),
    )


def _account_fill(row: Row, market: Market) -> AccountFill:
    price, amount = number_in(row, "price"), number_in(row, "size")
    if row.get("size_in_quote") is True:
        # of orders for a sum of money, which are not ours
        amount = floor_to_step(amount / price, market.lot_step)
    fill = Fill(
        fill_id=text_in(row, "trade_id"),
        exchange=market.exchange,
        symbol=symbol_in(row, "product_id", market, [coinbase_product(market)]),
        side=side_in(row, "side"),
        price=Price(price),
        amount=Amount(amount),
        cost=price * amount,
        fee=number_in(row, "commission"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "trade_time")),
    )
    return AccountFill(fill, text_in(row, "order_id"))


async def _taker_rate(client: Any, _markets: Sequence[Market]) -> Decimal:
    answer = row_of(await client.v3PrivateGetBrokerageTransactionSummary({"product_type": "SPOT"}))
    return number_in(row_of(answer.get("fee_tier")), "taker_fee_rate")


async def _server_time(client: Any) -> tuple[int, int]:
    return int(number_in(row_of(await client.v3PublicGetBrokerageTime()), "epochMillis")), 0


async def _key_rights(client: Any, _market: Market) -> KeyRights:
    """GET key_permissions: `can_transfer` is what takes money out. It does not say whether addresses are listed."""
    said = row_of(await client.v3PrivateGetBrokerageKeyPermissions())
    if not isinstance(said.get("can_transfer"), bool):
        raise AnswerNotUnderstoodError(f"it does not say whether the key may transfer: {str(said)[:200]}")
    return KeyRights(may_withdraw=said["can_transfer"])


ORDERS = ExchangeOrders(CoinbaseOrderApi, _taker_rate, _server_time, _key_rights)
