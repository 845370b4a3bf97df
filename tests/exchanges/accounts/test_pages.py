"""An exchange that shows the same page for ever is asked for it twice, and then not understood."""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from exchanges.binance.orders import BinanceOrderApi
from exchanges.bitflyer.orders import BitflyerOrderApi
from exchanges.bitstamp.orders import BitstampOrderApi
from exchanges.bybit.orders import BybitOrderApi
from exchanges.coinbase.orders import CoinbaseOrderApi
from exchanges.coinbaseexchange.orders import CoinbaseExchangeOrderApi
from exchanges.kraken.orders import KrakenOrderApi
from exchanges.okx.orders import OkxOrderApi
from exchanges.ports.orders import AnswerNotUnderstoodError, OrderApi, Pages
from tests.exchanges.served import TRADED

MARKETS = {market.exchange: market for market in TRADED}
NOW = "2026-01-01T00:00:00"


def test_a_page_that_shows_something_new_may_repeat_the_rest() -> None:
    pages = Pages()
    pages.add_page(["1", "2"])
    pages.add_page(["2", "3"])
    with pytest.raises(AnswerNotUnderstoodError):
        pages.add_page(["3", "1"])


def always(answer: object) -> tuple[list[int], Callable[..., Awaitable[object]]]:
    """Whatever is asked; and how often it was."""
    calls: list[int] = []

    async def reply(*_: object) -> object:
        calls.append(1)
        return answer

    return calls, reply


COINBASE = {
    "side": "buy",
    "price": "1",
    "size": "1",
    "fee": "0",
    "order_id": "o",
    "created_at": NOW,
    "product_id": "BTC-USD",
}
BITSTAMP = {"type": "2", "order_id": 1, "btc": "1", "eur": "-1", "btc_eur": "1", "fee": "0", "datetime": NOW}
BITFLYER = {"side": "BUY", "price": 1, "size": 1, "commission": 0, "exec_date": NOW, "child_order_acceptance_id": "o"}
KRAKEN = {
    "pair": "XXBTZUSD",
    "type": "buy",
    "price": "1",
    "vol": "1",
    "cost": "1",
    "fee": "0",
    "time": 1,
    "ordertxid": "o",
}
BINANCE = {
    "symbol": "BTCUSDT",
    "isBuyer": True,
    "orderId": 1,
    "price": "1",
    "qty": "1",
    "quoteQty": "1",
    "commission": "0",
    "time": 1,
}

BYBIT = {
    "symbol": "BTCUSDT",
    "side": "Buy",
    "orderId": "1",
    "execPrice": "1",
    "execQty": "1",
    "execValue": "1",
    "execFee": "0",
    "feeCurrency": "BTC",
    "execTime": "1",
}


OKX = {
    "instId": "BTC-USDT",
    "side": "buy",
    "ordId": "1",
    "fillPx": "1",
    "fillSz": "1",
    "fee": "0",
    "feeCcy": "BTC",
    "tradeId": "1",
    "ts": "1",
}


ADVANCED = {
    "product_id": "BTC-USD",
    "side": "BUY",
    "order_id": "1",
    "trade_id": "1",
    "trade_type": "FILL",
    "price": "1",
    "size": "1",
    "commission": "0",
    "trade_time": "2026-01-01T00:00:00Z",
}


def answers() -> dict[str, tuple[list[int], OrderApi]]:
    """Exchange → how often it was asked, and its api before it."""
    made: dict[str, tuple[list[int], OrderApi]] = {}
    calls, reply = always([{**COINBASE, "trade_id": number} for number in range(1_000)])
    made["coinbaseexchange"] = (
        calls,
        CoinbaseExchangeOrderApi(
            SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privateGetFills=reply)
        ),
    )
    calls, reply = always([{**BITSTAMP, "id": number} for number in range(1_000)])
    client = SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privatePostUserTransactions=reply)
    made["bitstamp"] = calls, BitstampOrderApi(client)
    calls, reply = always([{**BITFLYER, "id": number} for number in range(500)])
    made["bitflyer"] = (
        calls,
        BitflyerOrderApi(
            SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privateGetGetexecutions=reply)
        ),
    )
    calls, reply = always({"result": {"trades": {str(number): KRAKEN for number in range(50)}}})
    _, time = always({"result": {"unixtime": 1}})
    made["kraken"] = calls, KrakenOrderApi(SimpleNamespace(publicGetTime=time, privatePostTradesHistory=reply))
    calls, reply = always([{**BINANCE, "id": number, "commissionAsset": "BTC"} for number in range(1_000)])
    made["binance"] = (
        calls,
        BinanceOrderApi(SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privateGetMyTrades=reply)),
    )
    calls, reply = always(
        {"result": {"list": [{**BYBIT, "execId": str(number)} for number in range(100)], "nextPageCursor": "x"}}
    )
    client = SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privateGetV5ExecutionList=reply)
    made["bybit"] = calls, BybitOrderApi(client)
    calls, reply = always({"code": "0", "data": [{**OKX, "billId": str(number)} for number in range(100, 0, -1)]})
    client = SimpleNamespace(exchange_ahead_ms=0, exchange_uncertainty_ms=0, privateGetTradeFills=reply)
    made["okx"] = calls, OkxOrderApi(client)
    fills = [{**ADVANCED, "entry_id": str(number)} for number in range(250)]
    calls, reply = always({"fills": fills, "cursor": "x"})
    client = SimpleNamespace(
        exchange_ahead_ms=0, exchange_uncertainty_ms=0, v3PrivateGetBrokerageOrdersHistoricalFills=reply
    )
    made["coinbase"] = calls, CoinbaseOrderApi(client)
    return made


@pytest.mark.parametrize("exchange", list(MARKETS))
async def test_the_same_page_for_ever(exchange: str) -> None:
    calls, api = answers()[exchange]
    with pytest.raises(AnswerNotUnderstoodError, match="same page"):
        await api.fills_since([MARKETS[exchange]], 0)
    assert len(calls) == 2
