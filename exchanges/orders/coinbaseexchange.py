"""Orders on Coinbase Exchange: `client_oid` is a UUID and finds the order again."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.error_mapping import is_not_found
from exchanges.exchange_symbols import coinbaseexchange_product
from exchanges.order_port import (
    Pages,
    iso_of,
    micros_of,
    number_in,
    on_exchange_clock,
    report_of,
    row_of,
    rows_of,
    side_in,
    text_in,
)
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport, Side
from market.money import Amount, Price, text_of

_ENDED = ("done", "rejected")
_PAGE = 1_000


class CoinbaseExchangeOrderApi:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        answer = await self._client.privatePostOrders(
            {
                "client_oid": order.client_order_id,
                "product_id": coinbaseexchange_product(market),
                "side": order.side,
                "type": "limit",
                "time_in_force": "IOC",
                "price": text_of(order.price),
                "size": text_of(order.amount),
            }
        )
        return text_in(row_of(answer), "id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        try:
            row, fills = await asyncio.gather(
                self._client.privateGetOrdersId({"id": exchange_order_id}),
                self._fills(order, market, exchange_order_id),
            )
        except ccxt.BaseError as error:
            # The exchange may drop an IOC order without fills at once.
            if is_not_found(error):
                return None
            raise
        return _report(row_of(row), fills)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        try:
            answer = await self._client.privateGetOrdersClientClientOid({"client_oid": order.client_order_id})
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        row = row_of(answer)
        return _report(row, await self._fills(order, market, text_in(row, "id")))

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(await self._client.privateGetAccounts())
        return {text_in(row, "currency"): number_in(row, "balance") for row in rows}

    async def open_orders(self, markets: Sequence[Market]) -> list[OpenOrder]:
        """Newest first; without a status parameter, done orders are left out."""
        by_id = {coinbaseexchange_product(market): market for market in markets}
        query: dict[str, str] = {"limit": str(_PAGE)}
        found: dict[str, OpenOrder] = {}
        pages = Pages()
        while True:
            rows = rows_of(await self._client.privateGetOrders(query))
            for row in rows:
                if text_in(row, "product_id") in by_id:
                    found[text_in(row, "id")] = _open_order(row, by_id[text_in(row, "product_id")])
            if len(rows) < _PAGE:
                return list(found.values())
            pages.add_page(text_in(row, "id") for row in rows)
            # the last of this page is the first of the next
            query["end_date"] = text_in(rows[-1], "created_at")

    async def fills_since(self, markets: Sequence[Market], since: int) -> list[AccountFill]:
        found = []
        for market in markets:
            pages = Pages()
            query = {
                "product_id": coinbaseexchange_product(market),
                "start_date": iso_of(on_exchange_clock(self._client, since)),
                "limit": str(_PAGE),
            }
            rows = rows_of(await self._client.privateGetFills(query))
            while rows:
                pages.add_page(text_in(row, "trade_id") for row in rows)
                found += [_account_fill(row, market) for row in rows]
                # fills come by falling trade_id, which is their cursor: its docs, Get all fills, Pagination
                query["after"] = text_in(rows[-1], "trade_id")
                rows = rows_of(await self._client.privateGetFills(query)) if len(rows) == _PAGE else []
        return found

    async def _fills(self, order: LimitOrder, market: Market, exchange_order_id: str) -> list[Fill]:
        answer = await self._client.privateGetFills({"order_id": exchange_order_id, "limit": str(_PAGE)})
        return [_fill(row, order.side, market) for row in reversed(rows_of(answer))]


def _report(row: Mapping[str, Any], fills: list[Fill]) -> OrderReport:
    has_ended = text_in(row, "status") in _ENDED
    return report_of(text_in(row, "id"), has_ended, number_in(row, "filled_size"), fills)


def _open_order(row: Mapping[str, Any], market: Market) -> OpenOrder:
    client_order_id = row.get("client_oid")
    return OpenOrder(
        exchange=market.exchange,
        symbol=market.symbol,
        exchange_order_id=text_in(row, "id"),
        client_order_id=None if client_order_id is None else str(client_order_id),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "size")),
        # a market order has none
        price=Price(number_in(row, "price")) if "price" in row else None,
        placed_at=micros_of(text_in(row, "created_at")),
    )


def _account_fill(row: Mapping[str, Any], market: Market) -> AccountFill:
    return AccountFill(_fill(row, side_in(row, "side"), market), text_in(row, "order_id"))


def _fill(row: Mapping[str, Any], side: Side, market: Market) -> Fill:
    price, amount = number_in(row, "price"), number_in(row, "size")
    # Booked to the last digit; reported only where the quote currency is the dollar.
    cost = number_in(row, "usd_volume") if market.quote_currency == "USD" and "usd_volume" in row else price * amount
    return Fill(
        fill_id=text_in(row, "trade_id"),
        exchange=market.exchange,
        symbol=market.symbol,
        side=side,
        price=Price(price),
        amount=Amount(amount),
        cost=cost,
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "created_at")),
    )
