"""How quickly a bot's rows are fetched, and what becomes of them."""

import asyncio
from collections.abc import AsyncGenerator

from bots.subscriptions import PACE_SECONDS, PATIENT_SECONDS, ROWS_AT_ONCE, Signal, keep_pace, signals
from market.prices.cycle_opportunities import CycleOpportunity
from streams.cycle_messages import marker_message
from streams.message_format import marker_row, row_of
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES
from tests.streams.test_cycle_messages import message


class NotingReader(TopicReader):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__("", (OPPORTUNITIES,), "latest")
        self.paces: list[float] = []

    async def fetch_within(self, max_wait: float) -> None:
        self.paces.append(max_wait)


async def test_only_who_decides_fetches_at_once() -> None:
    reader, decides = NotingReader(), asyncio.Event()
    pace = asyncio.create_task(keep_pace(reader, decides.is_set))
    await asyncio.sleep(0)
    decides.set()
    await asyncio.sleep(PACE_SECONDS + 0.1)
    pace.cancel()
    assert reader.paces[0] == PATIENT_SECONDS
    assert reader.paces[-1] == 0.0


class FilledReader(NotingReader):
    """Has these rows, and no more."""

    def __init__(self, *values: bytes) -> None:
        super().__init__()
        self.rows = [
            Record(CYCLE_OPPORTUNITIES, 0, number, None, value, 1_000_700) for number, value in enumerate(values)
        ]

    async def batches(self) -> AsyncGenerator[list[Record]]:
        yield self.rows


async def read(reader: TopicReader, *, decides: bool) -> list[Signal]:
    return [signal async for signal in signals(reader, lambda _: decides)]


async def test_cycles_are_read_by_who_decides_and_left_by_all_others() -> None:
    marker = marker_message(row_of(marker_row("probe", "BTC", "x", 0)), 3)
    reader = FilledReader(message(), marker, b"no row", message())
    found = await read(reader, decides=True)
    assert [one.opportunity_id for one in found if isinstance(one, CycleOpportunity)] == ["f00d", "f00d"]
    assert len(found) == 2
    assert await read(reader, decides=False) == []


async def test_a_burst_of_cycles_lets_what_was_decided_go_on() -> None:
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    found = await read(FilledReader(*[message()] * (3 * ROWS_AT_ONCE)), decides=True)
    working.cancel()
    assert (len(found), turns) == (3 * ROWS_AT_ONCE, 4)
    # the levels of a quote that is in many are read once
    levels = {id(one.legs[0].quote.levels) for one in found if isinstance(one, CycleOpportunity)}
    assert len(levels) == 1
