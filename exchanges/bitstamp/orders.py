"""Orders on Bitstamp: `client_order_id` finds the order again, and one answer has its state and all its fills."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.bitstamp.symbols import bitstamp_codes, bitstamp_name, bitstamp_pair
from exchanges.common_codes import common_code
from exchanges.ports.error_mapping import is_not_found
from exchanges.ports.orders import (
    PERCENT,
    AnswerNotUnderstoodError,
    ExchangeOrders,
    Pages,
    dated_answer,
    highest_rate,
    micros_of,
    number_in,
    on_exchange_clock,
    optional_text_in,
    report_of,
    row_of,
    rows_of,
    symbol_in,
    text_in,
)
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side, StatedOrder
from market.money import Amount, Price, text_of, total
from market.time_units import MICROSECONDS

_ENDED = ("Finished", "Canceled", "Expired")
_PAGE = 1_000
_SIDES: Mapping[str, Side] = {"0": "buy", "1": "sell"}
_TRADE = "2"
"""Transaction type of trades; others are deposits, withdrawals and transfers."""


class BitstampOrderApi:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        post = self._client.privatePostBuyPair if order.side == "buy" else self._client.privatePostSellPair
        answer = await post(
            {
                "pair": bitstamp_pair(market),
                "amount": text_of(order.amount),
                "price": text_of(order.price),
                "ioc_order": "True",
                "client_order_id": order.client_order_id,
            }
        )
        return text_in(row_of(answer), "id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        return await self._status(order, market, {"id": exchange_order_id})

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        return await self._status(order, market, {"client_order_id": order.client_order_id})

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        await self._client.privatePostCancelOrder({"id": exchange_order_id})

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(await self._client.privatePostAccountBalances())
        return {common_code("bitstamp", text_in(row, "currency").upper()): number_in(row, "total") for row in rows}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        by_pair = {bitstamp_name(market): market for market in markets}
        rows = rows_of(await self._client.privatePostOpenOrdersAll())
        return [
            _open_order(row, by_pair[text_in(row, "currency_pair")])
            for row in rows
            if text_in(row, "currency_pair") in by_pair
        ]

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        """Oldest first, so that new trades do not shift the pages."""
        began = on_exchange_clock(self._client, since)
        query = {"sort": "asc", "limit": str(_PAGE), "since_timestamp": str(began // MICROSECONDS)}
        found: list[AccountFill] = []
        pages, offset = Pages(), 0
        while True:
            rows = rows_of(await self._client.privatePostUserTransactions(query | {"offset": str(offset)}))
            found += [
                AccountFill(_booked(row, market), text_in(row, "order_id"))
                for row in rows
                if text_in(row, "type") == _TRADE
                for market in markets
                if "_".join(bitstamp_codes(market)) in row
            ]
            if len(rows) < _PAGE:
                return found
            pages.add_page(text_in(row, "id") for row in rows)
            offset += len(rows)

    async def _status(self, order: LimitOrder, market: Market, key: dict[str, str]) -> OrderReport | None:
        try:
            row = row_of(await self._client.privatePostOrderStatus(key))
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        fills = [_fill(fill, order.side, market) for fill in rows_of(row.get("transactions"))]
        # For a cancelled order `amount_remaining` is the unfilled part too, so it gives the filled amount either way.
        filled = order.amount - number_in(row, "amount_remaining")
        if "amount_remaining" not in row:
            filled = total(fill.amount for fill in fills)
        has_ended = text_in(row, "status") in _ENDED
        return report_of(text_in(row, "id"), has_ended, filled, fills, _stated(row, market))


def _open_order(row: Mapping[str, Any], market: Market) -> OpenOrder:
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "id"),
        client_order_id=text_in(row, "client_order_id") if row.get("client_order_id") else None,
        side=_side(text_in(row, "type")),
        amount=Amount(number_in(row, "amount_at_create" if "amount_at_create" in row else "amount")),
        price=Price(number_in(row, "price")),
        placed_at=micros_of(text_in(row, "datetime")),
    )


def _stated(row: Mapping[str, Any], market: Market) -> StatedOrder:
    """Its market has been listed as BTC/USD; a field that an answer lacks is not compared."""
    kind = optional_text_in(row, "type")
    return StatedOrder(
        client_order_id=optional_text_in(row, "client_order_id"),
        symbol=symbol_in(row, "market", market, [bitstamp_name(market), bitstamp_pair(market)])
        if row.get("market")
        else None,
        side=None if kind is None else _side(kind),
    )


def _side(kind: str) -> Side:
    """Raise AnswerNotUnderstoodError."""
    if kind in _SIDES:
        return _SIDES[kind]
    raise AnswerNotUnderstoodError(f"{kind[:50]} is no type of an order")


def _booked(row: Mapping[str, Any], market: Market) -> Fill:
    """Return a row of the account's transactions, where received amounts are positive and the price's key is the pair's
    name."""
    base, quote = bitstamp_codes(market)
    amount, cost = number_in(row, base), number_in(row, quote)
    return Fill(
        fill_id=text_in(row, "id"),
        exchange=market.exchange,
        symbol=market.symbol,
        side="buy" if amount > 0 else "sell",
        price=Price(number_in(row, f"{base}_{quote}")),
        amount=Amount(abs(amount)),
        cost=abs(cost),
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "datetime")),
    )


def _fill(row: Mapping[str, Any], side: Side, market: Market) -> Fill:
    base, quote = bitstamp_codes(market)
    return Fill(
        fill_id=text_in(row, "tid"),
        exchange=market.exchange,
        symbol=market.symbol,
        side=side,
        price=Price(number_in(row, "price")),
        amount=Amount(number_in(row, base)),
        cost=number_in(row, quote),
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "datetime")),
    )


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    """Fees in percent, while ccxt's own market['taker'] is a fraction."""
    names = [bitstamp_pair(market) for market in markets]
    return highest_rate(
        {
            text_in(row, "market"): number_in(row_of(row.get("fees")), "taker") / PERCENT
            for row in rows_of(await client.privatePostFeesTrading())
            if row.get("market") in names
        },
        names,
    )


async def _server_time(client: Any) -> tuple[int, int]:
    """Ask for any cheap answer, which has an HTTP date: there is no endpoint for the time."""
    return await dated_answer(client, client.publicGetTickerPair({"pair": "btceur"}))


ORDERS = ExchangeOrders(BitstampOrderApi, _taker_rate, _server_time)
