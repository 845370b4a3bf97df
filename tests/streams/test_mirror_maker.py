"""MirrorMaker: its configuration, and itself between two Kafkas."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from launch.setup.jars import mirror_classpath
from launch.setup.prerequisites import checked_java
from runtime.clock import wall_now
from runtime.logins import Address, Login
from streams.broker.embedded_broker import free_ports, wait_ready
from streams.broker.kafka_users import TopicUser, ensure_users
from streams.broker.mirror_maker import (
    COPIES,
    TASK,
    MirrorMaker,
    RegionKafka,
    is_mirroring,
    mirror_properties,
    mirror_users,
    status_topic,
)
from streams.errors import StreamError
from streams.message_format import row_of
from streams.mirrored_rows import UnrepeatedRows
from streams.records import Record
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES, QUOTES, REGION_TOPICS, TICKS
from tests.service_process import ServiceProcess
from tests.services import START_SECONDS, kafka_process
from tests.streams.test_tick_writer import BASES, PARTITIONS, quote
from tests.streams.test_topic_access import read, written

READER, WRITER = Login("mirror-reader", "r" * 20), Login("mirror", "w" * 20)
US, EU, JP = (
    RegionKafka(region, Address(f"{region}.example:9092", login))
    for region, login in (("us", READER), ("eu", READER), ("jp", WRITER))
)
MIRROR_SECONDS = 120.0


def properties(target: RegionKafka, *sources: RegionKafka) -> dict[str, str]:
    return dict(line.split("=", 1) for line in mirror_properties(target, sources).splitlines())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clusters", "jp, us, eu"),
        ("us->jp.enabled", "true"),
        ("us->jp.topics", "quotes,shared"),
        ("eu->jp.transforms", "quotes,shared"),
        ("eu->jp.transforms.quotes.type", "org.apache.kafka.connect.transforms.RegexRouter"),
        ("eu->jp.transforms.quotes.regex", "quotes"),
        ("eu->jp.transforms.quotes.replacement", "ticks"),
        ("eu->jp.transforms.shared.regex", "shared"),
        ("eu->jp.transforms.shared.replacement", "shared-in"),
        ("replication.policy.class", "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"),
        ("emit.heartbeats.enabled", "false"),
        ("emit.checkpoints.enabled", "false"),
        ("emit.offset-syncs.enabled", "false"),
        ("replication.factor", "1"),
        ("offset.storage.partitions", "1"),
        ("us.bootstrap.servers", "us.example:9092"),
        ("us.sasl.mechanism", "SCRAM-SHA-256"),
        ("us.consumer.auto.offset.reset", "earliest"),
        ("jp.producer.enable.idempotence", "true"),
        ("jp.offset.flush.interval.ms", "1000"),
    ],
)
def test_the_flows_into_a_region_are_configured(name: str, value: str) -> None:
    assert properties(JP, US, EU)[name] == value


def test_nothing_flows_but_into_the_target_and_each_login_goes_to_its_own_kafka() -> None:
    configured = properties(JP, US, EU)
    assert {name.split(".")[0] for name in configured if "->" in name} == {"us->jp", "eu->jp"}
    assert {name: READER.password in text for name, text in configured.items() if name.endswith("jaas.config")} == {
        "us.sasl.jaas.config": True,
        "eu.sasl.jaas.config": True,
        "jp.sasl.jaas.config": False,
    }


def test_the_file_with_the_logins_is_for_its_owner_alone(tmp_path: Path) -> None:
    mirror = MirrorMaker(tmp_path, "all.jar", JP, (US, EU))
    mirror.prepare()
    files = {path.name: path for path in mirror.folder.iterdir()}
    with_login = [name for name, path in files.items() if WRITER.password in path.read_text()]
    assert with_login == ["mirrormaker.properties"]
    assert files["mirrormaker.properties"].stat().st_mode & 0o777 == 0o600
    assert not any(WRITER.password in word or READER.password in word for word in mirror.command())
    assert mirror.command()[-2:] == ("--clusters", "jp")


def test_a_mirror_reads_elsewhere_and_writes_at_home_alone() -> None:
    assert mirror_users(READER, WRITER) == (
        TopicUser(READER, reads=("quotes", "shared"), writes=()),
        TopicUser(WRITER, reads=("quotes", "shared"), writes=("ticks", "shared-in"), prefix="mm2-"),
    )
    assert status_topic("us").startswith("mm2-")


async def test_a_mirror_has_no_right_beyond_what_it_copies(broker: ServiceProcess) -> None:
    await ensure_topics(broker.address, PARTITIONS, REGION_TOPICS)
    await ensure_users(broker.address, mirror_users(READER, WRITER))
    elsewhere, at_home = Address(broker.address, READER), Address(broker.address, WRITER)
    for topic, copy in COPIES.items():
        await read(elsewhere, topic)
        await written(at_home, copy)
    own = [(elsewhere, topic) for topic in (*COPIES, *COPIES.values())]
    for address, topic in (*own, *((at_home, topic) for topic in COPIES), (at_home, OPPORTUNITIES)):
        with pytest.raises(StreamError):
            await written(address, topic)
    for address, topic in (*((elsewhere, copy) for copy in COPIES.values()), (at_home, OPPORTUNITIES)):
        with pytest.raises(StreamError):
            await read(address, topic)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], False),
        ([(TASK, "RUNNING", 10)], True),
        ([(TASK, "RUNNING", 9)], False),
        ([(TASK, "RUNNING", 11), (TASK, "FAILED", 12)], False),
        ([(TASK, "FAILED", 11), (TASK, "RUNNING", 12)], True),
        ([("status-connector-MirrorSourceConnector", "RUNNING", 12)], False),
    ],
)
def test_it_is_ready_once_this_process_copies_rows(statuses: list[tuple[str, str, int]], expected: bool) -> None:
    records = [
        Record("mm2-status.us.internal", 0, offset, key, f'{{"state":"{state}"}}'.encode(), time)
        for offset, (key, state, time) in enumerate(statuses)
    ]
    assert is_mirroring(records, since=10) is expected


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    for region in ("us", "eu"):
        (tmp_path / region).mkdir()
    return tmp_path / "us", tmp_path / "eu"


@asynccontextmanager
async def region_kafka(home: Path, region_address: str | None = None) -> AsyncIterator[ServiceProcess]:
    with kafka_process(home, region_address) as kafka:
        await wait_ready(kafka.address, START_SECONDS)
        await ensure_topics(kafka.address, PARTITIONS, REGION_TOPICS)
        await ensure_users(kafka.address, mirror_users(READER, WRITER))
        yield kafka


async def whole(address: str, topic: str) -> list[Record]:
    async with TopicReader(address, (topic,), "earliest") as reader:
        return [record async for record in reader.records_to_end()]


def by_partition(records: list[Record]) -> dict[int, list[bytes]]:
    return {part: [each.value for each in records if each.partition == part] for part in range(PARTITIONS)}


class Arrivals:
    """The rows of the target's `ticks` that count, in their order."""

    def __init__(self, reader: TopicReader) -> None:
        self._records, self._unrepeated = reader.records(), UnrepeatedRows()
        self.counted: list[Record] = []

    async def until(self, number: int) -> None:
        while len(self.counted) < number:
            record = await anext(self._records)
            row: dict[str, Any] = row_of(record.value)
            if self._unrepeated.is_new(record.partition, row):
                self.counted.append(record)


@pytest.mark.soak
async def test_rows_of_another_region_arrive_in_order_once_over_a_kill(homes: tuple[Path, Path]) -> None:
    try:
        classpath, java = mirror_classpath(home_folder()), checked_java()
    except CannotStartError as reason:
        pytest.skip(str(reason))
    sequences, reached_at = count(1), f"127.0.0.2:{free_ports(1)[0]}"
    async with region_kafka(homes[0], reached_at) as us, region_kafka(homes[1]) as eu:
        target, source = (
            RegionKafka("eu", Address(str(eu.address), WRITER)),
            RegionKafka("us", Address(reached_at, READER)),
        )
        mirror = MirrorMaker(homes[1], classpath, target, (source,), java)
        mirror.prepare()
        process = ServiceProcess(mirror.command(), eu.address, mirror.folder / "mirrormaker.out")
        writer = TopicWriter(us.address)
        feed = TickWriter(writer, BASES, PARTITIONS, (QUOTES,))

        def feed_rows(rows: int) -> None:
            for sequence in (next(sequences) for _ in range(rows)):
                feed.quote(quote("quote", "kraken", f"{BASES[sequence % len(BASES)]}/USD", sequence))

        try:
            async with TopicReader(eu.address, (TICKS,), "latest") as reader:
                arrivals = Arrivals(reader)
                started = wall_now()
                process.start()
                await mirror.wait_ready(started, MIRROR_SECONDS)
                feed_rows(1_000)
                await arrivals.until(200)
                process.kill()
                feed_rows(1_000)
                restarted = wall_now()
                process.start()
                await mirror.wait_ready(restarted, MIRROR_SECONDS)
                await writer.flush()
                await arrivals.until(2_000)
        finally:
            await writer.close()
            process.stop()
        offered = by_partition(await whole(us.address, QUOTES))
        assert sum(map(len, offered.values())) == 2_000
        assert by_partition(arrivals.counted) == offered == by_partition(await whole(us.address, TICKS))
        # what no region offers comes back to none
        assert await whole(eu.address, QUOTES) == []
        assert {record.value for record in await whole(eu.address, TICKS)} == {
            row for rows in offered.values() for row in rows
        }
        assert "ERROR" not in (mirror.folder / "mirrormaker.out").read_text()
