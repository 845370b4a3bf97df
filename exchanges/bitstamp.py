"""Orders on Bitstamp: `client_order_id` finds the order again, and one answer has its state and all its fills."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.desk import micros_of, number_in, report_of, row_of, rows_of, text_in
from exchanges.faults import is_not_found
from market.markets import Market
from market.money import Amount, Price, text_of, total
from market.orders import Fill, LimitOrder, OrderReport

_ENDED = ("Finished", "Canceled", "Expired")


class BitstampDesk:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        post = self._client.privatePostBuyPair if order.side == "buy" else self._client.privatePostSellPair
        answer = await post(
            {
                "pair": f"{market.base}{market.quote_currency}".lower(),
                "amount": text_of(order.amount),
                "price": text_of(order.price),
                "ioc_order": "True",
                "client_order_id": order.client_order_id,
            }
        )
        return text_in(row_of(answer), "id")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        return await self._status(order, market, {"id": exchange_order_id})

    async def find(self, order: LimitOrder, market: Market) -> OrderReport | None:
        return await self._status(order, market, {"client_order_id": order.client_order_id})

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(await self._client.privatePostAccountBalances())
        return {text_in(row, "currency").upper(): number_in(row, "total") for row in rows}

    async def _status(self, order: LimitOrder, market: Market, key: dict[str, str]) -> OrderReport | None:
        try:
            row = row_of(await self._client.privatePostOrderStatus(key))
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        fills = [_fill(fill, order, market) for fill in rows_of(row.get("transactions"))]
        # Of a cancelled order `amount_remaining` is what was left, so it counts what was filled either way.
        filled = order.amount - number_in(row, "amount_remaining")
        if "amount_remaining" not in row:
            filled = total(fill.amount for fill in fills)
        return report_of(text_in(row, "id"), text_in(row, "status") in _ENDED, filled, fills)


def _fill(row: Mapping[str, Any], order: LimitOrder, market: Market) -> Fill:
    return Fill(
        fill_id=text_in(row, "tid"),
        exchange=order.exchange,
        symbol=order.symbol,
        side=order.side,
        price=Price(number_in(row, "price")),
        amount=Amount(number_in(row, market.base.lower())),
        cost=number_in(row, market.quote_currency.lower()),
        fee=number_in(row, "fee"),
        fee_currency=market.quote_currency,
        filled_at=micros_of(text_in(row, "datetime")),
    )
