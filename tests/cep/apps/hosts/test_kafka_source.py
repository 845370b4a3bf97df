"""A topic of the user's own as a source of an input log: which rows come, where it goes on, and what is told."""

import asyncio
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message, place_in
from cep.apps.hosts.kafka_source import ForeignTopic, ReadTopic
from runtime.clock import SystemClock, wall_now
from streams.errors import StreamUnavailableError
from streams.message_format import row_of
from streams.topics import partition_of
from tests.cep.apps.hosts.listed_topic import ListedTopic

TEXT = """@source(type='kafka', bootstrap.servers='k:1', topic.list='orders', @map(type='json'))
define stream Orders (symbol string, n long);
from Orders select symbol, sum(n) as total insert into Totals;"""
SOURCE = app_source(TEXT, "a")
NAME = "kafka:k:1/orders"
READ = ReadTopic(NAME, SOURCE.outside.topics[NAME])
IMPATIENT = (0.0, 0.0)


def order(symbol: object, n: object) -> bytes:
    return orjson.dumps({"symbol": symbol, "n": n})


def opened(topic: ListedTopic, place: InputPlace | None = None, read: ReadTopic = READ) -> ForeignTopic:
    return ForeignTopic(read, place or InputPlace(), topic.read, 0)


async def taken(source: ForeignTopic, count: int) -> list[SourceRow]:
    """Whole batches, until there are so many rows."""
    await source.open()
    rows: list[SourceRow] = []
    async with asyncio.timeout(30):
        while len(rows) < count:
            rows += await source.next()
    await source.close()
    return rows


async def test_rows_name_their_topic_partition_offset_and_time() -> None:
    topic = ListedTopic()
    topic.write(order("BTC", 1), "BTC", time=5_000)
    topic.write(orjson.dumps({"event": {"symbol": "ETH", "n": "2", "more": 1}}), None, time=7_000)
    source = opened(topic)
    assert source.topic == NAME
    assert await taken(source, 2) == [
        SourceRow(f"{NAME}/0", 0, 0, 5_000, [("Orders", ("BTC", 1))], "BTC"),
        SourceRow(f"{NAME}/0", 0, 1, 7_000, [("Orders", ("ETH", 2))], None),
    ]
    assert not source.is_behind


async def test_a_time_ahead_of_the_clock_and_none_are_when_it_was_read() -> None:
    topic, before = ListedTopic(), wall_now()
    topic.write(order("BTC", 1), time=before + 3_600_000_000)
    topic.write(order("BTC", 1), time=-1_000)
    # of a topic that is read by offsets, since a row without a time has no place in it
    rows = await taken(opened(topic, InputPlace({f"{NAME}/0": 0})), 2)
    assert all(before <= row.time <= wall_now() for row in rows)


async def test_a_time_before_the_session_is_its_start() -> None:
    topic = ListedTopic()
    topic.write(order("BTC", 1), time=0)
    source = ForeignTopic(READ, InputPlace({f"{NAME}/0": 0}), topic.read, 5_000)
    assert [row.time for row in await taken(source, 1)] == [5_000]


async def test_a_row_whose_key_is_too_long_for_the_log_is_told(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    topic.write(order("BTC", 1), "\ufffd" * 200_000)
    topic.write(order("BTC", 2), "k")
    assert [row.offset for row in await taken(opened(topic), 1)] == [1]
    assert "bytes with its key" in vars(caplog.records[0])["reason"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"<row/>", "no JSON"),
        (b"[1]", "no object where the rows are"),
        (b'{"symbol": "BTC"}', "'n' is missing"),
        (b'{"symbol": "BTC", "n": "many"}', "'n' is no long: 'many'"),
        (b'{"symbol": "BTC", "n": 18446744073709551616}', "'n' is no long"),
        (b'{"symbol": ' + b"[" * 1_000 + b"]" * 1_000 + b', "n": 1}', "'symbol' is no string: a list"),
        (b'{"symbol": "BTC", "n": NaN}', "no JSON"),
        (b'[{"symbol": "BTC", "n": 1}, {"symbol": "BTC", "n": 1.5}]', "'n' is no long: '1.5'"),
        (orjson.dumps({"symbol": "x" * 600_000, "n": 1}), "bytes with its key, and 524,288 are allowed"),
    ],
)
async def test_what_is_no_row_is_told_and_the_next_one_comes(
    value: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = ListedTopic()
    topic.write(value)
    topic.write(order("BTC", 2))
    rows = await taken(opened(topic), 1)
    assert [(row.offset, row.rows) for row in rows] == [(1, [("Orders", ("BTC", 2))])]
    (told,) = caplog.records
    assert (told.message, vars(told)["offset"]) == ("row left out", 0)
    assert reason in vars(told)["reason"]


async def test_a_thousand_of_one_kind_are_one_line_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    for number in range(1_000):
        topic.write(order("BTC", f"many {number}"))
    topic.write(b"")
    topic.write(order("BTC", 2))
    source = opened(topic)
    assert len(await taken(source, 1)) == 1
    assert len(caplog.records) == 2
    assert sorted(source.warnings.counts.values()) == [1, 1_000]


async def test_a_column_that_may_lack_is_null() -> None:
    text = TEXT.replace("type='json'", "type='json', fail.on.missing.attribute='false'")
    read = ReadTopic(NAME, app_source(text, "a").outside.topics[NAME])
    topic = ListedTopic()
    topic.write(b'{"n": 1}')
    topic.write(order(None, 2))
    assert [row.rows for row in await taken(opened(topic, read=read), 2)] == [
        [("Orders", (None, 1))],
        [("Orders", (None, 2))],
    ]


async def test_each_partition_of_the_log_has_the_rows_of_its_keys_and_the_first_those_without() -> None:
    topic, keys = ListedTopic(partitions=3), ("BTC", "ETH", "SOL", "XRP", "ADA", None)
    for number, key in enumerate(keys):
        topic.write(order(key, number), key, number % 3)
    found = {}
    for partition in range(2):
        wanted = {key for key in keys if (0 if key is None else partition_of(key, 2)) == partition}
        rows = await taken(opened(topic, read=replace(READ, partition=partition, partitions=2)), len(wanted))
        found[partition] = {row.key for row in rows}
        assert found[partition] == wanted
    assert all(found.values())


async def test_a_broker_that_is_away_holds_up_nobody_and_its_rows_come_later(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    topic.write(order("BTC", 1))
    topic.fail(StreamUnavailableError("Kafka at k:1 is unreachable."))
    source = opened(topic)
    await source.open()
    assert not source.is_behind
    assert [vars(one)["reason"] for one in caplog.records] == ["Kafka at k:1 is unreachable."]
    topic.fail(None)
    assert [row.offset for row in await source.next()] == [0]
    # amid the rows it fails again
    topic.write(order("BTC", 2))
    topic.fail(StreamUnavailableError("Kafka at k:1 did not answer."))
    waiting = asyncio.ensure_future(source.next())
    async with asyncio.timeout(30):
        await topic.failed.wait()
        topic.fail(None)
        assert [row.offset for row in await waiting] == [1]
    assert len(caplog.records) == 2
    await source.close()


async def test_old_rows_that_never_come_hold_up_nobody() -> None:
    topic = ListedTopic(marks=1)
    topic.write(order("BTC", 1))
    source = ForeignTopic(READ, InputPlace(), topic.read, 0, patience=IMPATIENT)
    await source.open()
    assert source.is_behind
    rows: list[SourceRow] = []
    while source.is_behind:
        rows += await source.next()
    while not rows:
        rows += await source.next()
    assert [row.offset for row in rows] == [0]
    await source.close()


async def test_a_silent_topic_is_asked_whether_it_is_there(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    source = ForeignTopic(READ, InputPlace(), topic.read, 0, patience=IMPATIENT)
    await source.open()
    topic.fail(StreamUnavailableError("Kafka at k:1 did not answer."))
    waiting = asyncio.ensure_future(source.next())
    async with asyncio.timeout(30):
        await topic.failed.wait()
        topic.fail(None)
        topic.write(order("BTC", 1))
        assert [row.offset for row in await waiting] == [0]
    await source.close()
    assert vars(caplog.records[0])["reason"] == "Kafka at k:1 did not answer."


@pytest.mark.parametrize(("read_before", "missing"), [(1, 4), (5, 0), (6, 0)])
async def test_rows_that_retention_has_cut_are_counted(
    read_before: int, missing: int, caplog: pytest.LogCaptureFixture
) -> None:
    topic = ListedTopic(oldest={0: 5})
    for number in range(8):
        topic.write(order("BTC", number))
    rows = await taken(opened(topic, InputPlace({f"{NAME}/0": read_before})), 8 - max(5, read_before))
    assert [row.offset for row in rows] == [*range(max(5, read_before), 8)]
    told = [vars(one)["reason"] for one in caplog.records]
    wanted = f"Kafka has deleted them before they were read: {missing} of partition 0"
    assert told == ([wanted] if missing else [])


async def test_rows_that_retention_cuts_while_it_reads_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    for number in range(9):
        topic.write(order("BTC", number))
    source = opened(topic)
    await source.open()
    rows = await source.next()
    topic.oldest[0] = 7
    rows += await source.next()
    await source.close()
    assert [row.offset for row in rows] == [0, 1, 2, 7, 8]
    assert [vars(one)["reason"] for one in caplog.records] == [
        "Kafka has deleted them before they were read: 4 of partition 0"
    ]


async def test_a_topic_that_was_made_again_is_told(caplog: pytest.LogCaptureFixture) -> None:
    topic = ListedTopic()
    topic.write(order("BTC", 1))
    source = opened(topic, InputPlace({f"{NAME}/0": 9}))
    await source.open()
    assert "was made again: 9 rows of partition 0 were read, and it has fewer" in vars(caplog.records[0])["reason"]
    await source.close()


class ShrinkingTopic(ListedTopic):
    """Has two partitions as it is first looked at, and then one."""

    def check(self) -> None:
        self.partitions = 1 if self.opened else 2


async def test_a_partition_that_is_gone_between_two_looks_is_not_read() -> None:
    topic = ShrinkingTopic()
    topic.write(order("BTC", 1))
    assert [row.offset for row in await taken(opened(topic), 1)] == [0]
    assert topic.partitions == 1


async def test_a_topic_that_is_made_again_while_it_is_read_gives_no_row_with_an_offset_that_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = ListedTopic()
    for number in range(3):
        topic.write(order("BTC", number))
    source = opened(topic)
    await source.open()
    rows = await source.next()
    waiting = asyncio.ensure_future(source.next())
    topic.records.clear()
    topic.write(order("ETH", 0))
    async with asyncio.timeout(30):
        while not source.warnings.counts:
            await SystemClock().sleep(0.01)
        for number in range(1, 5):
            topic.write(order("ETH", number))
        rows += await waiting
    await source.close()
    assert [row.offset for row in rows] == [0, 1, 2, 3, 4]
    assert "was made again" in vars(caplog.records[0])["reason"]


def computed(log: list[bytes]) -> dict[str, AppRow]:
    """Return the app's rows by id, of the whole log."""
    app, rows = HostedApp(SOURCE, 0), dict[str, AppRow]()
    for offset, message in enumerate(log):
        rows |= {row.id: row for row in app.take(offset, 0, row_of(message))}
    return rows


async def logged(topic: ListedTopic, log: list[bytes], least: int, most: int | None = None) -> None:
    """Continue the log where it ends until the writer is killed: at least `least` rows, at most `most`."""
    place = place_in(log[-1], "s") if log else InputPlace()
    for row in (await taken(opened(topic, place), least))[:most]:
        place = place.after(row)
        log.append(input_message("s", row, place))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=20), st.lists(st.integers(1, 6)))
def test_killed_anywhere_no_row_is_lost_and_none_is_there_twice(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    topic, log = ListedTopic(partitions=2), list[bytes]()
    for partition, n in rows:
        topic.write(order("BTC", n), None, partition)
    for cut in cuts:
        if len(log) < len(rows):
            asyncio.run(logged(topic, log, 1, cut))
    asyncio.run(logged(topic, log, len(rows) - len(log)))
    places = [(one["topic"], one["offset"]) for one in map(row_of, log)]
    assert len(places) == len(set(places)) == len(rows)
    # what a killed writer's successor writes again is taken once
    assert [row.values for row in computed([*log, *log]).values()] == [row.values for row in computed(log).values()]
    assert [*computed(log).values()][-1].values["total"] == sum(n for _, n in rows)
