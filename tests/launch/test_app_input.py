"""The helpers beside an app, on a real Kafka and MongoDB: they send its requests, log the answers, keep the app's
tables, and give them to the next session. Only Spark is missing: the task that it would run is a separate process."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.hosts.input_log import TABLES, InputPlace
from cep.apps.language.errors import AppTextError
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.task import ResidentTask
from launch.apps.table_keeper import TableKeeper
from launch.sessions.app_input import counted_already, first_offsets, input_merger, keep_merging, requests_from
from runtime.clock import wall_now
from session.session import Placement, Session
from store.operations.app_tables import KeptPlace, open_app_tables
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.cep.apps.hosts.call_server import call_server
from tests.cep.apps.hosts.signal_app import REGION, TICKERS, exact_means, expected_signals, signal_text
from tests.cep.apps.hosts.test_signal_app import walks
from tests.store.traded_session import new_session

SECONDS = 15
TIMEOUT_SECONDS = 240.0
NEXT = "@App:name('signals') define trigger Once at 'start'; from Once select triggered_time as at insert into Begun; "
TABLE = "CREATE TABLE GLOBAL signals (exchange string, region string, price double, at long);"


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        yield replace(
            opened,
            services=replace(opened.services, kafka=kafka_address, partitions=1),
            home=tmp_path,
            started_at=wall_now(),
        )


def computed(task: ResidentTask) -> None:
    list(task.run((0,)))


@contextmanager
def task_running(session: Session, source: AppSource) -> Iterator[None]:
    placed = PlacedApp(source, session.home / "snapshots", {(source.topic, 0): 0})
    task = ResidentTask((placed,), session.services.kafka)
    process = get_context("spawn").Process(target=computed, args=(task,))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


@asynccontextmanager
async def beside(*parts: Any) -> AsyncIterator[None]:
    work = [asyncio.ensure_future(part) for part in parts]
    try:
        yield
    finally:
        for one in work:
            one.cancel()
            with suppress(asyncio.CancelledError):
                await one


async def write_clock(session: Session) -> None:
    """Set the clock ahead, so that no request grows old on a busy machine."""
    writer, began = TopicWriter(session.services.kafka), wall_now() + 3_600_000_000
    for second in range(SECONDS + 1):
        row = {"kind": "probe", "received_time": began + second * 1_000_000}
        writer.write(TICKS, orjson.dumps(row), partition=0)
    await writer.close(TIMEOUT_SECONDS)


def source_at(url: str) -> AppSource:
    terms = OperatorTerms(addresses=tuple((one.origin, url) for one in TICKERS))
    return app_source(signal_text("1 sec"), "signals", (("region", REGION),), terms)


async def rows_given(reader: TopicReader, source: AppSource) -> list[dict[str, Any]]:
    """Return the rows once each ticker has had all its answers."""
    rows: list[dict[str, Any]] = []
    async for record in reader.records():
        if record.key == source.label:
            rows.append(orjson.loads(record.value))
            if sum(row["stream"].startswith("Mean") for row in rows) == SECONDS * len(TICKERS):
                return rows
    return rows


async def test_it_asks_logs_and_keeps_for_the_next_session(session: Session) -> None:
    closes, by_path = walks(0), {one.path: one for one in TICKERS}

    def answer(path: str, number: int) -> web.Response:
        ticker, close = by_path[path], closes[path][number - 1]
        return web.json_response({ticker.close: str(close) if ticker.is_text else close})

    async with asyncio.timeout(TIMEOUT_SECONDS), call_server(answer) as server:
        source = source_at(server.url)
        keeper = TableKeeper(session, source, await first_offsets(session, APPS))
        await keeper.catch_up()
        merger = await input_merger(session, source)
        assert merger is not None
        async with TopicReader(session.services.kafka, (APPS,), "latest") as reader, beside(keep_merging(merger)):
            await write_clock(session)
            with task_running(session, source):
                rows = await rows_given(reader, source)
        await keeper.catch_up()
    given = [row["values"] for row in rows if row["stream"] in ("Bought", "Sold")]
    for ticker in TICKERS:
        prices = [one["price"] for one in given if one["exchange"] == ticker.exchange]
        closed = [row["values"]["close"] for row in rows if row["stream"] == f"Mean{ticker.name}"]
        assert prices == [price for _, price in expected_signals(closed, exact_means(closed))]
    assert given
    async with open_app_tables(session, "signals") as tables:
        kept = [dict(row) for _, row in await tables.rows(0, "signals")]
    # the keeper may have read one more
    assert kept[: len(given)] == given
    assert await first_row(replace(session, session_id="next", started_at=wall_now())) == kept


async def first_row(session: Session) -> list[dict[str, Any]]:
    """Return what the table has in the first row of the input log of another version of the app."""
    source = app_source(NEXT + TABLE, "signals")
    merger = await input_merger(session, source)
    assert merger is not None
    reader = TopicReader(session.services.kafka, (source.topic,), "earliest")
    async with asyncio.timeout(TIMEOUT_SECONDS), beside(keep_merging(merger)), reader:
        row = row_of((await anext(reader.records())).value)
    names = [name for name, _ in source.outside.tables[0].columns]
    return [dict(zip(names, values[1:], strict=True)) for _, values in row["rows"]]


async def test_a_request_that_is_not_allowed_is_refused_before_anything_is_made(session: Session) -> None:
    source = app_source(signal_text("1 sec"), "signals", (("region", "elsewhere"),))
    with pytest.raises(AppTextError, match=r"requests to https://api\.pro\.coinbase\.com are not allowed here"):
        await input_merger(session, source)
    async with open_app_tables(session, "signals") as tables:
        assert (await tables.place(0)).next is None


async def test_of_a_topic_that_is_shorter_than_what_was_read_all_is_read(session: Session) -> None:
    source = source_at("http://127.0.0.1:9")
    async with open_app_tables(session, "signals") as tables:
        await tables.write(0, [], KeptPlace(10**9, {}, {"signals": 10**9 - 1}))
        keeper = TableKeeper(session, source, await first_offsets(session, APPS))
        await keeper.catch_up()
        assert (await tables.place(0)).changed == {}
        writer = TopicWriter(session.services.kafka)
        value = {"id": "signals:0:7:0", "app": "signals", "stream": "signals", "time": 5,
                 "values": {"key": 1, "row": {"exchange": "x"}}}  # fmt: skip
        writer.write(APPS, orjson.dumps(value), source.label, 0)
        await writer.close(TIMEOUT_SECONDS)
        await keeper.catch_up()
        assert await tables.rows(0, "signals") == [(1, {"exchange": "x"})]


@pytest.mark.parametrize(
    ("following", "begin"), [({}, 90), ({TICKS: 3}, 10), ({TICKS: 3, APPS: 50}, 50), ({TABLES: 3, APPS: 0}, 0)]
)
def test_requests_that_a_killed_run_left_are_made(following: dict[str, int], begin: int) -> None:
    assert requests_from(InputPlace(following), 90, 10) == begin


@pytest.mark.parametrize(
    ("following", "changed", "table"),
    [
        ({}, {}, None),
        ({}, {"c": 9}, None),
        ({}, {"other": 10}, None),
        ({}, {"c": 10}, "T"),
        ({TICKS: 3}, {"c": 10}, None),
    ],
)
def test_a_new_version_counts_no_row_of_the_session_again(
    following: dict[str, int], changed: dict[str, int], table: str | None
) -> None:
    tables = [StoredTable("U", "u", ()), StoredTable("T", "c", ())]
    assert counted_already(tables, InputPlace(following), changed, 10) == table


async def test_another_version_is_refused_where_a_table_has_the_sessions_rows(session: Session) -> None:
    text = f"@App:name('signals') {TABLE} from quotes select exchange, 'r' as region, bid as price, 1L as at "
    source = app_source(f"{text} insert into signals;", "signals")
    first = (await first_offsets(session, APPS))[APPS, 0]
    opening = session.home / "checkpoints" / session.session_id / "one" / "opening.json"
    opening.parent.mkdir(parents=True)
    opening.write_text('{"offsets": {"0": 0}, "settings": null}')
    async with open_app_tables(session, "signals") as tables:
        await tables.write(0, [], KeptPlace(first, {}, {"signals": first - 1}))
        assert await input_merger(session, source) is not None
        await tables.write(0, [], KeptPlace(first + 1, {}, {"signals": first}))
    with pytest.raises(AppTextError, match="'signals' has this session's rows by another version of the app"):
        await input_merger(session, source)
    # those rows are not from a region, whose offsets are another Kafka's
    assert await input_merger(replace(session, place=Placement("eu", ("us", "eu"))), source) is not None
