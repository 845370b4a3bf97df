"""A region's log in which rows came again is to its recorded set, the kernel and apps as if they had not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backtest.apps.recorded_messages import recorded_ticks
from backtest.verify.recorded_session import RecordedSession, SessionHead
from cep.detection.market_layout import layout_of
from cep.detection.spread_rows import (
    COLUMNS,
    SOURCE_COLUMNS,
    BaseSpreads,
    PairSpread,
    counted_rows,
    rows_in_order,
)
from streams.message_format import marker_row, row_of
from streams.mirrored_rows import REPEATED, UnrepeatedRows, unrepeated_rows
from streams.records import Record
from streams.topics import TICKS
from tests.cep.detection.test_kernel import Seen, found, wanted
from tests.cep.logs import BASES, MARKETS, START, LogMaker
from tests.cep.logs import session as session_of
from tests.cep.repeats import CASES, RepeatCase, counted_messages, messages_of, with_repeats
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set
from tick_sets.sets.tick_set import TickSet, batches

BASE = "BTC"
LAYOUT = layout_of(session_of())


def recorded(folder: Path, messages: Sequence[bytes], region: str | None) -> RecordedSession:
    """Return the log as a session of that region keeps it."""
    ends = [marker_row("end", base, "it", START) for base in BASES]
    log = [Record(TICKS, 0, number, None, value, START) for number, value in enumerate([*messages, *ends])]
    parts = LogParts(folder / "raw")
    parts.write(TICKS, log)
    last = {base: len(messages) + number for number, base in enumerate(BASES)}
    span = LogSpan("it", MARKETS, "USD", 1, {0: 0}, None, last, START, region=region)
    build_tick_set(parts, span, folder / "ticks")
    return RecordedSession(folder, SessionHead("paper", span))


def table_of(tick_set: TickSet, base: str) -> pa.Table:
    return pa.concat_tables(list(batches(tick_set, base))).unify_dictionaries()


def detected(messages: Sequence[bytes], region: str | None, base: str = BASE) -> list[Seen]:
    with TemporaryDirectory() as folder:
        return found(table_of(recorded(Path(folder), messages, region).tick_set(), base), base)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_rows_that_come_again_do_not_count(case: RepeatCase) -> None:
    unrepeated, (_, *rows) = UnrepeatedRows(), map(row_of, messages_of(case))
    assert tuple(place for place, row in enumerate(rows) if unrepeated.is_new(0, row)) == case.counted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_detection_over_the_recorded_log_passes_over_them(case: RepeatCase) -> None:
    places = [0, *(1 + place for place in case.counted)]
    once = [replace(seen, offset=places[seen.offset]) for seen in wanted(counted_messages(case), BASE)]
    assert detected(messages_of(case), "us") == once


def test_taken_as_they_came_they_would_matter() -> None:
    """So the cases show something: without a region nothing is passed over."""
    unlike = [case for case in CASES if detected(messages_of(case), None) != detected(messages_of(case), "us")]
    assert len(unlike) >= 8


def spreads(messages: Sequence[bytes], region: str | None, step: int = 3) -> list[PairSpread]:
    """As the query of spread windows has them, in batches of `step` messages; of what Spark reads a few columns."""
    unrepeated, state, found_spreads = unrepeated_rows(region), BaseSpreads(LAYOUT, None), list[PairSpread]()
    slots = LAYOUT.slot_numbers(BASE)
    routes = {route.symbol: number for number, route in enumerate(LAYOUT.routes)}
    read = [(offset, row_of(message)) for offset, message in enumerate(messages)]
    mine = [(offset, row) for offset, row in read if BASE in (row.get("bases") or [row["base"]])]
    for start in range(0, len(mine), step):
        rows = [
            {name: row.get(name) for name in ("kind", "received_time", "exchange", "symbol", "sequence")}
            | {name: float(row[name]) if name in row else None for name in ("bid", "ask")}
            | {"base": BASE, "offset": offset, "settings": row if row["kind"] == "settings" else None}
            | {"slot": slots.get((row.get("exchange", ""), row.get("symbol", "")))}
            | {"route": routes.get(row.get("symbol", ""))}
            for offset, row in mine[start : start + step]
        ]
        values = [tuple(row[name] for name in (*COLUMNS, *SOURCE_COLUMNS)) for row in rows]
        for row in rows_in_order(values if unrepeated is None else counted_rows(values, unrepeated)):
            found_spreads += state.learn(row)
    return found_spreads


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_spreads_over_windows_leave_them_out(case: RepeatCase) -> None:
    assert spreads(messages_of(case), "us") == spreads(counted_messages(case), None)


def test_spreads_of_any_log_with_repeats_are_those_without() -> None:
    messages = LogMaker(9).write(300)
    log = [value for _, value in with_repeats(messages, 9, kills=8)]
    once = spreads(messages, None)
    assert len(once) > 200
    assert spreads(log, "us", 20) == once
    assert spreads(log, None) != once


@hypothesis_settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), kills=st.integers(1, 8))
def test_any_log_with_repeats_gives_what_it_gives_without(seed: int, kills: int) -> None:
    messages = LogMaker(seed).write(200)
    log = with_repeats(messages, seed, kills)
    places: dict[int, int] = {}
    """Where each row of the log without repeats stands in the one with them."""
    for place, (number, _) in enumerate(log):
        places.setdefault(number, place)
    for base in BASES:
        once = [replace(seen, offset=places[seen.offset]) for seen in wanted(messages, base)]
        assert detected([value for _, value in log], "us", base) == once


def test_made_up_logs_repeat_many_rows_of_every_kind() -> None:
    log = with_repeats(LogMaker(5).write(400), 5, kills=8)
    again = [value for place, (number, value) in enumerate(log) if number in {one for one, _ in log[:place]}]
    assert len(again) > 40
    assert {row_of(value)["kind"] for value in again} >= {"quote", "alive", "fx"}


def test_the_recorded_log_keeps_them_and_says_which_they_are(tmp_path: Path) -> None:
    messages = LogMaker(7).write(200)
    log = with_repeats(messages, 7)
    session = recorded(tmp_path, [value for _, value in log], "us")
    rows = table_of(session.tick_set(), BASE).to_pylist()
    mine = [value for _, value in log if BASE in (row_of(value).get("bases") or [row_of(value)["base"]])]
    assert [row["received_time"] for row in rows[:-1]] == [row_of(value)["received_time"] for value in mine]
    assert sum(row["kind"] == REPEATED for row in rows) > 10
    assert session.tick_set().manifest.quotes == sum(row_of(one)["kind"] in ("quote", "fx") for one in messages)


def test_apps_over_the_recorded_log_get_each_row_once(tmp_path: Path) -> None:
    messages = LogMaker(8).write(200)
    again = recorded(tmp_path / "again", [value for _, value in with_repeats(messages, 8)], "us")
    once = recorded(tmp_path / "once", messages, "us")
    logs = [recorded_ticks(session.tick_set(), session) for session in (again, once)]
    (of_again,), (of_once,) = ([[row for *_, row in one.messages()] for one in log] for log in logs)
    assert _without_offsets(of_again) == _without_offsets(of_once)


def _without_offsets(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "offset"} for row in rows]
