"""Rows that regions share, on a real Kafka and MongoDB: from `apps` of one region to the app in another. Only
MirrorMaker is missing: the test does its work, with repeats and old times."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer

from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.hosted_app import HostedApp, app_source
from launch.apps.row_copier import RowCopier
from launch.apps.row_sharer import FILE, row_sharer
from launch.apps.table_keeper import TableKeeper
from launch.sessions.app_input import first_offsets, input_merger, keep_merging
from runtime.clock import wall_now
from session.session import Placement, Session
from store.operations.app_tables import open_app_tables
from streams.message_format import row_of
from streams.records import Record
from streams.topic_admin import client_settings, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, REGION_TOPICS, SHARED, SHARED_IN
from tests.cep.apps.hosts.shared_world import SESSION, SharingRegion, shared_source
from tests.store.traded_session import new_session

TIMEOUT_SECONDS = 120.0
HEARING = """@App:name('sharing')
CREATE STREAM GLOBAL News (who string, n double);
@PrimaryKey('who') CREATE TABLE GLOBAL Last (who string, n double, region string);
CREATE TABLE GLOBAL Seen (who string, n double);
define trigger Once at 'start';
from Once select triggered_time as at insert into Begun;
from News select who, n insert into Heard;
from News[who == 'end'] as e join Last select Last.who as who, Last.n as n insert into ShownLast;
from News[who == 'end'] as e join Seen select Seen.who as who, Seen.n as n insert into ShownSeen;
"""
"""Another version of the same app, which only listens."""


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1, REGION_TOPICS)
    async with new_session(mongodb_uri) as (opened, _):
        there = replace(
            opened,
            services=replace(opened.services, kafka=kafka_address, partitions=1),
            home=tmp_path,
            started_at=wall_now(),
        )
        yield replace(there, session_id=SESSION, place=Placement("us", ("us", "eu", "jp")))


async def sharer(session: Session) -> RowCopier:
    found = row_sharer(session, shared_source("us"), await first_offsets(session, APPS), session.home)
    assert found is not None
    return found


async def whole(session: Session, topic: str) -> list[Record]:
    async with TopicReader(session.services.kafka, (topic,), session.started_at) as reader:
        return [record async for record in reader.records_to_end()]


async def mirror(session: Session, back: int) -> None:
    """Copy `shared`, and the last rows again, with times of long ago."""
    rows = await whole(session, SHARED)
    producer = Producer(client_settings(session.services.kafka))
    for record in (*rows, *rows[-back:]):
        producer.produce(SHARED_IN, record.value, record.key, record.partition, timestamp=1_000)
    await asyncio.to_thread(producer.flush, TIMEOUT_SECONDS)


async def write(session: Session, rows: list[AppRow]) -> None:
    writer = TopicWriter(session.services.kafka)
    for row in rows:
        writer.write(APPS, app_message(row), shared_source("us").label, 0)
    await writer.close(TIMEOUT_SECONDS)


async def heard(session: Session, news: int) -> list[AppRow]:
    """Return what the app gives in the other region, once it has so many rows of the stream."""
    eu = replace(session, place=replace(session.place, region="eu"))
    source = app_source(HEARING, "hearing", (("region", "eu"),), region="eu")
    merger = await input_merger(eu, source)
    assert merger is not None
    merging = asyncio.ensure_future(keep_merging(merger))
    app, given = HostedApp(source, 0), list[AppRow]()
    try:
        async with TopicReader(session.services.kafka, (source.topic,), session.started_at) as reader:
            async for record in reader.records():
                given += app.take(record.offset, record.time, row_of(record.value))
                if sum(row.stream == "Heard" for row in given) == news:
                    return given
    finally:
        merging.cancel()
        with suppress(asyncio.CancelledError):
            await merging
    return given


def values(rows: list[AppRow], stream: str) -> list[dict[str, Any]]:
    return [dict(row.values) for row in rows if row.stream == stream]


async def test_what_an_app_wrote_in_one_region_is_in_the_other_once(session: Session) -> None:
    us = SharingRegion("us")
    quotes = [("a", 3.0), ("b", 6.0), ("a", 9.0), ("c", 7.0), ("end", 1.0)]
    for quote in quotes:
        us.quote(*quote)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await write(session, us.rows)
        await (await sharer(session)).catch_up()
        shared = await whole(session, SHARED)
        assert [row_of(record.value) for record in shared] == [orjson.loads(sent) for sent in us.sent]
        # a killed one that had not noted its progress
        (session.home / FILE).unlink()
        await (await sharer(session)).catch_up()
        assert len(await whole(session, SHARED)) == 2 * len(us.sent)
        await mirror(session, 4)
        given = await heard(session, len(quotes))
    assert values(given, "Heard") == [{"who": who, "n": n} for who, n in quotes]
    assert values(given, "ShownLast") == [{"who": "b", "n": 6.0}, {"who": "c", "n": 7.0}]
    assert values(given, "ShownSeen") == [{"who": "b", "n": 6.0}, {"who": "c", "n": 7.0}]
    # a row has the time of its arrival, whatever a mirror says
    assert all(row.time >= session.started_at // 1_000 for row in given)


async def test_a_sharer_goes_on_where_it_was(session: Session) -> None:
    us = SharingRegion("us")
    us.quote("a", 3.0)
    await write(session, us.rows)
    await (await sharer(session)).catch_up()
    before = len(us.rows)
    us.quote("b", 3.0)
    # a killed app gives its rows again
    await write(session, us.rows[before - 1 :])
    await (await sharer(session)).catch_up()
    assert [row_of(record.value) for record in await whole(session, SHARED)] == [orjson.loads(sent) for sent in us.sent]


async def test_tables_are_one_in_mongodb_and_the_greatest_stamp_wins(session: Session) -> None:
    us, eu = SharingRegion("us"), SharingRegion("eu", ahead=500)
    for who, bid in (("a", 3.0), ("b", 6.0), ("b", 8.0)):
        us.quote(who, bid)
    eu.quote("a", 4.0)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        for region in (us, eu, us):
            at = replace(session, place=replace(session.place, region=region.name))
            first = await first_offsets(at, APPS)
            await write(at, region.rows)
            keeper = TableKeeper(at, region.source, first)
            await keeper.catch_up()
        async with open_app_tables(replace(session, place=replace(session.place, region="jp")), "sharing") as tables:
            last, seen = [await tables.shared_rows(0, name) for name in ("Last", "Seen")]
            own = await tables.rows(0, "Own")
    # the row that is gone went too long ago, by the app's clock
    assert [(key, row) for key, row, _ in last] == [(["a"], {"who": "a", "n": 4.0, "region": "eu"})]
    assert [(key, row) for key, row, _ in seen] == [
        (["us", 1], {"who": "b", "n": 6.0}),
        (["us", 2], {"who": "b", "n": 8.0}),
    ]
    assert own == []


def test_an_app_that_shares_nothing_has_no_sharer(tmp_path: Path, session: Session) -> None:
    for region, text in ((None, HEARING), ("us", "from quotes select bid insert into Out;")):
        assert row_sharer(session, app_source(text, "a", region=region), {}, tmp_path) is None
