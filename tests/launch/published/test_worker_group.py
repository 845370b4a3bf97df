"""Groups of processes go on whatever fails, whoever follows rows hears of the end of a process, and an app that has
ended leaves at once."""

import asyncio
import socket
from pathlib import Path

import orjson
import pytest

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.ended_apps import note_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker_desk import framed
from launch.published.worker_group import WorkerGroup
from launch.published.worker_link import MOST_ROWS_WAITING, WorkerLink
from runtime.clock import SystemClock
from streams.topic_admin import ensure_topics
from streams.topics import TICKS
from tests.launch.published.published_world import CONTEXT


async def test_a_group_goes_on_once_what_failed_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = asyncio.Queue[tuple[int, str]]()
    group = WorkerGroup(CONTEXT, "", tmp_path / "group", (), lambda place, why: told.put_nowait((place, why)))
    in_the_way = tmp_path / "app"
    in_the_way.write_text("no folder")
    group.apps[3] = PlacedApp(AppSource("a", "from health select query insert into O;"), in_the_way, {})
    running = asyncio.ensure_future(group.run())
    try:
        async with asyncio.timeout(60):
            while "processes of apps failed" not in caplog.text and not running.done():
                await SystemClock().sleep(0.02)
            in_the_way.unlink()
            note_end(in_the_way, "it has ended")
            assert await told.get() == (3, "it has ended")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_one_who_follows_and_does_not_read_hears_of_the_end_of_the_process() -> None:
    ours, theirs = socket.socketpair()
    link = WorkerLink(CONTEXT.Process(target=str), ours)
    await link.open()
    _, worker = await asyncio.open_connection(sock=theirs)
    serving, rows = asyncio.ensure_future(link.serve()), link.follow(1, "S")
    first = asyncio.ensure_future(anext(rows))
    async with asyncio.timeout(60):
        while not first.done():
            worker.write(framed(orjson.dumps({"number": 1, "is": True})))
            worker.write(framed(orjson.dumps({"number": 1, "row": {"id": "first"}})))
            await SystemClock().sleep(0.02)
        for number in range(MOST_ROWS_WAITING + 1):
            worker.write(framed(orjson.dumps({"number": 1, "row": {"id": str(number)}})))
        await worker.drain()
        worker.close()
        await serving
        assert [row["id"] async for row in rows][-1] == str(MOST_ROWS_WAITING)


@pytest.mark.slow
async def test_an_app_that_has_ended_leaves_while_its_process_is_gone(kafka_address: str, tmp_path: Path) -> None:
    """The watch notes the end of an app, kills its process, and lets it leave: nobody waits for that process, which
    could not be started again while somebody asks it without a pause."""
    await ensure_topics(kafka_address, 1)
    group = WorkerGroup(CONTEXT, kafka_address, tmp_path / "group", (0,), lambda _place, _why: None)
    running = asyncio.ensure_future(group.run())
    try:
        async with asyncio.timeout(60):
            while (process := group.process_of(0)) is None:
                await SystemClock().sleep(0.02)
            for place, name in enumerate(("ends", "stays")):
                source = AppSource(name, "from quotes select base insert into O;")
                await group.begin(place, PlacedApp(source, tmp_path / name, {(TICKS, 0): 0}))
            note_end(tmp_path / "ends", "it has ended")
            process.kill()
            await group.leave(0)
            assert list(group.apps) == [1]
            while not any("1" in found for found in (await group.status()).values()):
                await SystemClock().sleep(0.02)
            assert group.ends.count == 1
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
