"""MirrorMaker between two Kafkas on machines of their own: each takes TLS and a login alone, and has an authority of
its own."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from launch.setup.jars import mirror_classpath
from launch.setup.prerequisites import checked_java
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now, wall_now
from runtime.logins import Address, Login
from streams.broker.kafka_users import TopicUser, ensure_users
from streams.broker.mirror_maker import MirrorMaker, RegionKafka, mirror_users
from streams.errors import StreamError
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES, QUOTES, REGION_TOPICS, REJECTS, TICKS
from tests.secured_services import SecuredKafka, secured_kafka
from tests.service_process import ServiceProcess
from tests.streams.test_mirror_maker import MIRROR_SECONDS, by_partition, whole
from tests.streams.test_tick_writer import BASES, PARTITIONS, quote
from tests.streams.test_topic_access import read, written

ROWS = 500
READER, WRITER, FEED = (
    Login(name, name[0] * 20, "SCRAM-SHA-512", "SASL_SSL") for name in ("mirror-reader", "mirror", "feed")
)
"""As on several machines, with the longer hash."""
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Regions:
    us: SecuredKafka
    eu: SecuredKafka


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regions]:
    try:
        mirror_classpath(home_folder())
    except CannotStartError as reason:
        pytest.skip(str(reason))
    with secured_kafka(tmp_path_factory.mktemp("us")) as us, secured_kafka(tmp_path_factory.mktemp("eu")) as eu:
        yield Regions(us, eu)


async def prepare(kafka: SecuredKafka) -> None:
    await ensure_topics(kafka.configured(), PARTITIONS, REGION_TOPICS)
    feed = TopicUser(FEED, (), (TICKS, REJECTS, QUOTES))
    await ensure_users(kafka.configured(), (feed, *mirror_users(READER, WRITER)))


@asynccontextmanager
async def mirroring(
    home: Path, regions: Regions, reader: Address, name: str = "us"
) -> AsyncIterator[tuple[MirrorMaker, Path]]:
    """MirrorMaker of eu, which reads us so, and the file of what it says; started, not ready. It keeps how it reads a
    region of that name in the Kafka of eu, and begins with that."""
    writer = regions.eu.configured(login=WRITER)
    flow = RegionKafka("eu", writer), (RegionKafka(name, reader),)
    mirror = MirrorMaker(home, mirror_classpath(home_folder()), *flow, checked_java())
    mirror.prepare()
    process = ServiceProcess(mirror.command(), writer, mirror.folder / "mirrormaker.out")
    process.start()
    try:
        yield mirror, process.log_path
    finally:
        process.stop()


@pytest.mark.soak
async def test_quotes_are_copied_by_logins_of_least_rights(regions: Regions, tmp_path: Path) -> None:
    elsewhere, at_home = regions.us.configured(login=READER), regions.eu.configured(login=WRITER)
    for kafka in (regions.us, regions.eu):
        await prepare(kafka)
    await assert_least_rights(elsewhere, at_home)
    started = wall_now()
    async with mirroring(tmp_path, regions, elsewhere) as (mirror, said):
        await mirror.wait_ready(started, MIRROR_SECONDS)
        async with TopicReader(regions.eu.configured(), (TICKS,), "latest") as reader:
            await feed_rows(regions.us.configured(login=FEED))
            rows = reader.records()
            copied = [await anext(rows) for _ in range(ROWS)]
    assert by_partition(copied) == by_partition(await whole(regions.us.configured(), QUOTES))
    assert "ERROR" not in text_of(said)


WRONG_WAYS = [
    # a wrong password, plain text, a server of another authority
    ("password", "Authentication failed during authentication due to invalid credentials"),
    # a client without TLS takes the answer for a very long one, and gives up
    ("plain", "AdminClient thread has exited|disconnected"),
    ("authority", "SSL handshake failed"),
]


@pytest.mark.soak
@pytest.mark.parametrize(("way", "reason"), WRONG_WAYS, ids=[way for way, _ in WRONG_WAYS])
async def test_nothing_is_copied_by_whoever_is_not_let_in(
    regions: Regions, tmp_path: Path, way: str, reason: str
) -> None:
    for kafka in (regions.us, regions.eu):
        await prepare(kafka)
    await feed_rows(regions.us.configured(login=FEED))
    before = by_partition(await whole(regions.eu.configured(), TICKS))
    wrong = {
        "password": regions.us.configured(login=replace(READER, password="guessed")),
        "plain": Address(regions.us.place("CLIENT"), replace(READER, protocol="SASL_PLAINTEXT")),
        "authority": regions.us.configured(ca=regions.eu.files.ca, login=READER),
    }
    started = wall_now()
    async with mirroring(tmp_path, regions, wrong[way], way) as (mirror, said):
        await until_said(said, reason)
        with pytest.raises(StreamError, match=f"nothing is mirrored from {way}"):
            await mirror.wait_ready(started, 0)
    assert by_partition(await whole(regions.eu.configured(), TICKS)) == before


async def assert_least_rights(elsewhere: Address, at_home: Address) -> None:
    """Check the rights of the login that reads another region, and of the one that writes at home."""
    for address, topic in ((elsewhere, QUOTES), (elsewhere, TICKS), (at_home, QUOTES), (at_home, OPPORTUNITIES)):
        with pytest.raises(StreamError):
            await written(address, topic)
    for address, topic in ((elsewhere, TICKS), (at_home, OPPORTUNITIES)):
        with pytest.raises(StreamError):
            await read(address, topic)


async def feed_rows(address: Address) -> None:
    """So many of its quotes as a feed offers them to other regions."""
    writer = TopicWriter(address)
    feed = TickWriter(writer, BASES, PARTITIONS, (QUOTES,))
    for number in range(1, ROWS + 1):
        feed.quote(quote("quote", "kraken", f"{BASES[number % len(BASES)]}/USD", number))
    await writer.flush()
    await writer.close()


async def until_said(file: Path, reason: str) -> None:
    deadline = steady_now() + int(MIRROR_SECONDS * MICROSECONDS)
    while not re.search(reason, said := text_of(file)):
        assert steady_now() < deadline, said[-2_000:]
        await SystemClock().sleep(POLL_SECONDS)


def text_of(file: Path) -> str:
    return file.read_text()
