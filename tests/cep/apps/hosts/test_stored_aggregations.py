"""Aggregations and tables that outlive a session: what is read back is exactly what was there."""

import asyncio
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from cep.apps.hosts.stored_tables import ChangeOrder, TableSource, kept_values, not_kept, table_changes
from cep.apps.language.app_parser import parse_on_demand
from cep.apps.language.errors import AppUnsupportedError
from streams.message_format import row_of
from streams.records import Record
from streams.topics import APPS, TICKS

GATHERED = """@App:name('gathering')
define stream Priced (exchange string, base string, bid double, ask double, exact decimal);
from quotes select exchange, base, bid, ask, convert(str:concat(bid_amount), 'decimal') as exact insert into Priced;
@store(type = 'c8db', collection = 'bars') @aggTimeZone('Asia/Kolkata')
@purge(enable = 'true', interval = '10 sec', @retentionPeriod(sec = '20 sec'))
define aggregation Bars from Priced
select exchange, base, sum(bid) as total, avg(ask) as mean, max(bid) as high, min(ask) as low, stdDev(bid) as deviation,
    sum(exact) as exactly, count() as n, bid as last
group by exchange, base aggregate every sec, min, day;
@store(type = 'mongodb') @PrimaryKey('exchange') define table Lasts (exchange string, bid double, exact decimal);
from Priced select exchange, bid, exact update or insert into Lasts
set Lasts.bid = bid, Lasts.exact = exact on Lasts.exchange == exchange;
from Priced[bid == 1.0] select exchange delete Lasts on Lasts.exchange == exchange;
"""
SOURCE = AppSource("gathering", GATHERED)
Kept = dict[tuple[str, str], tuple[int, dict[str, Any]]]
NUMBERS = st.sampled_from([0.1, 1.0, 1e17, -0.0, 3.3333333333333335, 1e-300, math.inf, -math.inf, math.nan])
QUOTES = st.lists(
    st.tuples(st.integers(0, 9_000), st.sampled_from("ab"), NUMBERS, st.none() | NUMBERS, st.sampled_from([1.5, 2.25])),
    max_size=12,
)


def quotes(rows: Sequence[tuple[int, str, float, float | None, float]]) -> list[SourceRow]:
    columns, time, log = [column.name for column in PRODUCT_STREAMS["quotes"].columns], 1_000, list[SourceRow]()
    for number, (gap, exchange, bid, ask, amount) in enumerate(rows):
        time += gap
        given = {"exchange": exchange, "base": "BTC", "bid": bid, "ask": ask, "bid_amount": amount}
        log.append(SourceRow(TICKS, 0, number, time * 1_000, [("quotes", tuple(given.get(name) for name in columns))]))
    return log


def taken(app: HostedApp, log: list[SourceRow], first: int = 0) -> list[AppRow]:
    """Return what it gives for rows behind `first`, as they are: the log's own form has no number that is not
    finite."""
    place, rows = InputPlace(), list[AppRow]()
    for offset, row in enumerate(log):
        place = place.after(row)
        message = row_of(input_message("s", SourceRow(row.topic, 0, row.offset, row.time, []), place))
        if offset >= first:
            rows += app.take(offset, 0, {**message, "rows": [[name, list(values)] for name, values in row.rows]})
    return rows


def keeps(told: list[AppRow], kept: Kept, last: dict[str, ChangeOrder]) -> None:
    """As whoever keeps the changes in MongoDB, in the order of each key's first one."""
    records = [Record(APPS, 0, at, SOURCE.label, app_message(row), 0) for at, row in enumerate(told)]
    for change in not_kept(table_changes(records, "gathering", SOURCE.outside.tables), last):
        key = change.collection, change.key
        if change.row is None:
            kept.pop(key, None)
        else:
            kept[key] = change.number, dict(change.row)


async def begun_with(kept: Kept, source: AppSource = SOURCE) -> list[SourceRow]:
    async def of(table: StoredTable) -> Any:
        return kept_values(table, [one for (name, _), one in kept.items() if name == table.collection])

    return await TableSource(source.outside.tables, 0, InputPlace(), 900_000, of).next()


class OpenApp(HostedApp):
    """One that can be asked."""

    @property
    def engine(self) -> StreamEngine:
        assert self._engine is not None
        return self._engine


def held(app: OpenApp) -> str:
    """Return all that its tables and aggregations have, to the last digit and in their order."""
    engine = app.engine
    asked = [engine.data.ask(parse_on_demand("from Lasts select *;")).rows]
    for per in ("sec", "min", "day"):
        query = f"from Bars within '1969-12-30 00:00:00', '1971-01-01 00:00:00' per '{per}' select *;"
        asked.append(engine.data.ask(parse_on_demand(query)).rows)
    return repr(asked)


@given(rows=QUOTES, data=st.data())
def test_the_next_session_has_exactly_what_there_was_though_it_was_killed(rows: Any, data: st.DataObject) -> None:
    log = quotes([(1, "a", 2.0, 2.0, 1.5), *rows])
    whole = OpenApp(SOURCE, 0)
    told = taken(whole, log)
    # killed anywhere, and continued from an older snapshot: between a row and its table, too
    kept, last = Kept(), dict[str, ChangeOrder]()
    cut = data.draw(st.integers(0, len(log)))
    first = OpenApp(SOURCE, 0)
    before = taken(first, log[:cut])
    snapshot = first.snapshot()
    more = [row for row in told if int(row.id.rsplit(":", 2)[1]) >= cut]
    keeps([*before, *more[: data.draw(st.integers(0, len(more)))]], kept, last)
    again = OpenApp(SOURCE, 0)
    again.restore(snapshot)
    rest = taken(again, log, cut)
    assert repr(rest) == repr(more)
    keeps(rest, kept, last)
    after = OpenApp(SOURCE, 0)
    taken(after, asyncio.run(begun_with(kept)))
    assert held(after) == held(again) == held(whole)


async def test_buckets_go_on_and_those_that_are_gone_are_gone_from_the_store() -> None:
    kept, last = Kept(), dict[str, ChangeOrder]()
    keeps(taken(OpenApp(SOURCE, 0), quotes([(1, "a", 2.0, 3.0, 1.5)] * 3 + [(30_000, "b", 1.0, 1.0, 1.5)])), kept, last)
    of_seconds = [key for name, key in kept if name == "bars" and '"sec"' in key]
    assert len(of_seconds) == 1
    app = OpenApp(SOURCE, 0)
    taken(app, [*await begun_with(kept), *quotes([(100_000, "a", 5.0, 3.0, 1.5)])])
    query = "from Bars within '1970-**-** **:**:**' per 'days' select exchange, total, high, exactly, n, last;"
    found = app.engine.data.ask(parse_on_demand(query)).rows
    assert found == [("a", 11.0, 5.0, Decimal("6.0"), 4, 5.0), ("b", 1.0, 1.0, Decimal("1.5"), 1, 1.0)]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("'Asia/Kolkata'", "'Europe/Berlin'", "over 5 columns in the zone Asia/Kolkata, and is another by now"),
        ("sum(bid) as total", "avg(bid) as total", "'Bars' is kept with sum, avg, max, min, stdDev, sum, count over"),
    ],
)
async def test_buckets_of_another_kind_are_refused(old: str, new: str, problem: str) -> None:
    kept, last = Kept(), dict[str, ChangeOrder]()
    keeps(taken(OpenApp(SOURCE, 0), quotes([(1, "a", 2.0, 3.0, 1.5)])), kept, last)
    other = AppSource("gathering", GATHERED.replace(old, new))
    with pytest.raises(AppFailedError) as error:
        taken(HostedApp(other, 0), await begun_with(kept, other))
    assert problem in str(error.value)
    assert "give it another collection" in str(error.value)


async def test_a_duration_that_is_no_longer_kept_is_left_where_it_is() -> None:
    kept, last = Kept(), dict[str, ChangeOrder]()
    keeps(taken(OpenApp(SOURCE, 0), quotes([(1, "a", 2.0, 3.0, 1.5)])), kept, last)
    other = AppSource("gathering", GATHERED.replace("every sec, min, day", "every sec, day"))
    app = OpenApp(other, 0)
    taken(app, [*await begun_with(kept, other), *quotes([(1, "a", 2.0, 3.0, 1.5)])])
    assert app.position is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@store(type = 'redis') define aggregation A from quotes select avg(bid) as m aggregate every sec;",
         "no host runs the store redis of A yet"),
        ("@store(type = 'c8db', rows = 'x') define aggregation A from quotes select avg(bid) as m aggregate every sec;",
         "rows"),
        ("CREATE AGGREGATION A WITH (store.type = 'c8db', store.collection = '$x') SELECT avg(bid) AS m FROM quotes "
         "AGGREGATE EVERY sec;", "write a name of letters and digits"),
    ],
)  # fmt: skip
def test_a_store_that_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError) as error:
        app_source(f"{text} from quotes select bid insert into O;", "a")
    assert problem in str(error.value)


def test_an_aggregation_is_stored_in_either_spelling() -> None:
    texts = (
        "@store(type = 'c8db', collection = 'x') define aggregation A from quotes "
        "select avg(bid) as m aggregate every sec;",
        "CREATE AGGREGATION A WITH (store.type = 'c8db', store.collection = 'x') SELECT avg(bid) AS m FROM quotes "
        "AGGREGATE EVERY sec;",
    )
    found = {app_source(f"{text} from quotes select bid insert into O;", "a").outside.tables for text in texts}
    assert [[(one.table, one.collection) for one in tables] for tables in found] == [[("A", "x")]]


COUNTED = AppSource(
    "gathering", GATHERED + "from Priced select exchange, count() as so_far group by exchange insert into Counts;"
)


async def test_another_session_goes_on_from_a_savepoint_with_the_tables_of_the_store() -> None:
    kept, last = Kept(), dict[str, ChangeOrder]()
    first, other = OpenApp(COUNTED, 0), OpenApp(COUNTED, 0)
    log = quotes([(1, "a", 2.0, 3.0, 1.5), (1, "a", 4.0, 3.0, 1.5), (9, "b", 8.0, 3.0, 1.5)])
    keeps(taken(first, log[:2]), kept, last)
    snapshot = first.snapshot()
    # what came after it is in the store
    keeps(taken(first, log, 2), kept, last)
    other.restore(snapshot, keeps_position=False)
    assert other.position is None
    rows = taken(other, [*await begun_with(kept), *quotes([(90_000, "a", 5.0, 3.0, 1.5)])])
    assert [dict(row.values) for row in rows if row.stream == "Counts"] == [{"exchange": "a", "so_far": 3}]
    assert [bid for _, bid, _ in other.engine.data.ask(parse_on_demand("from Lasts select *;")).rows] == [5.0, 8.0]


def test_without_a_row_there_is_nothing_to_go_on_from_and_that_is_fine() -> None:
    other = OpenApp(COUNTED, 0)
    other.restore(OpenApp(COUNTED, 0).snapshot(), keeps_position=False)
    assert len(taken(other, quotes([(1, "a", 2.0, 3.0, 1.5)]))) > 0
