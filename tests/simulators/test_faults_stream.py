"""Faults of streams as a plain client meets them, on every exchange.

Two readers get the same; a fault that strikes once strikes one of them, and the other shows what it should have
got.
"""

from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from random import Random

import aiohttp
import orjson
import pytest

from simulators.faults.fault_kinds import FaultKind
from simulators.faults.garbled_frames import cut
from tests.simulators.test_faults_http import EVERYWHERE
from tests.simulators.visitor import Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, WireClient

Frames = list[str | bytes]
ROUNDS = 15


@pytest.fixture
async def visitor(tmp_path: Path, wire: WireClient) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, wire) as visitor:
        yield visitor


def _is_dropped(right: Frames, wrong: Frames) -> bool:
    return any(wrong == right[:place] + right[place + 1 :] for place in range(len(right)))


def _is_duplicated(right: Frames, wrong: Frames) -> bool:
    return _is_dropped(wrong, right) and any(one == two for one, two in pairwise(wrong))


def _is_reordered(right: Frames, wrong: Frames) -> bool:
    places = range(len(right) - 1)
    swapped = ([*right[:place], right[place + 1], right[place], *right[place + 2 :]] for place in places)
    return right != wrong and any(wrong == one for one in swapped)


def _is_truncated(right: Frames, wrong: Frames) -> bool:
    differences = [(one, two) for one, two in zip(right, wrong, strict=True) if one != two]
    [(whole, part)] = differences
    return isinstance(whole, str) and isinstance(part, str) and whole.startswith(part) and 0 < len(part) < len(whole)


def _has_garbage(right: Frames, wrong: Frames) -> bool:
    return _is_dropped(wrong, right) and not set(wrong) <= set(right)


STRIKES: dict[FaultKind, Callable[[Frames, Frames], bool]] = {
    "dropped_message": _is_dropped,
    "duplicated_message": _is_duplicated,
    "reordered_message": _is_reordered,
    "truncated_frame": _is_truncated,
    "garbage_frame": _has_garbage,
}


@EVERYWHERE
@pytest.mark.parametrize("kind", STRIKES)
async def test_one_message_goes_wrong_for_one_reader(visitor: Visitor, kind: FaultKind) -> None:
    async with visitor.reading() as one, visitor.reading() as other:
        visitor.rounds(ROUNDS)
        assert await one.said() == await other.said() != []
        visitor.fault(kind, count=1, channel=visitor.wire.book_channel)
        visitor.rounds(ROUNDS)
        frames = [await one.said(), await other.said()]
        assert frames[0] != frames[1]
        assert any(_fits(kind, right, wrong) for right, wrong in (frames, frames[::-1]))
        visitor.rounds(ROUNDS)
        assert await one.said() == await other.said() != []


def _fits(kind: FaultKind, right: Frames, wrong: Frames) -> bool:
    try:
        return STRIKES[kind](right, wrong)
    except ValueError:
        return False


@EVERYWHERE
async def test_a_symbol_and_a_channel_say_who_is_struck(visitor: Visitor) -> None:
    async with visitor.reading() as reader:
        visitor.fault("dropped_message", seconds=60, channel="elsewhere")
        visitor.rounds(ROUNDS)
        assert visitor.book_messages(await reader.said())
        visitor.fault("dropped_message", seconds=60, symbol=visitor.wire.symbol)
        visitor.rounds(ROUNDS)
        assert visitor.book_messages(await reader.said()) == []


@EVERYWHERE
async def test_a_silent_connection_answers_and_says_nothing_and_a_new_one_is_well(visitor: Visitor) -> None:
    async with visitor.reading() as silent:
        visitor.fault("silent_stream", count=1)
        visitor.rounds(ROUNDS)
        assert await silent.said() == []
        assert await silent.ponged(b"still there")
        async with visitor.reading() as well:
            visitor.rounds(ROUNDS)
            assert visitor.book_messages(await well.said())
            assert await silent.said() == []
        visitor.outside.faults.clear()
        visitor.rounds(ROUNDS)
        assert visitor.book_messages(await silent.said())


@EVERYWHERE
async def test_silence_for_seconds_is_everybodys_and_ends_with_them(visitor: Visitor) -> None:
    visitor.fault("silent_stream", seconds=4)
    async with visitor.reading() as one, visitor.reading() as other:
        visitor.rounds(ROUNDS)
        assert await one.said() == await other.said() == []
        visitor.clock.advance(4)
        visitor.rounds(ROUNDS)
        assert visitor.book_messages(await one.said()) == visitor.book_messages(await other.said()) != []


@EVERYWHERE
async def test_pings_stay_unanswered_while_messages_flow(visitor: Visitor) -> None:
    async with visitor.reading() as reader:
        assert await reader.ponged(b"one")
        visitor.fault("no_pongs", count=1)
        assert not await reader.ponged(b"two")
        visitor.rounds(ROUNDS)
        assert visitor.book_messages(await reader.said())
        assert await reader.ponged(b"three")
        assert reader.pongs == [b"one", b"three"]


APPLICATION_PINGS = {
    "bitstamp": ({"event": "bts:heartbeat"}, "bts:heartbeat"),
    "kraken": ({"method": "ping", "req_id": 7}, "pong"),
}


@pytest.mark.parametrize(
    "wire", [wire for wire in WIRE_CLIENTS if wire.exchange in APPLICATION_PINGS], ids=lambda wire: wire.exchange
)
async def test_the_exchanges_own_pings_stay_unanswered_too(visitor: Visitor) -> None:
    ping, pong = APPLICATION_PINGS[visitor.wire.exchange]
    async with visitor.reading() as reader:
        await reader.socket.send_json(ping)
        assert [frame for frame in await reader.said() if pong in str(frame)]
        visitor.fault("no_pongs", seconds=5)
        await reader.socket.send_json(ping)
        assert not [frame for frame in await reader.said() if pong in str(frame)]


@EVERYWHERE
async def test_a_crossed_book_is_reported_once_and_put_right_by_the_next_message(visitor: Visitor) -> None:
    async with visitor.reading() as reader:
        visitor.fault("crossed_book", count=1)
        visitor.rounds(1)
        [crossed] = visitor.book_messages(await reader.said())
        bids, _ = visitor.wire.book_of(orjson.loads(crossed)) or ([], [])
        best = visitor.exchange.books[visitor.wire.symbol].best("sell") or 0
        ask = visitor.exchange.listings[visitor.wire.symbol].price(best)
        [wrong] = [price for price, amount in bids if Decimal(str(price)) > ask and Decimal(str(amount))]
        visitor.rounds(ROUNDS)
        later = [visitor.wire.book_of(orjson.loads(text)) for text in visitor.book_messages(await reader.said())]
        assert later
        amounts = [amount for rows in later if rows for price, amount in rows[0] if price == wrong]
        assert amounts
        assert Decimal(str(amounts[0])) == 0 or _is_right_now(visitor, wrong)


def _is_right_now(visitor: Visitor, price: object) -> bool:
    """Return whether the price is a right bid now: the market may have moved to the wrong one."""
    listing = visitor.exchange.listings[visitor.wire.symbol]
    return visitor.exchange.books[visitor.wire.symbol].lots_at("buy", listing.ticks(Decimal(str(price)))) > 0


@EVERYWHERE
async def test_the_exchange_itself_is_never_crossed(visitor: Visitor) -> None:
    visitor.fault("crossed_book", seconds=60)
    async with visitor.reading():
        for _ in range(ROUNDS):
            visitor.rounds(1)
            book = visitor.exchange.books[visitor.wire.symbol]
            assert (book.best("buy") or 0) < (book.best("sell") or 0)


@EVERYWHERE
async def test_maintenance_closes_streams(visitor: Visitor) -> None:
    async with visitor.reading() as reader:
        visitor.fault("maintenance", seconds=5)
        visitor.rounds(ROUNDS)
        while True:
            message = await reader.socket.receive(timeout=20)
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1012)


def test_a_cut_text_is_a_beginning() -> None:
    random = Random(1)
    assert {cut("abc", random) for _ in range(50)} == {"a", "ab"}
    assert cut("a", random) == "a"
