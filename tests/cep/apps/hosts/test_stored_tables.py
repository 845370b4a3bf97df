"""Tables that outlive a session: what becomes of their rows, kept as often as it is told, and what they begin with."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from cep.apps.hosts.stored_tables import (
    ALL,
    PIECE_BYTES,
    ChangeOrder,
    TableSource,
    kept_values,
    not_kept,
    table_changes,
)
from streams.message_format import row_of
from streams.records import Record
from streams.topics import APPS, TICKS

APP = """@App:name('keeping')
@store(type='c8db', collection='last_bids') @PrimaryKey('exchange')
define table Bids (exchange string, bid double, exact decimal);
CREATE TABLE GLOBAL Seen (exchange string, bid double);
from quotes select exchange, bid, convert(bid, 'decimal') as exact update or insert into Bids
set Bids.bid = bid, Bids.exact = exact on Bids.exchange == exchange;
from quotes[bid > 5.0] select exchange, bid insert into Seen;
from quotes[bid == 0.0] select exchange delete Seen on Seen.exchange == exchange;
from quotes[bid == 3.0] join Seen select Seen.exchange as exchange, Seen.bid as bid insert into Out;
"""
SOURCE = AppSource("keeping", APP)
Kept = dict[tuple[str, str], tuple[int, dict[str, Any]]]


def quote(number: int, exchange: str, bid: float) -> SourceRow:
    columns = [column.name for column in PRODUCT_STREAMS["quotes"].columns]
    values = tuple({"exchange": exchange, "bid": bid}.get(name) for name in columns)
    return SourceRow(TICKS, 0, number, (1_000 + number) * 1_000, [("quotes", values)])


def given_by(app: HostedApp, log: list[SourceRow]) -> list[AppRow]:
    place, rows = InputPlace(), list[AppRow]()
    for offset, row in enumerate(log):
        place = place.after(row)
        rows += app.take(offset, 0, row_of(input_message("s", row, place)))
    return rows


def records(rows: list[AppRow]) -> list[Record]:
    return [Record(APPS, 0, at, SOURCE.label, app_message(row), 0) for at, row in enumerate(rows)]


def kept_after(told: list[Record], before: Kept | None = None, last: dict[str, ChangeOrder] | None = None) -> Kept:
    """As whoever keeps the changes: the last word for each key, in the order of the first. `last` is what it keeps of
    each version."""
    kept = dict(before or {})
    for change in not_kept(table_changes(told, "keeping", SOURCE.outside.tables), {} if last is None else last):
        key = change.collection, change.key
        if change.row is None:
            kept.pop(key, None)
        else:
            kept[key] = change.number, dict(change.row)
    return kept


async def begun_with(kept: Kept, tables: Iterable[StoredTable] = SOURCE.outside.tables) -> list[SourceRow]:
    """Return the rows of an input log that begins with these."""

    async def of(table: StoredTable) -> Iterable[tuple[Any, ...]]:
        return kept_values(table, (one for (name, _), one in kept.items() if name == table.collection))

    return await TableSource(tables, 0, InputPlace(), 900_000, of).next()


LOG = [quote(0, "a", 7.0), quote(1, "b", 8.0), quote(2, "a", 1.5), quote(3, "a", 9.0), quote(4, "b", 0.0)]
KEPT = {
    ("last_bids", '["a"]'): (0, {"exchange": "a", "bid": 9.0, "exact": "9.0"}),
    ("last_bids", '["b"]'): (0, {"exchange": "b", "bid": 0.0, "exact": "0.0"}),
    ("Seen", "1"): (1, {"exchange": "a", "bid": 7.0}),
    ("Seen", "3"): (3, {"exchange": "a", "bid": 9.0}),
}


def test_what_becomes_of_the_rows_is_told() -> None:
    assert kept_after(records(given_by(HostedApp(SOURCE, 0), LOG))) == KEPT


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 3.0, 6.0, 7.0])), max_size=12),
    st.data(),
)
def test_told_again_from_anywhere_the_same_is_kept(quotes: list[tuple[str, float]], data: st.DataObject) -> None:
    told = records(given_by(HostedApp(SOURCE, 0), [quote(at, *one) for at, one in enumerate(quotes)]))
    first, end = (data.draw(st.integers(0, len(told))) for _ in range(2))
    last: dict[str, ChangeOrder] = {}
    kept = kept_after(told, None, last)
    # who writes them again may end early
    assert kept_after(told[first:end], kept, last) == kept
    assert kept_after(told[first:], kept_after(told)) == kept


def test_of_a_log_that_was_made_again_all_is_kept() -> None:
    last = {SOURCE.label: (500, 9, 0)}
    assert kept_after(records(given_by(HostedApp(SOURCE, 0), LOG)), None, last) == KEPT


async def test_the_next_session_goes_on_with_what_was_kept() -> None:
    log = [*await begun_with(KEPT), quote(0, "c", 3.0), quote(1, "d", 6.0)]
    app = HostedApp(SOURCE, 0)
    rows = given_by(app, log)
    found = [dict(row.values) for row in rows if row.stream == "Out"]
    assert found == [{"exchange": "a", "bid": 7.0}, {"exchange": "a", "bid": 9.0}]
    # what it began with is not told again, and numbers go on
    kept = kept_after(records(rows), KEPT)
    assert {key: kept[key] for key in KEPT} == KEPT
    assert kept["Seen", "4"] == (4, {"exchange": "d", "bid": 6.0})


async def test_the_app_starts_once_its_tables_are_filled() -> None:
    text = "define trigger Once at 'start'; from Once as o join Seen as s select s.bid as bid insert into Begun;"
    log = [*await begun_with(KEPT), quote(0, "c", 1.0)]
    found = [dict(row.values) for row in given_by(HostedApp(AppSource("keeping", APP + text), 0), log)
             if row.stream == "Begun"]  # fmt: skip
    assert found == [{"bid": 7.0}, {"bid": 9.0}]


async def test_a_snapshot_has_what_it_began_with() -> None:
    app, again = HostedApp(SOURCE, 0), HostedApp(SOURCE, 0)
    log = await begun_with(KEPT)
    given_by(app, log)
    again.restore(app.snapshot())
    row = quote(0, "c", 3.0)
    message = row_of(input_message("s", row, InputPlace().after(row)))
    assert again.take(len(log), 0, message) == app.take(len(log), 0, message) != []


async def test_a_kept_value_that_the_table_no_longer_takes_is_one_sentence() -> None:
    log = await begun_with({("last_bids", '["a"]'): (0, {"exchange": "a", "bid": "much"})})
    with pytest.raises(AppFailedError, match="'Bids' is kept with 'much' in 'bid', which is double by now: give"):
        given_by(HostedApp(SOURCE, 0), log)


UNKEYED = """@store(type='c8db', collection='last_bids') define table Bids (exchange string, bid double);
from quotes select exchange, bid insert into Bids;"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (UNKEYED, {("last_bids", '["a"]'): (0, {"exchange": "a"})}),
        (APP, {("last_bids", "1"): (1, {"exchange": "a"})}),
        (APP, {("last_bids", '["a",1]'): (0, {"exchange": "a"}), ("last_bids", '["a",2]'): (0, {"exchange": "a"})}),
    ],
)
async def test_rows_that_were_kept_with_another_key_are_refused(text: str, kept: Kept) -> None:
    source = AppSource("keeping", text)
    tables = [one for one in source.outside.tables if one.collection == "last_bids"]
    log = await begun_with(kept, tables)
    with pytest.raises(AppFailedError, match="'Bids' is kept with another key: give the table another collection"):
        given_by(HostedApp(source, 0), log)


async def test_columns_that_are_new_are_null_and_money_is_exact() -> None:
    kept = {("last_bids", '["a"]'): (0, {"exchange": "a", "exact": "0.1000000000000000000000001"})}
    app = HostedApp(SOURCE, 0)
    given_by(app, await begun_with(kept))
    text = "from quotes join Bids select Bids.bid as bid, Bids.exact as exact insert into O;"
    other = AppSource("other", APP + text)
    found = [row for row in given_by(HostedApp(other, 0), [*await begun_with(kept), quote(0, "b", 1.0)])
             if row.stream == "O"]  # fmt: skip
    assert dict(found[0].values) == {"bid": None, "exact": Decimal("0.1000000000000000000000001")}


@pytest.mark.parametrize(("count", "pieces"), [(0, 0), (1, 1), (7, 4), (8, 4)])
async def test_who_goes_on_amid_the_first_rows_repeats_none(count: int, pieces: int) -> None:
    kept = [(number, {"exchange": "a" * (PIECE_BYTES // 2 - 1), "bid": float(number)}) for number in range(count)]

    async def of(table: StoredTable) -> Iterable[tuple[Any, ...]]:
        return kept_values(table, kept if table.collection == "Seen" else ())

    whole = await TableSource(SOURCE.outside.tables, 0, InputPlace(), 1, of).next()
    assert [row.offset for row in whole] == [*range(pieces), ALL]
    assert [number for row in whole for _, (number, *_) in row.rows] == [*range(count)]
    place = InputPlace()
    for at, row in enumerate(whole):
        assert await TableSource(SOURCE.outside.tables, 0, place, 1, of).next() == whole[at:]
        place = place.after(row)
    assert not TableSource(SOURCE.outside.tables, 0, place, 1, of).is_behind
