"""Streams and tables that regions share: in whatever order rows come, and however often, all end with the same."""

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cep.apps.hosts.hosted_app import HostedApp, app_source
from cep.apps.hosts.input_log import TABLES, InputPlace, SourceRow
from cep.apps.hosts.shared_rows import STAMP_KEPT_MS, SharedTable, changed_before, stamp_of, time_in
from cep.apps.hosts.stored_tables import ALL, SHARED_CHANGE, TableSource, table_changes
from cep.apps.parts.scope import TypedColumn
from cep.apps.parts.tables import Table
from streams.message_format import row_of
from streams.records import Record
from streams.topics import APPS, SHARED_IN, TICKS
from tests.cep.apps.hosts.quote_app import told
from tests.cep.apps.hosts.shared_world import (
    SESSION,
    START,
    TEXT,
    Mirrors,
    SharingRegion,
    once,
    reader_of,
    shared_source,
)

REGIONS = ("us", "eu", "jp")
PAIRS = [(source, target) for source in REGIONS for target in REGIONS if source != target]
BIDS = (0.0, 3.0, 6.0, 8.0, 9.0)
STEPS = st.one_of(
    st.tuples(st.just("quote"), st.sampled_from(REGIONS), st.sampled_from("ab"), st.sampled_from(BIDS)),
    st.tuples(st.just("copy"), st.sampled_from(PAIRS), st.integers(1, 9)),
    st.tuples(st.just("forget"), st.sampled_from(PAIRS), st.integers(1, 9)),
    st.tuples(st.sampled_from(["save", "kill"]), st.sampled_from(REGIONS)),
)  # fmt: skip


def act(mirrors: Mirrors, step: tuple[Any, ...]) -> None:
    match step:
        case "quote", region, who, bid:
            mirrors.regions[region].quote(who, bid)
        case "copy", (source, target), rows:
            mirrors.copy(source, target, rows)
        case "forget", (source, target), rows:
            mirrors.forget(source, target, rows)
        case "save", region:
            mirrors.regions[region].save()
        case "kill", region:
            mirrors.regions[region].kill()


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=40), st.lists(st.integers(0, 50), min_size=3, max_size=3))
def test_all_regions_have_the_same_in_the_end(steps: list[tuple[Any, ...]], ahead: list[int]) -> None:
    mirrors = Mirrors(SharingRegion(name, by) for name, by in zip(REGIONS, ahead, strict=True))
    for step in steps:
        act(mirrors, step)
    mirrors.heal()
    us, eu, jp = mirrors.regions.values()
    for table in ("Last", "Seen"):
        assert us.shown(table) == eu.shown(table) == jp.shown(table)
    news = Counter(step[2:] for step in steps if step[0] == "quote")
    for region in (us, eu, jp):
        assert Counter((dict(row)["who"], dict(row)["n"]) for row in region.heard().elements()) == news
        # what is recorded is all that its rows follow from
        assert told(region.replayed()) == told(once(region.rows))


def two() -> tuple[SharingRegion, SharingRegion, Mirrors]:
    """Make a world in which the clock of us is a second ahead."""
    us, eu = SharingRegion("us", 1_000), SharingRegion("eu")
    return us, eu, Mirrors((us, eu))


def values_in(region: SharingRegion, table: str) -> list[dict[str, Any]]:
    return [dict(row) for row in region.shown(table).elements()]


def test_who_has_seen_a_row_is_not_beaten_by_it_because_of_a_clock() -> None:
    us, eu, mirrors = two()
    us.quote("a", 3.0)
    mirrors.heal()
    eu.quote("a", 4.0)
    mirrors.heal()
    assert values_in(us, "Last") == values_in(eu, "Last") == [{"who": "a", "n": 4.0, "region": "eu"}]


def test_of_two_that_have_not_seen_each_other_one_wins_in_both() -> None:
    us, eu, mirrors = two()
    us.quote("a", 3.0)
    eu.quote("a", 4.0)
    assert values_in(eu, "Last") == [{"who": "a", "n": 4.0, "region": "eu"}]
    mirrors.heal()
    assert values_in(us, "Last") == values_in(eu, "Last") == [{"who": "a", "n": 3.0, "region": "us"}]


def test_a_row_that_is_gone_does_not_come_back_with_an_older_change() -> None:
    us, eu, mirrors = two()
    eu.quote("a", 3.0)
    mirrors.copy("eu", "us", 9)
    us.quote("a", 8.0)
    eu.quote("a", 4.0)
    mirrors.heal()
    assert values_in(us, "Last") == values_in(eu, "Last") == []


def test_rows_without_a_key_never_meet_and_any_region_deletes_them() -> None:
    us, eu, mirrors = two()
    us.quote("a", 6.0)
    eu.quote("a", 6.0)
    eu.quote("b", 7.0)
    mirrors.heal()
    assert sorted(row["who"] for row in values_in(us, "Seen")) == ["a", "a", "b"]
    us.quote("a", 9.0)
    mirrors.heal()
    assert values_in(us, "Seen") == values_in(eu, "Seen") == [{"who": "b", "n": 7.0}]


def test_what_is_local_is_a_regions_own() -> None:
    us, eu, mirrors = two()
    us.quote("a", 6.0)
    mirrors.heal()
    assert values_in(us, "Own") == [{"who": "a", "n": 6.0}]
    assert values_in(eu, "Own") == []


def test_a_row_of_another_region_is_seen_when_it_comes_and_is_not_given_again() -> None:
    us, eu, mirrors = two()
    us.quote("a", 6.0)
    given = [row for message in us.sent for row in eu.receive(message)]
    assert [(row.stream, row.time, dict(row.values)) for row in given] == [("Heard", START, {"who": "a", "n": 6.0})]
    assert eu.sent == []
    mirrors.heal()
    assert eu.heard() == us.heard()


async def test_the_next_session_begins_with_the_last_changes_of_all_regions() -> None:
    us, eu, mirrors = two()
    us.quote("a", 6.0)
    eu.quote("b", 7.0)
    us.quote("c", 3.0)
    mirrors.heal()
    eu.quote("c", 8.0)
    mirrors.heal()
    kept: dict[tuple[str, str], tuple[Any, ...]] = {}
    for region in (us, eu):
        given = [orjson.loads(message) for message in region.sent]
        records = [Record(APPS, 0, at, "label", orjson.dumps(row), 0) for at, row in enumerate(given)]
        for change in table_changes(records, "sharing", region.source.outside.tables):
            assert change.stamp is not None
            place = change.collection, change.key
            if change.stamp > kept.get(place, (0, 0, ""))[2]:
                kept[place] = orjson.loads(change.key), change.row, change.stamp
    late = SharingRegion("jp")
    own = late.source.outside.tables

    async def of(table: Any) -> list[tuple[Any, ...]]:
        return [change for (collection, _), change in kept.items() if collection == table.collection]

    names = frozenset(("Last", "Seen"))
    filled = TableSource(own, 0, InputPlace(), START * 1_000, of, names)
    for row in await filled.next():
        late.add(row)
    for table in ("Last", "Seen"):
        assert late.shown(table) == us.shown(table) == eu.shown(table)
    # its own number goes on, and what it has seen is not beaten
    late.quote("a", 6.5)
    assert len(values_in(late, "Seen")) == len(values_in(us, "Seen")) + 1
    # who goes on amid them has all that is shared once more
    again = TableSource(own, 0, InputPlace({TABLES: 1}), START * 1_000, of, names)
    assert [row.offset for row in await again.next()] == [1, ALL]


def test_who_begins_late_with_the_past_does_not_beat_what_is_from_later() -> None:
    us, jp = SharingRegion("us", 9_000), SharingRegion("jp")
    us.quote("a", 7.0)
    changes = [row_of(message)["values"] for message in us.sent if row_of(message)["stream"] == "Last"]
    kept = [tuple(change[name] for name in SHARED_CHANGE) for change in changes]
    assert changed_before(kept, START + 9_002) == kept
    for change in changed_before(kept, START + 1):
        jp.add(SourceRow(TABLES, 0, 0, START * 1_000, [("Last", change)]))
    jp.quote("a", 1.0)
    Mirrors((us, jp)).heal()
    assert values_in(us, "Last") == values_in(jp, "Last") == [{"who": "a", "n": 7.0, "region": "us"}]


@pytest.mark.parametrize(
    ("key", "content", "text"),
    [
        # of a version with a key although this one has none, and with another key
        (["a", None], {"who": "a"}, TEXT.replace("@PrimaryKey('who') CREATE TABLE GLOBAL", "CREATE TABLE GLOBAL")),
        (["b"], {"who": "a"}, TEXT),
    ],
)
def test_another_versions_keys_are_left_out(key: list[Any], content: dict[str, Any], text: str) -> None:
    eu = SharingRegion("eu", text=text)
    change = {"key": key, "row": content, "stamp": stamp_of(START, "us", (0, 0))}
    eu.receive(message(stream="Last", values=change))
    assert values_in(eu, "Last") == []


def test_stamps_as_texts_have_the_order_of_what_they_are_made_of() -> None:
    parts = [
        (time, region, order)
        for time in (0, 9, 10, 1_700_000_000_000)
        for region in ("eu", "us", "us-east", "us2")
        for order in ((0, 0), (0, 10), (9, 0), (10, 0))
    ]
    assert sorted(parts) == sorted(parts, key=lambda part: stamp_of(*part))
    assert [time_in(stamp_of(*part)) for part in parts] == [time for time, _, _ in parts]


def test_stamps_of_rows_that_are_gone_are_kept_for_two_days() -> None:
    source = shared_source("us")
    (stored,) = (one for one in source.outside.tables if one.table == "Last")
    columns = tuple(TypedColumn(name, kind) for name, kind in stored.columns)
    table, shared = Table(columns, (0,)), SharedTable(stored, "us")
    shared.reported(("a",), None, START, (1, 0))
    shared.reported(("b",), ("b", 1.0, "us"), START, (2, 0))
    old = [["a"], {"who": "a", "n": 2.0, "region": "eu"}, stamp_of(START - 1, "eu", (0, 0))]
    shared.put(table, tuple(old))
    assert list(table.rows()) == []
    shared.forget(START + STAMP_KEPT_MS)
    shared.put(table, tuple(old))
    assert list(table.rows()) == []
    shared.forget(START + STAMP_KEPT_MS + 1)
    shared.put(table, tuple(old))
    assert [row for _, _, row in table.rows()] == [("a", 2.0, "eu")]
    # the row that is there has its stamp
    shared.put(table, (["b"], None, stamp_of(START - 1, "eu", (0, 0))))
    assert shared.reported(("b",), None, START, (3, 0))[2] == stamp_of(START + 1, "us", (3, 0))


def message(**changes: Any) -> bytes:
    values = {"who": "a", "n": 1.0}
    row = {"id": "l:0:7:1", "app": "sharing", "stream": "News", "time": 5, "values": values}
    return orjson.dumps({"session": SESSION, "region": "us"} | row | changes)


def taken(value: bytes) -> SourceRow | None:
    return reader_of(shared_source("eu"), 2_000).row(Record(SHARED_IN, 0, 3, "l", value, 3_000))


def test_a_row_of_another_region_as_a_row_of_the_input_log() -> None:
    found = taken(message())
    assert found == SourceRow(SHARED_IN, 0, 3, 3_000, [("News", ("us:l:0", 7, 1, 5, ["a", 1.0]))], "l")


@pytest.mark.parametrize(
    "value",
    [
        message(app="other"),
        message(stream="Own"),
        message(stream="Heard"),
        message(session="before"),
        message(id="7"),
        message(values=None),
        message(values={"who": "a", "n": "much"}),
        message(stream="Last", values={"key": ["a"]}),
        message(stream="Last", values={"key": ["a"], "row": 3, "stamp": "1"}),
        message(stream="Last", values={"key": "a", "row": None, "stamp": "1"}),
        message(stream="Last", values={"key": ["a"], "row": None, "stamp": 1}),
        b"{",
    ],
)
def test_what_is_none_of_the_apps_is_left_out(value: bytes) -> None:
    assert taken(value) is None


def test_another_versions_columns_are_taken_by_name() -> None:
    found = taken(message(values={"n": 2, "more": True}))
    assert found is not None
    assert found.rows[0][1][-1] == [None, 2]
    # a table takes what an earlier session left on the way
    change = {"key": ["a"], "row": {"who": "a"}, "stamp": stamp_of(1, "us", (0, 0))}
    assert taken(message(session="before", stream="Last", values=change)) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"key": ["a", "b"], "row": {"who": "a"}, "stamp": stamp_of(1, "us", (0, 0))},
        {"key": ["a"], "row": {"who": "a", "n": "much"}, "stamp": stamp_of(1, "us", (0, 0))},
        {"key": ["a"], "row": {"who": "a"}, "stamp": "later"},
    ],
)
def test_another_versions_table_does_not_end_the_app(change: dict[str, Any]) -> None:
    eu = SharingRegion("eu")
    eu.quote("b", 3.0)
    eu.receive(message(stream="Last", values=change))
    assert values_in(eu, "Last") == [{"who": "b", "n": 3.0, "region": "eu"}]


def test_without_regions_nothing_is_shared() -> None:
    alone = app_source(TEXT, "sharing", (("region", "us"),))
    assert alone.shared is None
    assert SHARED_IN not in alone.sources
    us = app_source(TEXT, "sharing", (("region", "us"),), region="us")
    assert us.sources == (TABLES, TICKS, SHARED_IN)
    # the same digest, so a replay finds what was kept
    assert us.label == alone.label
    assert HostedApp(alone, 0).snapshot() == HostedApp(us, 0).snapshot()
