"""Whoever writes an app's input log: the order of sources that give their rows as they like, and where it goes on."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from cep.apps.hosts.input_log import InputPlace, SourceRow
from cep.apps.hosts.input_merger import InputSource, merged
from cep.apps.hosts.row_merge import by_time


def rows(topic: str, *times: int) -> list[SourceRow]:
    return [SourceRow(topic, 0, offset, time, ()) for offset, time in enumerate(times)]


class ListedSource:
    """Gives its rows a few at a time; after the first `old` of them it is no longer behind."""

    def __init__(self, topic: str, listed: Sequence[SourceRow], old: int, size: int = 2) -> None:
        self.topic = topic
        self._rows = iter(listed)
        self._old, self._size = old, size
        self.given = 0

    @property
    def is_behind(self) -> bool:
        return self.given < self._old

    async def next(self) -> list[SourceRow]:
        found = list(islice(self._rows, self._size))
        if not found:
            await asyncio.Event().wait()
        self.given += len(found)
        return found

    async def close(self) -> None: ...


async def taken(sources: Sequence[InputSource], count: int, most_waiting: int = 100) -> list[SourceRow]:
    async with asyncio.timeout(30), aclosing(merged(sources, most_waiting)) as found:
        return [await anext(found) for _ in range(count)]


async def test_old_rows_are_in_the_order_of_a_recording() -> None:
    a, b = rows("a", *range(0, 60, 3)), rows("b", *range(1, 60, 7))
    for sizes in ((1, 50), (50, 1), (3, 3)):
        sources = [
            ListedSource("a", a, len(a), sizes[0]),
            ListedSource("b", b, len(b), sizes[1]),
            ListedSource("c", [], 0),
        ]
        assert await taken(sources, len(a) + len(b)) == list(by_time([a, b]))


async def test_of_a_source_that_has_to_wait_only_so_much_is_in_memory() -> None:
    many, none = ListedSource("a", rows("a", *range(1_000)), 1_000, 10), ListedSource("b", [], 1)
    waiting = asyncio.ensure_future(taken([many, none], 1, 30))
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert not waiting.done()
    assert many.given == 30
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=10), min_size=2, max_size=3),
    st.lists(st.integers(0, 25), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_cut_anywhere_no_row_is_lost_or_twice_and_each_topic_keeps_its_order(
    times: list[list[int]], cuts: list[int], size: int
) -> None:
    made = {f"t{number}": rows(f"t{number}", *one) for number, one in enumerate(times)}
    place, log = InputPlace(), list[SourceRow]()
    total = sum(map(len, times))
    for cut in (*sorted(min(cut, total) for cut in cuts), total):
        left = {topic: one[place.next.get(topic, 0) :] for topic, one in made.items()}
        sources = [ListedSource(topic, one, len(one) // 2, size) for topic, one in left.items()]
        for row in asyncio.run(taken(sources, cut - len(log))):
            place = place.after(row)
            log.append(row)
    assert {topic: [row for row in log if row.topic == topic] for topic in made} == made
