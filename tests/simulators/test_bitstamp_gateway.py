"""Bitstamp's REST answers: shapes as recorded, rejections in its own words, orders of its own kinds."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import ccxt
import orjson
import pytest

from exchanges.simulated_markets import further_markets
from market.money import decimal_of
from simulators.bitstamp.rejections import rejection
from simulators.matching.order_records import RequestRejectedError
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.wire_recordings import answer, has_shape

RECORDED = "xchange-bitstamp"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened("bitstamp", tmp_path) as bench:
        yield bench


def limit_order(bench: Bench, price: Decimal | None = None, **fields: str) -> dict[str, str]:
    price = bench.out_of_reach("buy") if price is None else price
    return {"pair": "btceur", "amount": "0.01", "price": str(price)} | fields


def said(bench: Bench) -> Any:
    return orjson.loads(bench.client.last_http_response)


async def test_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    client, price = bench.client, bench.best("sell")[0]
    ticker = await client.publicGetTickerPair({"pair": "btceur"})
    assert has_shape(ticker, answer(f"{RECORDED}/marketdata/example-ticker-data.json"))
    async with (
        aiohttp.ClientSession() as plain,
        plain.get(f"{bench.outside.url}/bitstamp/api/v2/ticker/btceur") as without_slash,
    ):
        assert (await without_slash.json())["pair"] == ticker["pair"]
    book = await client.publicGetOrderBookPair({"pair": "btceur"})
    assert has_shape(book, answer(f"{RECORDED}/marketdata/example-full-depth-data.json"))
    placed = await client.privatePostBuyPair(limit_order(bench, price, ioc_order="True"))
    assert has_shape(placed, answer(f"{RECORDED}/trade/example-place-instant-order.json"))
    [transaction, *_] = await client.privatePostUserTransactionsPair({"pair": "btceur"})
    recorded = answer(f"{RECORDED}/trade/example-user-transactions.json")[0]
    # another market, and kinds of transactions are texts by now
    expected = {name.replace("usd", "eur"): value for name, value in recorded.items()} | {"type": "2"}
    assert has_shape(transaction, expected)
    resting = await client.privatePostBuyPair(limit_order(bench))
    await client.privatePostCancelAllOrders()
    assert said(bench)["success"] is True
    [cancelled] = said(bench)["canceled"]
    real = answer(f"{RECORDED}/trade/example-cancel-all-orders.json")["canceled"][0]
    assert set(real) <= set(cancelled)
    assert (str(cancelled["id"]), cancelled["type"]) == (resting["id"], 0)


@pytest.mark.parametrize(
    ("fields", "reason", "code", "error"),
    [
        (
            {"amount": "500"},
            {"__all__": ["You have only 925000.00000000 EUR available. Check your account balance for details."]},
            "400.009",
            ccxt.InsufficientFunds,
        ),
        ({"amount": "0.0001"}, {"__all__": ["Minimum order size is 10."]}, "400.020", ccxt.InvalidOrder),
        (
            {"amount": "0.010000001"},
            {"amount": ["Ensure that there are no more than 8 decimal places."], "__all__": [""]},
            "400.007",
            ccxt.ExchangeError,
        ),
        (
            {"price": "50000.5"},
            {"price": ["Ensure that there are no more than 0 decimal places."], "__all__": [""]},
            "400.007",
            ccxt.ExchangeError,
        ),
        ({"amount": "1e30"}, {"amount": ["Enter a number."]}, "400.026", ccxt.ExchangeError),
        ({"price": "1e300"}, {"price": ["Enter a number."]}, "400.041", ccxt.ExchangeError),
        ({"amount": "much"}, {"amount": ["Enter a number."]}, "400.026", ccxt.ExchangeError),
        ({"price": "Infinity"}, {"price": ["Enter a number."]}, "400.041", ccxt.ExchangeError),
        ({"pair": "fooxyz"}, "Market not found for corresponding request.", "404.007", ccxt.ExchangeError),
        ({"post_only": "True"}, "POST parameter(s) is malformed: post_only.", "400.007", ccxt.ExchangeError),
        (
            {"daily_order": "True"},
            "POST parameter(s) is malformed: daily_order is not simulated.",
            "400.007",
            ccxt.ExchangeError,
        ),
        (
            {"ioc_order": "True", "fok_order": "True"},
            "POST parameter(s) is malformed: only one of ioc_order, fok_order, moc_order can be set.",
            "400.007",
            ccxt.ExchangeError,
        ),
    ],
)
async def test_an_order_is_rejected_in_the_exchanges_words(
    bench: Bench, fields: dict[str, str], reason: object, code: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await bench.client.privatePostBuyPair(limit_order(bench) | fields)
    assert said(bench) == {"status": "error", "reason": reason, "response_code": code}
    assert not bench.exchange.customer.orders


@pytest.mark.parametrize(
    ("known", "reason", "code"),
    [
        ((), "X-Auth header is required", "API0012"),
        (("X-Auth",), "X-Auth-Signature header is required", "API0013"),
        (("X-Auth", "X-Auth-Signature"), "X-Auth-Nonce header is required", "API0014"),
        (
            ("X-Auth", "X-Auth-Signature", "X-Auth-Nonce", "X-Auth-Timestamp", "X-Auth-Version"),
            "API key not found",
            "API0001",
        ),
    ],
)
async def test_what_is_not_signed_is_rejected(bench: Bench, known: tuple[str, ...], reason: str, code: str) -> None:
    url = f"{bench.outside.url}/bitstamp/api/v2/account_balances/"
    async with aiohttp.ClientSession() as session, session.post(url, headers=dict.fromkeys(known, "x")) as rejected:
        body = await rejected.json()
    assert (rejected.status, body) == (403, {"status": "error", "reason": reason, "code": code})


async def test_a_signed_request_is_good_once(bench: Bench) -> None:
    signed = bench.client.sign("account_balances/", ["private"], "POST")
    async with aiohttp.ClientSession() as session:
        for status in (200, 403):
            async with session.post(signed["url"], headers=signed["headers"], data=signed["body"]) as answered:
                assert answered.status == status
                body = await answered.json()
    assert body == {"status": "error", "reason": "Invalid nonce", "code": "API0004"}


async def test_an_order_of_all_or_nothing(bench: Bench) -> None:
    price, shown = bench.best("sell")
    killed = await bench.client.create_order(
        bench.symbol, "limit", "buy", float(shown) + 0.01, float(price), {"fok_order": "True"}
    )
    assert (await bench.order(killed["id"]))["status"] == "canceled"
    assert not bench.fills()
    done = await bench.client.create_order(
        bench.symbol, "limit", "buy", float(shown), float(price), {"fok_order": "True"}
    )
    assert (await bench.order(done["id"]))["status"] == "closed"


async def test_an_instant_order_spends_a_sum_of_money(bench: Bench) -> None:
    before = await bench.totals()
    await bench.client.create_order(bench.symbol, "instant", "buy", 30_000)
    spent = before["EUR"] - (await bench.totals())["EUR"]
    # each fill's cost is cut off at the cent
    assert Decimal("29999.90") < spent <= 30_000
    await bench.client.create_order(bench.symbol, "instant", "sell", 0.01)
    assert decimal_of(bench.fills()[-1].amount) == Decimal("0.01")


async def test_orders_are_cancelled_by_the_clients_id(bench: Bench) -> None:
    placed = await bench.client.privatePostBuyPair(limit_order(bench, client_order_id="mine"))
    answered = await bench.client.privatePostCancelOrder({"client_order_id": "mine"})
    assert (str(answered["id"]), answered["status"]) == (placed["id"], "Canceled")
    for gone in (placed["id"], "1"):
        with pytest.raises(ccxt.OrderNotFound):
            await bench.client.cancel_order(gone, bench.symbol)
        assert said(bench) == {"status": "error", "reason": "Order not found.", "response_code": "404.002"}
    with pytest.raises(ccxt.ExchangeError):
        await bench.client.privatePostBuyPair(limit_order(bench, client_order_id="mine"))
    assert said(bench)["response_code"] == "400.019"


async def test_the_ledger_is_read_by_part(bench: Bench) -> None:
    for _ in range(3):
        await bench.post("buy", Decimal("0.01"), None)
    ids = [int(fill.fill_id) for fill in bench.fills()]

    async def listed(**fields: str) -> list[int]:
        rows = await bench.client.privatePostUserTransactionsPair({"pair": "btceur", **fields})
        return [row["id"] for row in rows]

    assert await listed() == ids[::-1]
    assert await listed(sort="asc", limit="2") == ids[:2]
    assert await listed(offset="1", limit="1") == [ids[-2]]
    later = str(bench.exchange.clock.now() // 1_000_000 + 60)
    assert await listed(since_timestamp=later) == []
    assert await listed(until_timestamp=later) == ids[::-1]


async def test_trades_of_the_last_hour(bench: Bench) -> None:
    bench.tick_until(lambda: len(bench.exchange.tape.newest(bench.symbol, 3)) == 3)
    for span in ("minute", "hour", "day"):
        rows = await bench.client.publicGetTransactionsPair({"pair": "btceur", "time": span})
        assert [row["price"] for row in rows] == [
            str(trade.price) for trade in bench.exchange.tape.newest(bench.symbol, 1_000)
        ]
    with pytest.raises(ccxt.ExchangeError):
        await bench.client.publicGetTransactionsPair({"pair": "btceur", "time": "year"})


async def test_the_market_in_dollars_trades_with_what_was_sold_there(bench: Bench) -> None:
    client, [market] = bench.client, further_markets()
    dollars = replace(bench, market=market)
    assert "usd" not in {row["currency"] for row in await client.privatePostAccountBalances()}
    buy = limit_order(dollars, dollars.best("sell")[0], pair="btcusd", amount="0.005", ioc_order="True")
    with pytest.raises(ccxt.InsufficientFunds, match=r"You have only 0\.00000000 USD"):
        await client.privatePostBuyPair(buy)
    await client.privatePostSellMarketPair({"pair": "btcusd", "amount": "0.01"})
    await client.privatePostBuyPair(buy)
    sold, bought = dollars.fills()
    assert (sold.side, sold.amount, bought.side, bought.amount) == ("sell", Decimal("0.01"), "buy", Decimal("0.005"))
    rows = {row["currency"]: decimal_of(row["total"]) for row in await client.privatePostAccountBalances()}
    paid = bought.price * bought.amount + bought.fee
    assert abs(rows["usd"] - (sold.price * sold.amount - sold.fee - paid)) <= Decimal("0.02")
    assert rows["eur"] == Decimal(925_000)
    assert int(dollars.best("sell")[0]) > int(bench.best("sell")[0])


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RequestRejectedError("rate_limited"), 429, "exceeded rate limit"),
        (RequestRejectedError("banned"), 403, "IP address not allowed"),
        (RequestRejectedError("maintenance"), 503, "under scheduled maintenance"),
        (RequestRejectedError("unavailable"), 500, "internal services"),
        (RequestRejectedError("order_rejected"), 400, "rejected by matching engine"),
    ],
)
def test_troubles_are_worded(error: RequestRejectedError, status: int, text: str) -> None:
    answered = rejection(error, available=Decimal(0))
    assert answered.status == status
    assert text in (answered.text or "")
