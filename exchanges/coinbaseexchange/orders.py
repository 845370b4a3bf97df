"""Orders on Coinbase Exchange: `client_oid` is a UUID and finds the order again."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.coinbaseexchange.symbols import coinbaseexchange_product
from exchanges.common_codes import common_code
from exchanges.ports.error_mapping import is_not_found
from exchanges.ports.orders import (
    ExchangeOrders,
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
                self._fills(market, exchange_order_id),
            )
        except ccxt.BaseError as error:
            # The exchange may drop an IOC order without fills at once.
            if is_not_found(error):
                return None
            raise
        return _report(row_of(row), market, fills)

    async def find(self, order: LimitOrder, market: Market, others: Collection[str]) -> OrderReport | None:
        try:
            answer = await self._client.privateGetOrdersClientClientOid({"client_oid": order.client_order_id})
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        row = row_of(answer)
        return _report(row, market, await self._fills(market, text_in(row, "id")))

    async def cancel(self, order: LimitOrder, market: Market, exchange_order_id: str) -> None:
        # the product makes it cheaper for the exchange: its docs, Cancel an order
        await self._client.privateDeleteOrdersId(
            {"id": exchange_order_id, "product_id": coinbaseexchange_product(market)}
        )

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(await self._client.privateGetAccounts())
        return {common_code("coinbaseexchange", text_in(row, "currency")): number_in(row, "balance") for row in rows}

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

    async def _fills(self, market: Market, exchange_order_id: str) -> list[AccountFill]:
        answer = await self._client.privateGetFills({"order_id": exchange_order_id, "limit": str(_PAGE)})
        return [_account_fill(row, market) for row in reversed(rows_of(answer))]


def _report(row: Mapping[str, Any], market: Market, fills: list[AccountFill]) -> OrderReport:
    has_ended = text_in(row, "status") in _ENDED
    stated = StatedOrder(
        client_order_id=optional_text_in(row, "client_oid"),
        symbol=symbol_in(row, "product_id", market, [coinbaseexchange_product(market)]),
        side=side_in(row, "side"),
        amount=Amount(number_in(row, "size")),
        price=price_in(row, "price"),
        orders_of_fills=frozenset(one.exchange_order_id for one in fills),
    )
    once = [one.fill for one in fills]
    return report_of(text_in(row, "id"), has_ended, number_in(row, "filled_size"), once, stated)


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
    return AccountFill(_fill(row, market), text_in(row, "order_id"))


def _fill(row: Mapping[str, Any], market: Market) -> Fill:
    price, amount = number_in(row, "price"), number_in(row, "size")
    # Booked to the last digit; reported only if the quote currency is the dollar.
    cost = number_in(row, "usd_volume") if market.quote_currency == "USD" and "usd_volume" in row else price * amount
    return Fill(
        fill_id=text_in(row, "trade_id"),
        exchange=market.exchange,
        symbol=symbol_in(row, "product_id", market, [coinbaseexchange_product(market)]),
        side=side_in(row, "side"),
        price=Price(price),
        amount=Amount(amount),
        cost=cost,
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "created_at")),
    )


async def _taker_rate(client: Any, _markets: Sequence[Market]) -> Decimal:
    return number_in(row_of(await client.privateGetFees()), "taker_fee_rate")


async def _server_time(client: Any) -> tuple[int, int]:
    return int(number_in(row_of(await client.publicGetTime()), "epoch") * 1_000), 0


ORDERS = ExchangeOrders(CoinbaseExchangeOrderApi, _taker_rate, _server_time)
