"""The recorder of the log: whole files, nothing twice and nothing lost if it is killed, an end, and a limit."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from market.instruments.cycles import CycleTerms
from pricefeeds.log_recorder import ENDED, STARTED, STOPPED, LogRecorder, log_folder
from session.session import Session
from streams.message_format import marker_row, settings_row
from streams.records import Record
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES, TICKS
from tests.cep.logs import BASES, MARKETS, START, LogMaker, settings
from tests.cep.logs import session as session_of
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set, write_messages
from tick_sets.sets.tick_set import batches, open_tick_set

SESSION = "0123456789abcdef"


class Rows:
    """Stands in for a reader of Kafka: hands out what there is, then what a killed process would never have seen."""

    def __init__(self, *rows: Record) -> None:
        self.rows = rows

    async def batches(self) -> AsyncIterator[list[Record]]:
        for row in self.rows:
            yield [row]
        raise KilledError


class KilledError(Exception):
    """The process is gone."""


def session(home: Path, megabytes: int = 100) -> Session:
    return replace(
        session_of(home, session_id=SESSION),
        upkeep=replace(session_of(home, session_id=SESSION).upkeep, recordings_mb=megabytes),
    )


def begun(home: Path) -> LogParts:
    """Its place in time is known, so that no Kafka is asked."""
    folder = log_folder(home, SESSION) / "raw"
    folder.mkdir(parents=True)
    (folder / STARTED).write_text(json.dumps({"since": 5}))
    return LogParts(folder)


def record(topic: str, offset: int, value: bytes = b"{}", time: int = START) -> Record:
    return Record(topic, 0, offset, None, value, time + offset * 1_000)


def ends(topic: str, first: int, session_id: str = SESSION) -> list[Record]:
    markers = [marker_row("end", base, session_id, START) for base in ("BTC", "ETH")]
    return [record(topic, first + number, marker) for number, marker in enumerate(markers)]


async def followed(recorder: LogRecorder, *rows: Record) -> None:
    """Until all is recorded, or the process is killed."""
    try:
        await recorder.follow(Rows(*rows))
    except KilledError:
        return


async def test_it_ends_once_the_markers_came_out_of_cep_and_leaves_whole_files(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    recorder = LogRecorder(session(tmp_path), parts)
    assert await recorder.begin() == 5
    rows = [record(TICKS, 0, b'{"a":1}'), record(OPPORTUNITIES, 0), *ends(TICKS, 1), *ends(OPPORTUNITIES, 1)]
    await followed(recorder, *rows, record(TICKS, 3))
    assert json.loads((parts.folder / ENDED).read_text())[TICKS] == {"BTC": 1, "ETH": 2}
    assert [offset for _, offset, _, _ in parts.rows(TICKS)] == [0, 1, 2]
    assert next(value for _, _, _, value in parts.rows(TICKS)) == b'{"a":1}'
    assert recorder.is_over


async def test_with_cycles_it_records_those_too_to_their_own_markers(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    watching = replace(session(tmp_path), cycles=CycleTerms(3, frozenset(), frozenset({"kraken", "bitstamp"})))
    recorder = LogRecorder(watching, parts)
    assert await recorder.begin() == 5
    cycles = [record(CYCLE_OPPORTUNITIES, 0, b'{"a":1}'), *ends(CYCLE_OPPORTUNITIES, 1)]
    await followed(recorder, *ends(TICKS, 0), *ends(OPPORTUNITIES, 0), cycles[0])
    assert not recorder.is_over
    await followed(recorder, *cycles)
    assert recorder.is_over
    assert [offset for _, offset, _, _ in parts.rows(CYCLE_OPPORTUNITIES)] == [0, 1, 2]
    written = LogParts(parts.folder)
    assert await LogRecorder(watching, written).begin() == START + 1_000


async def test_markers_of_other_sessions_end_nothing(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    recorder = LogRecorder(session(tmp_path), parts)
    await followed(recorder, *ends(TICKS, 0, "another"), *ends(OPPORTUNITIES, 0, "another"))
    assert not recorder.is_over


async def test_a_killed_recorder_goes_on_behind_its_last_whole_file(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    parts.write(TICKS, [record(TICKS, 0), record(TICKS, 1)])
    parts.write(OPPORTUNITIES, [record(OPPORTUNITIES, 0)])
    # what a kill leaves of a file that was being written
    (parts.folder / "ticks-000002.new").write_bytes(b"PAR1")
    second = LogRecorder(session(tmp_path), parts)
    assert await second.begin() == START
    again = [record(TICKS, 0), record(TICKS, 1), record(OPPORTUNITIES, 0), record(TICKS, 2)]
    await followed(second, *again, *ends(TICKS, 3), *ends(OPPORTUNITIES, 1))
    assert [offset for _, offset, _, _ in parts.rows(TICKS)] == [0, 1, 2, 3, 4]
    assert [offset for _, offset, _, _ in parts.rows(OPPORTUNITIES)] == [0, 1, 2]


async def test_markers_in_the_files_of_a_killed_recorder_count(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    parts.write(TICKS, ends(TICKS, 0))
    recorder = LogRecorder(session(tmp_path), parts)
    await recorder.begin()
    await followed(recorder, *ends(OPPORTUNITIES, 0))
    assert recorder.is_over


async def test_it_stops_at_the_limit_and_says_why(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    (tmp_path / "recordings" / "older.parquet").write_bytes(b"x" * 1_000_001)
    recorder = LogRecorder(session(tmp_path, megabytes=1), parts)
    # the first row is larger than what is kept in memory
    await followed(recorder, record(TICKS, 0, b"x" * 16_000_001))
    assert "recordings_mb = 1" in json.loads((parts.folder / STOPPED).read_text())["reason"]
    assert recorder.is_over


async def test_a_disk_that_takes_no_more_ends_it(tmp_path: Path) -> None:
    parts = begun(tmp_path)
    recorder = LogRecorder(session(tmp_path), parts)
    (parts.folder / "ticks-000001.new").mkdir()
    await followed(recorder, record(TICKS, 0, b"x" * 16_000_001))
    assert "writing failed" in json.loads((parts.folder / STOPPED).read_text())["reason"]


def span(first: int, last: int, opening: str | None = None) -> LogSpan:
    return LogSpan(SESSION, MARKETS, "USD", 1, {0: first}, opening, {"BTC": last, "ETH": last}, START)


def test_the_set_holds_each_base_its_rows_from_where_cep_began_to_the_marker(tmp_path: Path) -> None:
    parts = LogParts(tmp_path / "raw")
    values = LogMaker(3).write(300)
    parts.write(TICKS, [record(TICKS, number, value) for number, value in enumerate(values)])
    manifest = build_tick_set(parts, span(20, 150), tmp_path / "set")
    found = open_tick_set(tmp_path / "set")
    for base in manifest.bases:
        rows = [row for table in batches(found, base) for row in table.to_pylist()]
        expected = [
            (number, row["kind"], row.get("bid"), row["received_time"])
            for number, row in ((number, json.loads(value)) for number, value in enumerate(values))
            if 20 <= number <= 150 and base in (row.get("bases") or [row["base"]])
        ]
        assert [(row["offset"], row["kind"], row["bid"], row["received_time"]) for row in rows] == expected
        assert all((row["document"] is not None) == (row["kind"] in ("settings", "probe", "end")) for row in rows)
    quoted = [json.loads(value)["kind"] in ("quote", "fx") for value in values[20:151]]
    assert manifest.quotes == sum(quoted)


def test_the_settings_in_force_where_cep_began_stand_before_all_rows(tmp_path: Path) -> None:
    parts = LogParts(tmp_path / "raw")
    values = LogMaker(4).write(100)[:60]
    parts.write(TICKS, [record(TICKS, number, value) for number, value in enumerate(values)])
    text = settings_row(settings(7), START, BASES).decode()
    build_tick_set(parts, span(30, 59, text), tmp_path / "set")
    found = open_tick_set(tmp_path / "set")
    for base in ("BTC", "ETH"):
        first = next(batches(found, base)).to_pylist()[0]
        assert (first["offset"], first["kind"], first["document"]) == (29, "settings", text)


def test_it_spans_its_own_session_although_its_settings_were_written_in_the_one_before(tmp_path: Path) -> None:
    parts = LogParts(tmp_path / "raw")
    values = LogMaker(4).write(100)
    parts.write(TICKS, [record(TICKS, number, value) for number, value in enumerate(values)])
    text = settings_row(settings(7), START - 86_400_000_000, BASES).decode()
    last = json.loads(values[99])["received_time"]
    own = replace(span(30, 99, text), started_at=START + 60)
    build_tick_set(parts, own, tmp_path / "set")
    manifest = open_tick_set(tmp_path / "set").manifest
    assert (manifest.start_time, manifest.end_time) == (START + 60, last)


@pytest.mark.parametrize(("skipped", "sentence"), [(40, "lacks rows 40 to 40"), (59, "ends before row 59")])
def test_rows_that_are_missing_are_named(tmp_path: Path, skipped: int, sentence: str) -> None:
    parts = LogParts(tmp_path / "raw")
    values = LogMaker(5).write(100)[:60]
    parts.write(TICKS, [record(TICKS, number, value) for number, value in enumerate(values) if number != skipped])
    with pytest.raises(ImportRejectedError, match=sentence):
        build_tick_set(parts, span(0, 59), tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_opportunities_of_the_session_before_are_left_out(tmp_path: Path) -> None:
    parts = LogParts(tmp_path / "raw")
    parts.write(OPPORTUNITIES, [record(OPPORTUNITIES, 0, b"old", START - 1_000), record(OPPORTUNITIES, 1, b"own")])
    assert write_messages(parts, OPPORTUNITIES, span(0, 0), tmp_path / "opportunities.parquet") == 1
