"""Orders on Binance: `origClientOrderId` finds the order again; fees come in what the order brought."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.desk import number_in, report_of, row_of, rows_of, text_in
from exchanges.faults import is_not_found
from market.markets import Market
from market.money import Amount, Price, text_of
from market.orders import Fill, LimitOrder, OrderReport

_ENDED = ("FILLED", "CANCELED", "EXPIRED", "EXPIRED_IN_MATCH", "REJECTED")
_MICROS_OF_MS = 1_000
_PAGE = "1000"


class BinanceDesk:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def post(self, order: LimitOrder, market: Market) -> str:
        answer = await self._client.privatePostOrder(
            {
                "symbol": _symbol_id(market),
                "side": order.side.upper(),
                "type": "LIMIT",
                "timeInForce": "IOC",
                "price": text_of(order.price),
                "quantity": text_of(order.amount),
                "newClientOrderId": order.client_order_id,
                "newOrderRespType": "ACK",
            }
        )
        return text_in(row_of(answer), "orderId")

    async def report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport | None:
        return await self._report(order, market, {"orderId": exchange_order_id})

    async def find(self, order: LimitOrder, market: Market) -> OrderReport | None:
        return await self._report(order, market, {"origClientOrderId": order.client_order_id})

    async def balances(self) -> dict[str, Decimal]:
        rows = rows_of(row_of(await self._client.privateGetAccount()).get("balances"))
        return {text_in(row, "asset"): number_in(row, "free") + number_in(row, "locked") for row in rows}

    async def _report(self, order: LimitOrder, market: Market, key: dict[str, str]) -> OrderReport | None:
        symbol = {"symbol": _symbol_id(market)}
        try:
            if "orderId" in key:
                row, fills = await asyncio.gather(
                    self._client.privateGetOrder(symbol | key), self._fills(order, market, key["orderId"])
                )
            else:
                row = await self._client.privateGetOrder(symbol | key)
                fills = await self._fills(order, market, text_in(row_of(row), "orderId"))
        except ccxt.BaseError as error:
            if is_not_found(error):
                return None
            raise
        found = row_of(row)
        has_ended = text_in(found, "status") in _ENDED
        return report_of(text_in(found, "orderId"), has_ended, number_in(found, "executedQty"), fills)

    async def _fills(self, order: LimitOrder, market: Market, exchange_order_id: str) -> list[Fill]:
        query = {"symbol": _symbol_id(market), "orderId": exchange_order_id, "limit": _PAGE}
        return [_fill(row, order) for row in rows_of(await self._client.privateGetMyTrades(query))]


def _fill(row: Mapping[str, Any], order: LimitOrder) -> Fill:
    return Fill(
        fill_id=text_in(row, "id"),
        exchange=order.exchange,
        symbol=order.symbol,
        side=order.side,
        price=Price(number_in(row, "price")),
        amount=Amount(number_in(row, "qty")),
        cost=number_in(row, "quoteQty"),
        fee=number_in(row, "commission"),
        # What came in, or BNB where the account pays its fees with that.
        fee_currency=text_in(row, "commissionAsset"),
        filled_at=int(number_in(row, "time")) * _MICROS_OF_MS,
    )


def _symbol_id(market: Market) -> str:
    return f"{market.base}{market.quote_currency}"
