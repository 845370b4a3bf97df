"""Who comes back: told from the live state what it missed, and from the store what the live state no longer holds."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import orjson
import pytest

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from store.server.documents import ARBITRAGES, arbitrage_document
from tests.ui.samples import NOWHERE, arbitrage, session_of
from ui.live.snapshot import Sources
from ui.live.state import KEPT_ARBITRAGES, LiveState
from ui.stream.broadcaster import Broadcaster
from ui.stream.live_clients import LiveMessage
from ui.stream.live_messages import SHOWN_ARBITRAGES
from ui.stream.missed_trades import ANSWER_SECONDS, MAX_MISSED, SLACK_MICROSECONDS, reaches_back

MINUTE = 60 * MICROSECONDS
LONG_SECONDS = 60.0
"""Longer than any machine takes to read what was missed."""


def traded_at(identity: str, reserved: int) -> Arbitrage:
    return replace(arbitrage(identity, "closed"), times={"event": reserved, "reserved": reserved})


class Listening:
    """An audience over a live state that a test fills itself, and a store."""

    def __init__(self, session: Session, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.live_state = LiveState(session, session.clock())
        self.live_state.sources = Sources(mongodb=True)
        self.client = connect(session.services.mongodb, selection_ms=round(answer_seconds * 100))
        self.reader = TradeReader(self.client, session.services.database, session.session_id)
        self.broadcaster = Broadcaster(session, self.live_state, self.reader, answer_seconds)

    def show(self, *arbitrages: Arbitrage) -> None:
        for each in arbitrages:
            self.live_state.apply_arbitrage(each)

    async def first(self, heard: int | None) -> dict[str, object]:
        """Return what one who comes back gets first."""
        async with self.broadcaster.client(heard) as client:
            return reported(await anext(self.broadcaster.messages(client)))


def reported(message: LiveMessage) -> dict[str, object]:
    document: dict[str, object] = orjson.loads(message.text)
    assert (document["type"], document["sequence"]) == (message.kind, message.sequence)
    return document


def trades_of(snapshot: dict[str, object]) -> list[str]:
    rows = snapshot["arbitrages"]
    assert isinstance(rows, list)
    return [row["arbitrage_id"] for row in rows]


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    """Its store does not answer."""
    made = Listening(session_of(tmp_path, f"mongodb://{NOWHERE}"))
    yield made
    await made.reader.close()


async def test_a_message_is_encoded_once_and_numbered_for_everybody(listening: Listening) -> None:
    audience = listening.broadcaster
    async with audience.client() as one, audience.client() as other:
        one.begin()
        other.begin()
        audience.publish("trade", '{"type":"trade"}')
        audience.publish("trade", '{"type":"trade"}')
        heard = [client.take() for client in (one, other)]
        assert heard[0] is heard[1]
        assert one.take().sequence > heard[0].sequence
    assert len(audience) == 0


async def test_a_page_that_is_open_is_counted_and_a_program_is_not(listening: Listening) -> None:
    """The session's own meter listens all the time."""
    audience = listening.broadcaster
    async with audience.client(), audience.client(is_page=True):
        assert (len(audience), audience.pages) == (2, 1)
    assert audience.pages == 0


async def test_a_snapshot_is_made_once_for_all_who_come_until_something_is_reported(listening: Listening) -> None:
    first, second = (listening.broadcaster.snapshot_message() for _ in range(2))
    assert first is second
    listening.broadcaster.publish("trade", '{"type":"trade"}')
    assert listening.broadcaster.snapshot_message().sequence > first.sequence


async def test_a_new_client_gets_the_newest_trades_and_no_more(listening: Listening) -> None:
    now = wall_now()
    listening.show(*(traded_at(f"trade-{n}", now) for n in range(SHOWN_ARBITRAGES + 50)))
    assert len(trades_of(await listening.first(None))) == SHOWN_ARBITRAGES


@pytest.mark.parametrize(("ago", "shown"), [(1, 150), (10, 150), (0, SHOWN_ARBITRAGES)])
async def test_one_that_comes_back_gets_all_since_it_left(listening: Listening, ago: int, shown: int) -> None:
    now = wall_now()
    listening.show(*(traded_at(f"trade-{n}", now - (150 - n)) for n in range(150)))
    snapshot = await listening.first(now - ago * MINUTE if ago else now + SLACK_MICROSECONDS)
    assert (len(trades_of(snapshot)), snapshot["is_complete"]) == (shown, True)


async def test_without_the_store_a_long_gap_is_reported_and_tried_again(listening: Listening) -> None:
    now = wall_now()
    listening.show(*(traded_at(f"trade-{n}", now) for n in range(KEPT_ARBITRAGES)))
    async with listening.broadcaster.client(now) as client:
        messages = listening.broadcaster.messages(client)
        assert reported(await anext(messages))["is_complete"] is False
        assert (client.since, client.is_owed) == (now, True)
        listening.live_state = listening.broadcaster._state = LiveState(
            session_of(Path("unused")), listening.live_state._clock
        )
        listening.live_state.sources = Sources(mongodb=True)
        listening.broadcaster.resynchronise(only_owed=True)
        assert reported(await anext(messages))["is_complete"] is True
        assert client.since != now


async def test_before_the_store_was_read_nothing_is_promised(listening: Listening) -> None:
    listening.live_state.sources = Sources()
    assert (await listening.first(wall_now()))["is_complete"] is False


@pytest.mark.parametrize(
    ("kept", "age", "reaches"),
    [(9, 0, True), (10, 0, False), (10, SLACK_MICROSECONDS, False), (10, SLACK_MICROSECONDS + 1, True)],
)
def test_how_far_the_state_reaches_back(kept: int, age: int, reaches: bool) -> None:
    heard = wall_now()
    trades = [traded_at(f"trade-{n}", heard - age) for n in range(kept)]
    assert reaches_back(trades, 10, heard) is reaches


@pytest.mark.parametrize(
    ("stored", "since", "missed"), [(1_100, 1_100, 1_100), (1_100, 700, 700), (MAX_MISSED + 600, None, None)]
)
async def test_what_the_state_keeps_no_more_is_read_from_the_store(
    session: Session, store: MongoTradeStore, stored: int, since: int | None, missed: int | None
) -> None:
    """One trade a minute; `since` says how many of them came after the client left."""
    newest = wall_now()
    ages = zip(count(), range(stored), strict=False)
    rows = [traded_at(f"trade-{n}", newest - n * MINUTE) for n, _ in ages]
    listening = Listening(session, LONG_SECONDS)
    await listening.client[session.services.database][ARBITRAGES].insert_many(
        arbitrage_document(row) | {"session_id": session.session_id, "revision": 1, "at": row.times["reserved"]}
        for row in rows
    )
    listening.show(*reversed(rows[:KEPT_ARBITRAGES]))
    heard = newest - (since or stored) * MINUTE + SLACK_MICROSECONDS + MINUTE // 2
    snapshot = await listening.first(heard)
    await listening.reader.close()
    if missed is None:
        assert snapshot["is_complete"] is False
        assert trades_of(snapshot)[:MAX_MISSED] == [row.arbitrage_id for row in rows[:MAX_MISSED]]
    else:
        assert snapshot["is_complete"] is True
        assert trades_of(snapshot) == [row.arbitrage_id for row in rows[:missed]]
