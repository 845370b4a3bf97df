"""Two regions, each with a Kafka and a MirrorMaker, and an app that shares a stream and tables: a mirror is killed,
which is a cut, and started again. Only Spark and sessions are missing: the apps run here."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.hosts.app_messages import app_message
from launch.apps.row_copier import RowCopier
from launch.apps.row_sharer import row_sharer
from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from launch.setup.jars import mirror_classpath
from launch.setup.prerequisites import checked_java
from runtime.clock import SystemClock, wall_now
from runtime.logins import Address
from session.session import Placement
from streams.broker.embedded_broker import free_ports
from streams.broker.mirror_maker import MirrorMaker, RegionKafka
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, SHARED_IN
from tests.cep.apps.hosts.shared_world import SharingRegion
from tests.cep.logs import session as session_of
from tests.service_process import ServiceProcess
from tests.streams.test_mirror_maker import MIRROR_SECONDS, READER, WRITER, region_kafka
from tests.streams.test_tick_writer import PARTITIONS

TIMEOUT_SECONDS = 300.0
LOOK_SECONDS = 0.05
REGIONS = ("us", "eu", "jp")


class RunningRegion:
    """A running region. `address`: at which the other region's mirror reads it."""

    def __init__(self, name: str, kafka: ServiceProcess, address: str, home: Path) -> None:
        self.app, self.kafka, self.address, self.home = SharingRegion(name), kafka, address, home
        self._writer = TopicWriter(kafka.address)
        self._written = 0

    def sharer(self) -> RowCopier:
        session = replace(session_of(self.home, self.kafka.address, "s"), place=Placement(self.app.name, REGIONS))
        first = {(APPS, partition): 0 for partition in range(PARTITIONS)}
        found = row_sharer(session, self.app.source, first, self.home)
        assert found is not None
        return found

    async def quote(self, who: str, bid: float) -> None:
        self.app.quote(who, bid)
        await self._write()

    async def listen(self) -> None:
        async with TopicReader(self.kafka.address, (SHARED_IN,), "earliest") as reader:
            async for record in reader.records():
                self.app.receive(record.value)
                await self._write()

    async def _write(self) -> None:
        for row in self.app.rows[self._written :]:
            self._writer.write(APPS, app_message(row), self.app.source.label, 0)
        self._written = len(self.app.rows)
        await self._writer.flush()

    async def close(self) -> None:
        await self._writer.close(TIMEOUT_SECONDS)


def mirror_into(target: RunningRegion, source: RunningRegion) -> tuple[MirrorMaker, ServiceProcess]:
    try:
        classpath, java = mirror_classpath(home_folder()), checked_java()
    except CannotStartError as reason:
        pytest.skip(str(reason))
    mirror = MirrorMaker(
        target.home,
        classpath,
        RegionKafka(target.app.name, Address(str(target.kafka.address), WRITER)),
        (RegionKafka(source.app.name, Address(source.address, READER)),),
        java,
    )
    mirror.prepare()
    return mirror, ServiceProcess(mirror.command(), target.kafka.address, mirror.folder / "mirrormaker.out")


async def until(done: Callable[[], bool]) -> None:
    while not done():
        await SystemClock().sleep(LOOK_SECONDS)


async def copying(mirror: MirrorMaker, process: ServiceProcess) -> None:
    started = wall_now()
    process.start()
    await mirror.wait_ready(started, MIRROR_SECONDS)


async def opened_regions(stack: AsyncExitStack, folder: Path) -> tuple[RunningRegion, RunningRegion]:
    found = []
    for name, host in (("us", "127.0.0.2"), ("eu", "127.0.0.3")):
        home, address = folder / name, f"{host}:{free_ports(1)[0]}"
        home.mkdir()
        kafka = await stack.enter_async_context(region_kafka(home, address))
        found.append(RunningRegion(name, kafka, address, home))
        stack.push_async_callback(found[-1].close)
    return found[0], found[1]


def beside(stack: AsyncExitStack, part: Awaitable[None]) -> None:
    work = asyncio.ensure_future(part)

    async def ended() -> None:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    stack.push_async_callback(ended)


@pytest.mark.soak
async def test_regions_have_the_same_after_a_cut(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), AsyncExitStack() as stack:
        us, eu = await opened_regions(stack, tmp_path)
        (to_us, us_mirror), (to_eu, eu_mirror) = mirror_into(us, eu), mirror_into(eu, us)
        stack.callback(us_mirror.stop)
        stack.callback(eu_mirror.stop)
        await asyncio.gather(copying(to_us, us_mirror), copying(to_eu, eu_mirror))
        for one in (us, eu):
            beside(stack, one.sharer().follow())
            beside(stack, one.listen())
        for number in range(50):
            await us.quote("ab"[number % 2], float(number % 8))
            await eu.quote("ac"[number % 2], float(number % 7))
        await until(lambda: us.app.heard().total() == eu.app.heard().total() == 100)
        assert us.app.shown("Last") == eu.app.shown("Last")
        eu_mirror.kill()
        for number in range(50):
            await us.quote("ab"[number % 2], float(number % 10))
            await eu.quote("ac"[number % 2], float(number % 9))
        await until(lambda: us.app.heard().total() == 200)
        # cut off, it went on with its own
        assert eu.app.heard().total() == 150
        assert us.app.shown("Seen") != eu.app.shown("Seen")
        await copying(to_eu, eu_mirror)
        await until(lambda: eu.app.heard().total() == 200)
        for table in ("Last", "Seen"):
            assert us.app.shown(table) == eu.app.shown(table)
        assert us.app.heard() == eu.app.heard()
        assert us.app.shown("Own") != eu.app.shown("Own")
