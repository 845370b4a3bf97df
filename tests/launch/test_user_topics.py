"""Topics of the user's own on a real Kafka: read into an app's input log, and written from its rows, through kills.
Only Spark is missing: the app runs here, on the log."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, SourceRow
from cep.apps.hosts.kafka_addresses import SESSION
from cep.apps.hosts.kafka_ends import KafkaSink
from cep.apps.hosts.kafka_source import ForeignTopic, ReadTopic
from cep.apps.language.errors import AppTextError
from launch.apps.row_copier import CopyPlace, FormerRows, GivenRow, RowCopier, given_row
from launch.apps.sink_forwarder import SinkTarget, former_forwarders, place_file, sink_forwarder, sink_key
from launch.apps.user_topics import login_in, user_brokers
from launch.errors import CannotStartError
from launch.sessions.app_input import first_offsets, input_merger
from launch.setup.data_dir import process_lock
from runtime.clock import SystemClock, wall_now
from runtime.logins import Login
from session.session import Session
from streams.errors import StreamUnavailableError
from streams.latest_rows import LatestRows
from streams.message_format import row_of
from streams.records import Position, Record
from streams.topic_admin import client_settings, ensure_app_topic, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.cep.logs import session as session_of

SERVERS = "kafka.example.com:9092"
TEXT = f"""@source(type='kafka', bootstrap.servers='{SERVERS}', topic.list='app-orders', @map(type='json'))
define stream Orders (symbol string, n long);
@sink(type='kafka', bootstrap.servers='{SERVERS}', topic='app-totals', key='{{{{symbol}}}}', @map(type='json'))
define stream Totals (symbol string, n long, total long);
from Orders select symbol, n, sum(n) as total insert into Totals;"""
BROKER = BrokerTerms(SERVERS, SESSION, ("app-orders",), ("app-totals",))
SOURCE = app_source(TEXT, "totals", (), OperatorTerms(brokers=(BROKER,)))
(SINK,) = SOURCE.outside.kafka_sinks
ROWS, BETWEEN_KILLS, KILLS = 3_000, 400, 3
TIMEOUT_SECONDS = 120.0


@pytest.fixture
async def session(kafka_address: str, tmp_path: Path) -> Session:
    await ensure_topics(kafka_address, 1)
    made = session_of(tmp_path, kafka_address)
    return replace(
        made,
        services=replace(made.services, partitions=1),
        started_at=wall_now(),
    )


async def merge(session: Session) -> None:
    merger = await input_merger(session, SOURCE, await user_brokers(session, SOURCE))
    assert merger is not None
    await merger.run()


async def forwarder(session: Session) -> RowCopier:
    first, folder = await first_offsets(session, APPS), session.home / "version"
    folder.mkdir(exist_ok=True)
    return sink_forwarder(session.services.kafka, target_of(session, SINK), first, folder)


def target_of(session: Session, sink: KafkaSink) -> SinkTarget:
    return SinkTarget(SOURCE.name, SOURCE.label, sink, session.services.kafka)


async def forward(session: Session) -> None:
    await (await forwarder(session)).follow()


def run_part(name: str, session: Session) -> None:
    asyncio.run({"merge": merge, "forward": forward}[name](session))


@contextmanager
def running(name: str, session: Session) -> Iterator[None]:
    """Run it; killed at its end."""
    process = get_context("spawn").Process(target=run_part, args=(name, session))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


async def killed_until(name: str, session: Session, topic: str, count: int) -> None:
    """Kill it again and again until the topic has so many rows."""
    rows, there = LatestRows(session.services.kafka, topic), 0
    await rows.open()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        for kill in range(KILLS + 1):
            wanted = count if kill == KILLS else min(count, there + BETWEEN_KILLS)
            with running(name, session):
                while there < wanted:
                    # a busy broker may take longer than a request may
                    with suppress(StreamUnavailableError):
                        there = sum((await rows.ends()).values())
    await rows.close()


def read_all(kafka: str, topic: str) -> list[tuple[str, str, dict[str, object]]]:
    """Return id, key and row of each row of the sink's topic."""
    consumer = Consumer(client_settings(kafka) | {"group.id": "tests"})
    place = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=10)
    consumer.assign([place])
    found: list[tuple[str, str, dict[str, object]]] = []
    while len(found) < end:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None
            headers: dict[str, Any] = dict(message.headers() or [])
            key, value, text = message.key() or b"", message.value() or b"", headers["id"]
            found.append((text.decode(), key.decode(), orjson.loads(value)["event"]))
    consumer.close()
    return found


async def written(session: Session) -> None:
    writer = TopicWriter(session.services.kafka)
    writer.write(TICKS, orjson.dumps({"kind": "probe", "received_time": wall_now()}), partition=0)
    for number in range(ROWS):
        writer.write("app-orders", orjson.dumps({"symbol": "BTC", "n": number}), "BTC")
    writer.write("app-orders", b"no row")
    await writer.close(TIMEOUT_SECONDS)


@pytest.mark.slow
async def test_killed_on_both_sides_no_row_is_lost_and_repeats_have_equal_ids(session: Session) -> None:
    await user_brokers(session, SOURCE)
    merger = await input_merger(session, SOURCE, await user_brokers(session, SOURCE))
    assert merger is not None
    await written(session)
    await killed_until("merge", session, SOURCE.topic, ROWS)
    async with TopicReader(session.services.kafka, (SOURCE.topic,), "earliest") as reader:
        records = [record async for record in reader.records_to_end()]
    log = [row_of(record.value) for record in records]
    assert [row["offset"] for row in log if row["topic"] == f"kafka:{SERVERS}/app-orders/0"] == [*range(ROWS)]
    app = HostedApp(SOURCE, 0)
    given = [row for one in records for row in app.take(one.offset, one.time, row_of(one.value))]
    assert [row.values["n"] for row in given] == [*range(ROWS)]
    writer = TopicWriter(session.services.kafka)
    # what a killed task gives again is left out
    for row in (*given[:1_000], *given[500:]):
        writer.write(APPS, app_message(row), SOURCE.label, 0)
    await writer.close(TIMEOUT_SECONDS)
    await killed_until("forward", session, "app-totals", ROWS)
    await (await forwarder(session)).catch_up()
    found = await asyncio.to_thread(read_all, session.services.kafka, "app-totals")
    assert list(dict.fromkeys(one for one, _, _ in found)) == [row.id for row in given]
    assert {one: (key, values) for one, key, values in found} == {row.id: ("BTC", dict(row.values)) for row in given}
    # as many as a killed one had written beyond its file, and no more
    assert len(found) < ROWS * 2


async def test_what_is_not_allowed_is_refused_before_anything_is_made(session: Session) -> None:
    source = app_source(TEXT, "totals")
    with pytest.raises(AppTextError, match=r"topics of kafka\.example\.com:9092 are not allowed here"):
        await user_brokers(session, source)


async def test_a_topic_that_is_not_there_holds_up_its_sink_alone(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    first = await first_offsets(session, APPS)
    target = target_of(session, replace(SINK, topic="nowhere"))
    sink = sink_forwarder(session.services.kafka, target, first, session.home)
    following = asyncio.ensure_future(sink.follow())
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not sink.warnings.counts:
            await SystemClock().sleep(0.01)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert [vars(one)["reason"] for one in caplog.records if one.message == "sink waits"] == [
        f"topic nowhere does not exist at {session.services.kafka}; create it first."
    ]


async def test_a_topic_that_is_made_later_is_read_and_what_retention_cut_is_counted(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    name, topic = f"kafka:{SERVERS}/app-later", "app-later"
    read = ReadTopic(name, SOURCE.outside.topics[f"kafka:{SERVERS}/app-orders"])
    source = ForeignTopic(
        read, InputPlace({f"{name}/0": 1}), lambda start: TopicReader(session.services.kafka, (topic,), start), 0
    )
    await source.open()
    assert not source.is_behind
    await ensure_app_topic(session.services.kafka, topic, 1)
    writer = TopicWriter(session.services.kafka)
    for number in range(9):
        writer.write(topic, orjson.dumps({"symbol": "BTC", "n": number}))
    await writer.close(TIMEOUT_SECONDS)
    client = AdminClient(client_settings(session.services.kafka))
    cut = client.delete_records([TopicPartition(topic, 0, 6)])
    await asyncio.to_thread(lambda: [one.result(30) for one in cut.values()])
    rows: list[SourceRow] = []
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(rows) < 3:
            rows += await source.next()
    await source.close()
    assert [row.offset for row in rows] == [6, 7, 8]
    assert [vars(one)["reason"] for one in caplog.records if one.name == "cep"] == [
        f"topic {topic} does not exist at {session.services.kafka}; create it first.",
        "Kafka has deleted them before they were read: 5 of partition 0",
    ]


def record_with(**changes: object) -> Record:
    row = {"id": f"{SOURCE.label}:0:7:1", "app": "totals", "stream": "Totals", "time": 5, "values": {"symbol": "BTC"}}
    return Record(APPS, 0, 3, SOURCE.label, orjson.dumps(row | changes), 0)


def test_rows_of_the_sink_are_known_by_app_label_and_stream() -> None:
    whole = row_of(record_with().value)
    row = GivenRow(f"{SOURCE.label}:0:7:1", SINK.stream, 5, (7, 1), {"symbol": "BTC"}, whole)
    assert given_row(record_with(), "totals", SOURCE.label, (SINK.stream,)) == row
    others = (
        record_with(stream="Other"),
        record_with(id="7"),
        record_with(values=3),
        replace(record_with(), value=b"{"),
        # a name that differs in marks alone
        record_with(app="Totals"),
    )
    assert [given_row(one, "totals", SOURCE.label, (SINK.stream,)) for one in others] == [None] * 5
    assert given_row(record_with(), "totals", "another", (SINK.stream,)) is None


@pytest.mark.parametrize(
    ("time", "order", "is_new"),
    [(5, (7, 1), False), (5, (7, 2), True), (5, (8, 0), True), (4, (6, 9), False), (6, (0, 0), True)],
)
def test_rows_that_are_given_again_are_known(time: int, order: tuple[int, int], *, is_new: bool) -> None:
    assert CopyPlace(1, 5, (7, 1)).follows(GivenRow("a", "Totals", time, order, {}, {})) is is_new


@pytest.mark.parametrize(
    ("key", "column", "values", "found"),
    [
        (None, None, {}, "app"),
        ("all", None, {}, "all"),
        (None, "symbol", {"symbol": "BTC"}, "BTC"),
        (None, "symbol", {"symbol": 5}, "5"),
        (None, "symbol", {"symbol": None}, "app"),
        (None, "symbol", {"symbol": ""}, "app"),
    ],
)
def test_a_row_has_the_key_that_the_text_names(
    key: str | None, column: str | None, values: dict[str, object], found: str
) -> None:
    assert sink_key(replace(SINK, key=key, key_column=column), "app", values) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user = 'me'", "needs user and password"),
        ("user = 'me'\npassword = 3", "every value as a text"),
        ("user = 'me'\npassword = 'word'\nmechanism = 'GSSAPI'", "mechanism is one of SCRAM-SHA-256"),
        ("user = 'me'\npassword = 'word'\ntoken = 'word'", "token is none of user, password"),
        ("password = 'word", "is not valid TOML"),
        ("user = 'me'\npassword = 'word'\nca = 'none.pem'", "ca is 'none.pem', which is no file"),
    ],
)
def test_a_login_that_cannot_be_used_is_one_sentence_without_it(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "login.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(CannotStartError, match=problem) as error:
        login_in(path)
    assert "'word" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "plain_text_hosts", "protocol", "stranger"),
    [
        ("10.0.0.7:9092", (), "SASL_PLAINTEXT", "10.0.0.7"),
        ("127.0.0.1:9092,kafka:9092", (), "SASL_PLAINTEXT", "kafka"),
        ("kafka:9092", ("other",), "SASL_PLAINTEXT", "kafka"),
        ("kafka:9092", ("Kafka",), "SASL_PLAINTEXT", None),
        ("127.0.0.1:9092,localhost:9093", (), "SASL_PLAINTEXT", None),
        ("10.0.0.7:9092", (), "SASL_SSL", None),
    ],
)
async def test_a_login_goes_to_another_machine_by_tls_alone(
    tmp_path: Path, address: str, plain_text_hosts: tuple[str, ...], protocol: str, stranger: str | None
) -> None:
    path = tmp_path / "login.toml"
    path.write_text(f"user = 'me'\npassword = 'word'\nprotocol = '{protocol}'")
    path.chmod(0o600)
    far = replace(BROKER, address=address, login_file=path, plain_text_hosts=plain_text_hosts)
    source = app_source(TEXT, "totals", (), OperatorTerms(brokers=(far,)))
    session = session_of(tmp_path, "127.0.0.1:9")
    if stranger is None:
        assert await user_brokers(session, source) == {SERVERS: address}
        return
    with pytest.raises(CannotStartError, match=f"the login would go to {stranger} without TLS"):
        await user_brokers(session, source)


def test_a_login_file_of_nobody_is_one_sentence() -> None:
    with pytest.raises(CannotStartError, match="nobody of that name has a home folder here"):
        login_in(Path("~no-such-user/kafka.toml"))


@pytest.mark.parametrize("stream", ["../../other/Alarms", "..", "a" * 300])
def test_a_sinks_file_is_in_its_apps_folder_alone(tmp_path: Path, stream: str) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / place_file(replace(SINK, stream=stream))).touch()
    assert len([*folder.iterdir()]) == 1
    others = [replace(SINK, stream="a b"), replace(SINK, stream="a-b"), replace(SINK, topic="app-other"), SINK]
    assert len({place_file(one) for one in others}) == len(others)


@dataclass(frozen=True)
class TwoVersions:
    """Versions of an app whose sink writes to `topic`."""

    topic: str
    old: AppSource
    new: AppSource

    def former(self, session: Session, first: Mapping[Position, int]) -> FormerRows:
        """Return what the new one copies of what the old one gave."""
        kafka, label, folder = session.services.kafka, self.old.label, session.home / self.old.label
        return FormerRows(
            session.home, label, lambda: former_forwarders(kafka, self.new, label, {SERVERS: kafka}, first, folder)
        )

    async def begun(self, session: Session, folder: Path | None = None) -> tuple[RowCopier, Mapping[Position, int]]:
        """Return the forwarder of the old version, which has begun in this folder, and where the session does."""
        kafka = session.services.kafka
        await ensure_app_topic(kafka, self.topic, 1)
        first = await first_offsets(session, APPS)
        (sink,) = self.old.outside.kafka_sinks
        target = SinkTarget(self.old.name, self.old.label, sink, kafka)
        own = sink_forwarder(kafka, target, first, (folder or session.home) / self.old.label)
        await own.catch_up()
        return own, first


def two_versions(name: str) -> TwoVersions:
    # a name and a topic of its own: other tests write to the same Kafka at the same time
    text, topic = TEXT.replace("app-totals", f"app-{name}"), f"app-{name}"
    terms = OperatorTerms(brokers=(replace(BROKER, writes=(topic,)),))
    return TwoVersions(topic, *(app_source(one, name, (), terms) for one in (text, text.replace("sum(n)", "max(n)"))))


async def give(session: Session, *rows: tuple[AppSource, str, int]) -> None:
    """Write rows of apps: version, name and number of each."""
    writer = TopicWriter(session.services.kafka)
    for source, app, n in rows:
        row = AppRow(f"{source.label}:0:{n}:0", app, "Totals", 1_000 + n, {"symbol": "BTC", "n": n, "total": n})
        writer.write(APPS, app_message(row), source.label, 0)
    await writer.close(TIMEOUT_SECONDS)


async def test_what_a_killed_version_gave_is_written_by_the_next_one(session: Session) -> None:
    versions = two_versions("former")
    # begins, and is killed
    _, first = await versions.begun(session)
    await give(session, (versions.old, "former", 1), (versions.new, "former", 2), (versions.old, "Former", 3))
    for _ in range(2):
        await versions.former(session, first).follow_to_end()
    assert [name for name, _, _ in read_all(session.services.kafka, versions.topic)] == [f"{versions.old.label}:0:1:0"]
    # SOURCE writes to another topic
    label = versions.old.label
    assert [*former_forwarders("unused", SOURCE, label, {SERVERS: "unused"}, first, session.home / label)] == []


async def test_of_a_version_that_has_no_rows_to_copy_nothing_is(tmp_path: Path) -> None:
    await FormerRows(tmp_path, "former-1", list).follow_to_end()


async def test_what_a_version_gives_that_still_runs_is_written_by_itself_alone(session: Session) -> None:
    versions = two_versions("beside")
    own, first = await versions.begun(session)
    with process_lock(session.home, f"app-{versions.old.label}"):
        copied = asyncio.ensure_future(versions.former(session, first).follow_to_end())
        await give(session, (versions.old, "beside", 1))
        await own.catch_up()
        # given before it is killed
        await give(session, (versions.old, "beside", 2))
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await copied
    found = [name for name, _, _ in read_all(session.services.kafka, versions.topic)]
    assert found == [f"{versions.old.label}:0:{n}:0" for n in (1, 2)]


def test_a_login_is_read_from_a_file_of_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "login.toml"
    path.write_text("user = 'me'\npassword = 'word'\nca = 'ca.pem'")
    path.chmod(0o600)
    (tmp_path / "ca.pem").touch()
    assert login_in(path) == Login("me", "word", "SCRAM-SHA-512", "SASL_SSL", str(tmp_path / "ca.pem"))
    path.chmod(0o644)
    with pytest.raises(CannotStartError, match="must be yours alone"):
        login_in(path)
