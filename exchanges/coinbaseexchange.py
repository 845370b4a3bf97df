"""Orders on Coinbase Exchange: `client_oid` is a UUID and finds the order again."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.desk import micros_of, number_in, report_of, row_of, rows_of, text_in
from exchanges.faults import is_not_found
from market.markets import Market
from market.money import Amount, Price, text_of
from market.orders import Fill, LimitOrder, OrderReport

_ENDED = ("done", "rejected")


class CoinbaseExchangeDesk:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        answer = await self._client.privatePostOrders(
            {
                "client_oid": order.client_order_id,
                "product_id": _product_id(market),
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
            # An IOC order that filled nothing may be forgotten at once.
            if is_not_found(error):
                return None
            raise
        return _report(row_of(row), fills)

    async def find(self, order: LimitOrder, market: Market) -> OrderReport | None:
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

    async def _fills(self, order: LimitOrder, market: Market, exchange_order_id: str) -> list[Fill]:
        answer = await self._client.privateGetFills({"order_id": exchange_order_id, "limit": "1000"})
        return [_fill(row, order, market) for row in reversed(rows_of(answer))]


def _report(row: Mapping[str, Any], fills: list[Fill]) -> OrderReport:
    has_ended = text_in(row, "status") in _ENDED
    return report_of(text_in(row, "id"), has_ended, number_in(row, "filled_size"), fills)


def _fill(row: Mapping[str, Any], order: LimitOrder, market: Market) -> Fill:
    price, amount = number_in(row, "price"), number_in(row, "size")
    # Booked to the last digit; reported only where the quote currency is the dollar.
    cost = number_in(row, "usd_volume") if market.quote_currency == "USD" and "usd_volume" in row else price * amount
    return Fill(
        fill_id=text_in(row, "trade_id"),
        exchange=order.exchange,
        symbol=order.symbol,
        side=order.side,
        price=Price(price),
        amount=Amount(amount),
        cost=cost,
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "created_at")),
    )


def _product_id(market: Market) -> str:
    return f"{market.base}-{market.quote_currency}"
