"""What a watch does about everything that an exchange can do to it, on a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from market.prices.feed_state import FeedState
from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from pricefeeds.errors import BookMismatchError, FeedStaleError, RestFailedError
from pricefeeds.feed.connection_loop import status_after
from pricefeeds.feed.endpoints import FeedEndpoints
from pricefeeds.feed.rest_reader import rest_reader
from pricefeeds.feed.timeouts import FeedTimeouts
from runtime.clock import SystemClock, wall_now
from tests.pricefeeds.little_exchange import LittleExchange, served, talking
from tests.pricefeeds.samples import MARKET
from tests.pricefeeds.watched import IMPATIENT, PATIENT, Watched, watching_source

NEVER = 1_000.0
NO_COMPARING = replace(IMPATIENT, compare_every=NEVER)
"""For tests of what is found without it."""


@asynccontextmanager
async def watched(
    exchange: LittleExchange, patience: FeedTimeouts = NO_COMPARING, server_time: str | None = "/time"
) -> AsyncIterator[Watched]:
    async with (
        served(exchange, server_time) as (address, wire),
        rest_reader(f"http://{address}", SystemClock(), patience.rest_seconds) as reader,
        watching_source(FeedEndpoints(wire, f"ws://{address}/ws", reader, None), MARKET, patience) as one,
    ):
        await one.until(lambda: one.state.quotes > 0 or not exchange.greets)
        yield one


# what is said: which counter shows it
FAULTY_FRAMES: dict[str, str] = {
    "{": "malformed",
    "[]": "malformed",
    '{"bid": 1}': "malformed",
    '{"bid": "x", "ask": "1", "time": 1}': "malformed",
    "\ufffd": "malformed",
    "[" * 100_000: "malformed",
    "gap": "gaps",
    "sum": "checksums",
}


@pytest.mark.parametrize(("frame", "counter"), FAULTY_FRAMES.items(), ids=range(len(FAULTY_FRAMES)))
async def test_a_frame_that_cannot_be_true_withdraws_at_once_and_the_book_is_built_again(
    frame: str, counter: str
) -> None:
    exchange = LittleExchange()
    async with watched(exchange) as one:
        await exchange.say(frame)
        await one.until(lambda: one.state.reconnects == 1 and one.is_in_force)
        assert _transitions(one) == ["quote", "withdrawn", "quote"]
        assert getattr(one.state, counter) == 1
        assert (one.state.resyncs, one.state.status, exchange.opened) == (1, "live", 2)


async def test_faulty_frames_for_ever_are_met_with_a_new_connection_each() -> None:
    exchange = LittleExchange(greets=False)
    async with watched(exchange) as one:
        while one.state.gaps < 4:
            await _until_opened(one, exchange, one.state.reconnects + 1)
            await exchange.say("gap")
            await _until_reconnected(one, one.state.reconnects)
        assert one.quotes == []
        assert exchange.opened >= 4


async def test_a_rejection_ends_the_watching() -> None:
    exchange = LittleExchange()
    async with watched(exchange) as one:
        await exchange.say("no")
        with pytest.raises(FeedRejectedError, match="no such book"):
            await one.until(lambda: False)


async def test_a_stream_that_is_silent_while_the_market_moves_is_stale_within_the_limit() -> None:
    exchange = LittleExchange()
    async with watched(exchange) as one:
        exchange.bid = "100.5"
        last = one.quotes[-1].received_time
        await one.until(lambda: one.state.quotes == 2)
        withdrawn = next(i for i, row in enumerate(one.rows) if isinstance(row, FeedMark) and row.kind == "withdrawn")
        in_force = [row for row in one.rows[:withdrawn] if isinstance(row, Quote | FeedMark)]
        assert all(row.received_time - last <= IMPATIENT.late_after for row in in_force)
        assert (one.state.resyncs, exchange.opened) == (1, 2)


async def test_a_stream_that_is_silent_while_rest_does_not_answer_is_stale() -> None:
    exchange = LittleExchange(status=503)
    async with watched(exchange) as one:
        await one.until(lambda: not one.is_in_force)
        assert one.state.rest_failures > 0


async def test_a_quiet_market_is_live_as_long_as_rest_has_the_same_book() -> None:
    exchange = LittleExchange()
    async with watched(exchange, replace(PATIENT, compare_every=NEVER)) as one:
        until = wall_now() + 3 * PATIENT.late_after // 2
        await one.until(lambda: wall_now() > until)
        assert (set(one.kinds[1:]), exchange.opened, one.state.status) == ({"alive"}, 1, "live")


async def test_missing_pongs_are_found_although_messages_come() -> None:
    exchange = LittleExchange(answers_pings=False)
    async with watched(exchange) as one, talking(exchange):
        await one.until(lambda: not one.is_in_force)
        exchange.answers_pings = True
        await one.until(lambda: one.is_in_force)


async def test_heartbeats_alone_do_not_keep_a_quote() -> None:
    exchange = LittleExchange(status=503)
    async with watched(exchange) as one:
        exchange.greets = False
        while one.is_in_force:
            await exchange.say("beat")
            await SystemClock().sleep(0.02)
        assert one.kinds[-1] == "withdrawn"


async def test_a_book_that_is_asked_for_by_rest_is_shown() -> None:
    exchange = LittleExchange(greets=False)
    async with watched(exchange) as one:
        await one.until(lambda: exchange.opened == 1)
        await exchange.say("fetch")
        await one.until(lambda: one.is_in_force)


async def test_a_book_that_rest_does_not_have_at_two_looks_ends_the_connection() -> None:
    exchange = LittleExchange()
    async with watched(exchange, IMPATIENT) as one:
        stale_book = exchange.book()
        exchange.bid = "100.5"

        async def lie() -> None:
            while True:
                await exchange.say(stale_book.replace("}", f', "n": {wall_now()}}}'))
                await SystemClock().sleep(0.02)

        lying = asyncio.create_task(lie())
        try:
            await one.until(lambda: one.state.rest_mismatches == 1)
        finally:
            lying.cancel()
            await asyncio.wait({lying})
        await one.until(lambda: str(one.quotes[-1].bid) == "100.5")
        assert (one.state.resyncs, exchange.opened) == (1, 2)


@pytest.mark.parametrize("server_time", ["/time", None], ids=["asked", "from messages"])
@pytest.mark.parametrize("skew_seconds", [3_600, -3_600])
async def test_a_leap_of_the_exchanges_clock_fells_a_feed_for_one_measurement_only(
    skew_seconds: int, server_time: str | None
) -> None:
    exchange = LittleExchange()
    async with watched(exchange, server_time=server_time) as one, talking(exchange):
        exchange.skew = skew_seconds * MICROSECONDS
        await one.until(lambda: abs((one.state.offset_us or 0) - exchange.skew) < MICROSECONDS // 2)
        await one.until(lambda: one.state.status == "live")
        exchange.bid = "100.2"
        await one.until(lambda: str(one.quotes[-1].bid) == "100.2")
        assert exchange.opened == 1


async def test_books_that_come_late_are_rejected_and_the_stream_given_up() -> None:
    exchange = LittleExchange()
    async with watched(exchange) as one:
        await one.until(lambda: one.state.offset_us is not None)
        exchange.skew = -2 * MICROSECONDS
        late_book = exchange.book().replace('"100"', '"100.7"')
        exchange.skew, exchange.greets = 0, False
        while exchange.opened == 1:
            await exchange.say(late_book)
            await SystemClock().sleep(0.05)
        assert one.state.rejected["late"] > 1
        assert one.state.resyncs == 1
        assert all(str(quote.bid) == "100" for quote in one.quotes)


async def test_an_exchange_that_is_gone_is_down_until_it_is_back() -> None:
    exchange = LittleExchange()
    async with watched(exchange) as one:
        await exchange.sockets[0].close()
        await one.until(lambda: exchange.opened == 2 and one.is_in_force)
        assert _transitions(one) == ["quote", "withdrawn", "quote"]
        assert (one.state.resyncs, one.state.reconnects) == (0, 1)


def test_a_fault_says_what_the_feed_is_from_then_on() -> None:
    expected: dict[FeedDroppedError, str] = {
        FeedStaleError(""): "stale",
        FrameRejectedError("malformed", ""): "resyncing",
        BookMismatchError(""): "resyncing",
        RestFailedError(""): "down",
        FeedDroppedError(""): "down",
    }
    assert {error: status_after(error) for error in expected} == expected


def test_counters_count() -> None:
    state = FeedState("a", "us", "BTC/USD", "live", 1, 2, gaps=1)
    assert state.counted("gaps").counted("resyncs") == replace(state, gaps=2, resyncs=1)


def _transitions(one: Watched) -> list[str]:
    return [kind for kind in one.kinds if kind != "alive"]


async def _until_opened(one: Watched, exchange: LittleExchange, number: int) -> None:
    await one.until(lambda: exchange.opened >= number)


async def _until_reconnected(one: Watched, reconnects: int) -> None:
    await one.until(lambda: one.state.reconnects > reconnects)
