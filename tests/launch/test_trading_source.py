"""What an app reads of MongoDB: rows of its streams, of its partition, with the same numbers wherever it resumes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from cep.apps.hosts.input_log import InputPlace, SourceRow
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from launch.sessions.trading_source import TradingSource
from session.session import Session
from streams.topics import partition_of
from tests.store.traded_session import new_session, traded

DEADLINE_SECONDS = 60
STREAMS = [PRODUCT_STREAMS[name] for name in ("trades", "fills", "rejections")]


@pytest.fixture
async def traded_session(mongodb_uri: str) -> AsyncIterator[Session]:
    """Return a session with two partitions."""
    async with new_session(mongodb_uri) as (session, store):
        await traded(store)
        yield replace(session, services=replace(session.services, partitions=2))


async def rows_of(
    session: Session, place: InputPlace, partition: int | None = None, streams: Sequence[str] = ()
) -> list[SourceRow]:
    """Return the rows once it is no longer behind."""
    mine = partition_of("BTC", 2) if partition is None else partition
    wanted = [one for one in STREAMS if not streams or one.name in streams]
    source, found = TradingSource(session, wanted, mine, place), list[SourceRow]()
    await source.open()
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while source.is_behind:
                found += await source.next()
    finally:
        await source.close()
    return found


def values(row: SourceRow) -> list[tuple[str, dict[str, object]]]:
    names = {name: [column.name for column in PRODUCT_STREAMS[name].columns] for name, _ in row.rows}
    return [(name, dict(zip(names[name], found, strict=True))) for name, found in row.rows]


async def test_trades_fills_and_rejections_are_flat_rows(traded_session: Session) -> None:
    rows = await rows_of(traded_session, InputPlace())
    assert [row.offset for row in rows] == list(range(len(rows)))
    assert {row.key for row in rows} == {"BTC"}
    found = [one for row in rows for one in values(row)]
    trades = [row for name, row in found if name == "trades"]
    assert [(row["state"], row["net"], row["currency"]) for row in trades] == [
        ("reserved", None, None),
        ("closed", 1.0, "USD"),
    ]
    fills = [(row["exchange"], row["base"], row["side"], row["price"]) for name, row in found if name == "fills"]
    assert fills == [("alpha", "BTC", "buy", 100.0), ("beta", "BTC", "sell", 101.0)]
    counts = [(row["reason"], row["count"], row["number"]) for name, row in found if name == "rejections"]
    assert counts == [("stale", 1, 0), ("stale", 3, 1)]


async def test_from_any_place_the_rest_comes_with_the_same_numbers(traded_session: Session) -> None:
    whole, place = await rows_of(traded_session, InputPlace()), InputPlace()
    for number, row in enumerate(whole, start=1):
        place = place.after(row)
        assert await rows_of(traded_session, place) == whole[number:]


async def test_another_partition_and_another_stream_have_other_rows(traded_session: Session) -> None:
    assert await rows_of(traded_session, InputPlace(), 1 - partition_of("BTC", 2)) == []
    fills = await rows_of(traded_session, InputPlace(), streams=("fills",))
    assert [(row.offset, [name for name, _ in row.rows]) for row in fills] == [(0, ["fills"]), (1, ["fills"])]


async def test_where_nothing_comes_the_log_is_told_how_far_it_looked(traded_session: Session) -> None:
    place = InputPlace()
    for row in await rows_of(traded_session, place):
        place = place.after(row)
    source = TradingSource(traded_session, STREAMS, partition_of("BTC", 2), place, mark_seconds=0.1)
    await source.open()
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            mark: list[SourceRow] = []
            while not mark:
                mark = await source.next()
    finally:
        await source.close()
    (row,) = mark
    assert (row.rows, row.offset, row.token) == ((), place.next["store"], row.token or "none")
    assert await rows_of(traded_session, place.after(row)) == []
