"""Apps that come to a process while others run there: each gets all rows of its log, and the others go on meanwhile."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker import AppWorker
from cep.apps.resident.worker_progress import progress_notes
from runtime.clock import SystemClock
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import APPS, OPPORTUNITIES, TICKS
from tests.cep.logs import write_ticks
from tests.launch.published.kill_storm import begin_of_log, quotes

TIMEOUT_SECONDS = 120.0
BEFORE, MEANWHILE = 900, 100
FIRST, SECOND, OTHER = 1, 2, 3
TEXT = "@App:name('{}') from quotes select exchange, sequence, {} as n insert into Out;"


async def ends(kafka: str, *topics: str) -> dict[tuple[str, int], int]:
    async with TopicReader(kafka, topics, "latest") as reader:
        return await reader.end_offsets()


async def offsets_given(kafka: str, source: AppSource, begin: int) -> list[int]:
    """Return the rows of the log for which the app gave one, in the topic's order."""
    async with TopicReader(kafka, (APPS,), {(APPS, 0): begin}) as reader:
        return [
            int(row_of(one.value)["id"].split(":")[2])
            async for one in reader.records_to_end()
            if one.key == source.label
        ]


def placed(folder: Path, source: AppSource, first: Iterable[tuple[tuple[str, int], int]]) -> PlacedApp:
    return PlacedApp(source, folder / source.label, dict(first))


async def test_an_app_that_comes_catches_up_and_nobody_reads_again_for_it(kafka_address: str, tmp_path: Path) -> None:
    await ensure_topics(kafka_address, 1)
    begin = await ends(kafka_address, TICKS, OPPORTUNITIES, APPS)
    log = {(TICKS, 0): begin[TICKS, 0]}
    one, two = (app_source(TEXT.format(name, number), name) for name, number in (("one", 1), ("two", 2)))
    other = app_source("from opportunities select opportunity_id insert into Out;", "other")
    rows, end = quotes(BEFORE + MEANWHILE, begin_of_log()), begin[TICKS, 0] + BEFORE + MEANWHILE

    async def beside(worker: AppWorker) -> None:
        await write_ticks(kafka_address, rows[:BEFORE])
        await taken(worker, begin[TICKS, 0] + BEFORE, FIRST)
        read = await worker.ends()
        worker.begin(SECOND, placed(tmp_path, two, log.items()))
        worker.begin(OTHER, placed(tmp_path, other, [((OPPORTUNITIES, 0), begin[OPPORTUNITIES, 0])]))
        await write_ticks(kafka_address, rows[BEFORE:])
        await taken(worker, end, FIRST, SECOND)
        assert list(read) == [(TICKS, 0)]
        while set(await worker.ends()) != {(TICKS, 0), (OPPORTUNITIES, 0)}:
            await SystemClock().sleep(0.005)
        assert await worker.leave(SECOND) == end
        assert await worker.leave(OTHER) == begin[OPPORTUNITIES, 0]

    with progress_notes(tmp_path / "notes", 0) as notes:
        worker = AppWorker(kafka_address, 0, notes, {FIRST: placed(tmp_path, one, log.items())})
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await worker.stay(beside)
    for source in (one, two):
        found = await offsets_given(kafka_address, source, begin[APPS, 0])
        assert found == list(range(begin[TICKS, 0], end))


async def taken(worker: AppWorker, end: int, *places: int) -> None:
    """Wait until these apps have taken all rows before the end."""
    while any(worker.kernels[place].next < end for place in places):
        await SystemClock().sleep(0.005)
