"""Faults of HTTP as a plain client meets them, on every exchange."""

import asyncio
from collections.abc import AsyncIterator, Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from market.time_units import MICROSECONDS
from simulators.faults.fault_kinds import FaultKind
from tests.simulators.visitor import DEADLINE, Answer, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call, WireClient

EVERYWHERE = pytest.mark.parametrize("wire", WIRE_CLIENTS, ids=lambda wire: wire.exchange)


@pytest.fixture
async def visitor(tmp_path: Path, wire: WireClient) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, wire) as visitor:
        yield visitor


# (status, a piece of the body) of each exchange's answer
ANSWERS: dict[FaultKind, dict[str, tuple[int, str]]] = {
    "http_429": {
        "coinbaseexchange": (429, "rate limit exceeded"),
        "bitstamp": (429, "rate limit"),
        "bitflyer": (429, "Over API limit"),
        # Kraken says it in the body of a plain answer
        "kraken": (200, "EAPI:Rate limit exceeded"),
        "binance": (429, "-1003"),
        "bybit": (200, "10006"),
        "okx": (429, "50011"),
        "coinbase": (429, "rate_limit_exceeded"),
    },
    "http_418": {
        "coinbaseexchange": (418, "Forbidden"),
        "bitstamp": (418, "IP address not allowed"),
        "bitflyer": (418, "error_message"),
        "kraken": (418, "EGeneral:Temporary lockout"),
        "binance": (418, "banned"),
        "bybit": (418, "10018"),
        "okx": (418, "Forbidden"),
        "coinbase": (418, "Forbidden"),
    },
    "http_5xx": {
        "coinbaseexchange": (500, "Internal server error"),
        "bitstamp": (500, "failed to process request"),
        "bitflyer": (503, "error_message"),
        "kraken": (503, "EService:Busy"),
        "binance": (500, "-1000"),
        "bybit": (500, "10016"),
        "okx": (500, "50026"),
        "coinbase": (500, "INTERNAL"),
    },
    "ban": {
        "coinbaseexchange": (403, "Forbidden"),
        "bitstamp": (403, "IP address not allowed"),
        "bitflyer": (403, "error_message"),
        "kraken": (200, "EGeneral:Temporary lockout"),
        "binance": (418, "banned"),
        "bybit": (403, "10018"),
        "okx": (403, "Forbidden"),
        "coinbase": (403, "Forbidden"),
    },
    "maintenance": {
        "coinbaseexchange": (503, "under maintenance"),
        "bitstamp": (503, "scheduled maintenance"),
        "bitflyer": (503, "-2"),
        "kraken": (200, "EService:Unavailable"),
        "binance": (503, "maintenance"),
        "bybit": (503, "maintenance"),
        "okx": (503, "50001"),
        "coinbase": (503, "UNAVAILABLE"),
    },
}


@EVERYWHERE
@pytest.mark.parametrize("kind", ANSWERS)
async def test_a_rejection_is_worded_as_the_exchange_words_it_and_then_over(visitor: Visitor, kind: FaultKind) -> None:
    status, piece = ANSWERS[kind][visitor.wire.exchange]
    visitor.fault(kind, count=2)
    for answer in (await visitor.public(), await visitor.bought()):
        assert (answer.status, piece in str(answer.body)) == (status, True), answer
    assert visitor.exchange.customer.orders == {}
    assert (await visitor.public()).status == 200
    assert (await visitor.bought()).status == 200
    assert len(visitor.exchange.customer.orders) == 1


@EVERYWHERE
async def test_a_rejection_for_seconds_ends_with_them_and_rejects_streams_too(visitor: Visitor) -> None:
    visitor.fault("http_5xx", seconds=5, status=503)
    assert (await visitor.public()).status == 503
    with pytest.raises(aiohttp.WSServerHandshakeError) as rejected:
        async with visitor.reading():
            pytest.fail("a stream in spite of it")
    assert rejected.value.status == 503
    visitor.clock.advance(5)
    async with visitor.reading():
        assert (await visitor.public()).status == 200


@EVERYWHERE
async def test_a_channel_limits_it_to_paths(visitor: Visitor) -> None:
    order = visitor.wire.order("0.01", "1", "IOC").path.partition("?")[0]
    visitor.fault("http_5xx", count=5, channel=order, status=500)
    assert (await visitor.public()).status == 200
    assert (await visitor.bought()).status == 500


@EVERYWHERE
@pytest.mark.parametrize("status", [502, 504, 520])
async def test_other_numbers_come_from_a_proxy_with_a_page(visitor: Visitor, status: int) -> None:
    visitor.fault("http_5xx", count=1, status=status)
    answer = await visitor.public()
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (status, "text/html")


@pytest.mark.parametrize(
    "wire", [wire for wire in WIRE_CLIENTS if wire.exchange == "binance"], ids=lambda wire: wire.exchange
)
@pytest.mark.parametrize(
    ("kind", "options", "seconds"),
    [("http_429", {"count": 1}, "1"), ("http_418", {"seconds": 40}, "40"), ("ban", {"count": 1}, "120")],
)
async def test_binance_says_when_to_come_back(
    visitor: Visitor, kind: FaultKind, options: dict[str, Any], seconds: str
) -> None:
    visitor.fault(kind, **options)
    assert (await visitor.public()).headers["Retry-After"] == seconds


@EVERYWHERE
async def test_latency_delays_an_order_there_and_its_answer_back(visitor: Visitor) -> None:
    visitor.fault("latency", count=1, milliseconds=4_000)
    answer = asyncio.ensure_future(visitor.bought())
    await asleep(visitor, answer)
    assert visitor.exchange.customer.orders == {}
    visitor.clock.advance(2)
    await asleep(visitor, answer)
    assert len(visitor.exchange.customer.orders) == 1
    visitor.clock.advance(2)
    assert (await answer).status == 200


async def asleep(visitor: Visitor, answer: "asyncio.Future[Any]") -> None:
    """Wait until the exchange waits."""
    async with asyncio.timeout(DEADLINE):
        while not visitor.clock.sleepers:
            assert not answer.done()
            await asyncio.wait([answer], timeout=0.005)


SHOWN_CLOCKS: dict[str, tuple[str, Callable[[Answer], float] | None]] = {
    "coinbaseexchange": ("/time", lambda answer: answer.body["epoch"]),
    "bitstamp": ("/api/v2/ticker/btceur/", lambda answer: float(answer.body["timestamp"])),
    "bitflyer": ("/v1/getticker?product_code=BTC_JPY", None),
    "kraken": ("/0/public/Time", lambda answer: answer.body["result"]["unixtime"]),
    "binance": ("/api/v3/time", lambda answer: answer.body["serverTime"] / 1_000),
    "bybit": ("/v5/market/time", lambda answer: answer.body["time"] / 1_000),
    "coinbase": ("/api/v3/brokerage/time", lambda answer: int(answer.body["epochMillis"]) / 1_000),
    "okx": ("/api/v5/public/time", lambda answer: int(answer.body["data"][0]["ts"]) / 1_000),
}


@EVERYWHERE
@pytest.mark.parametrize("skew", [-900, 900])
async def test_a_skewed_clock_shows_and_rejects_what_was_signed_in_time(visitor: Visitor, skew: int) -> None:
    path, shown = SHOWN_CLOCKS[visitor.wire.exchange]
    visitor.fault("clock_skew", seconds=60, skew_seconds=skew)
    visitor.rounds(1)
    answer = await visitor.sent(Call("GET", path))
    theirs = visitor.clock.now() / MICROSECONDS + skew
    assert abs(parsedate_to_datetime(answer.headers["Date"]).timestamp() - theirs) < 2
    if shown is not None and not (visitor.wire.exchange == "bitstamp" and skew < 0):
        # Bitstamp's stamps of the book never go back
        assert abs(shown(answer) - theirs) < 2
    orders = len(visitor.exchange.customer.orders)
    await visitor.bought()
    taken = len(visitor.exchange.customer.orders) - orders
    # Kraken checks nonces, which no clock spoils
    assert taken == (1 if visitor.wire.exchange == "kraken" else 0)
    visitor.clock.advance(60)
    await visitor.bought()
    assert len(visitor.exchange.customer.orders) == orders + taken + 1
