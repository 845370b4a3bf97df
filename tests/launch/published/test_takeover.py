"""A version that takes over begins with what is stored of its tables, unless it goes on with it."""

from collections.abc import Iterable
from typing import Any

import pytest

from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.input_log import InputPlace
from cep.apps.hosts.input_merger import LogBegin
from cep.apps.hosts.stored_tables import TableSource, kept_values
from launch.published.takeover import filled
from streams.topics import TICKS
from tests.cep.apps.hosts.test_stored_tables import given_by, quote

PLAIN = """@App:name('keeping') @store(type='c8db') define table T (exchange string, bid double);
from quotes[bid > 5.0] select exchange, bid insert into T;
from quotes[bid == 3.0] join T select T.exchange as exchange, T.bid as bid insert into Out;
"""
OTHER_COLUMNS = PLAIN.replace(
    "T (exchange string, bid double)", "T (exchange string, bid double, note string)"
).replace("bid insert into T", "bid, 'n' as note insert into T")
A_SECOND = (
    PLAIN + "@store(type='c8db') define table U (a string); from quotes[bid < 0.0] select symbol as a insert into U;"
)
MORE_QUERIES = PLAIN + "from quotes select bid insert into Bid;"


@pytest.mark.parametrize(
    ("text", "keeps_state", "is_whole"),
    [
        (MORE_QUERIES, True, True),
        (MORE_QUERIES, False, False),
        (OTHER_COLUMNS, True, False),
        (A_SECOND, True, False),
    ],
)
async def test_a_version_that_takes_over_has_what_is_stored_of_its_tables_once(
    text: str, *, keeps_state: bool, is_whole: bool
) -> None:
    source, newer = AppSource("keeping", PLAIN), AppSource("keeping", text)
    stored = [(1, {"exchange": "a", "bid": 7.0, "note": None}), (2, {"exchange": "b", "bid": 8.0, "note": None})]

    async def kept(table: StoredTable) -> Iterable[tuple[Any, ...]]:
        return kept_values(table, stored if table.table == "T" else ())

    former, after = HostedApp(source, 0), HostedApp(newer, 0)
    first = await TableSource(source.outside.tables, 0, InputPlace(), 900_000, kept).next()
    given_by(former, first)
    place = InputPlace({TICKS: 0})
    for row in first:
        place = place.after(row)
    parts = after.take_over(former, 100) if keeps_state else None
    begin = filled(LogBegin(100, place), newer, parts)
    tables = TableSource(newer.outside.tables, 0, begin.place, 900_000, kept)
    assert tables.is_behind is not is_whole
    log = [*(await tables.next() if tables.is_behind else ()), quote(0, "c", 3.0)]
    found = [row for row in given_by(after, log) if row.stream == "Out"]
    assert [dict(row.values) for row in found] == [{"exchange": "a", "bid": 7.0}, {"exchange": "b", "bid": 8.0}]
