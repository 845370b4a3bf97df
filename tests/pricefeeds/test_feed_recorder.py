"""A recorder loses nothing that it was given, little to a kill, and never troubles the feed whatever the disk does."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import SymbolFeed
from pricefeeds.recording.feed_recorder import NoRecorder, RecordingLimits, recorded_bytes, recording, recordings_folder
from pricefeeds.recording.feed_recording import RecordedEvent, RecordedEventKind, parts_of, row_text
from runtime.clock import SystemClock
from session.session import Services, Session
from tests.pricefeeds.recorded_notes import HEADER, ends_in, folder_of, notes_in, recorder_at
from tests.pricefeeds.samples import MARKET, book

DEADLINE_SECONDS = 30.0
SYMBOL = MARKET.symbol


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():
            await SystemClock().sleep(0.01)


def started_writer(root: Path, file_bytes: int = 1_000_000_000) -> subprocess.Popen[str]:
    command = (sys.executable, "-m", "tests.pricefeeds.recorded_notes", str(root), str(file_bytes))
    folder = Path(__file__).parents[2]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_everything_recorded_is_read_again_in_its_order(tmp_path: Path) -> None:
    feed, recorder = SymbolFeed(MARKET, 0, 0), recorder_at(tmp_path)
    expected = [RecordedEvent(SYMBOL, "started", 0, "0")]
    recorder.record(SYMBOL, "started", 0, "0")
    for now, top in enumerate((book("1", "2"), book("1", "2"), book("3", "2")), start=1):
        recorder.record(SYMBOL, "frame", now, f"{now}")
        rows = feed.take(top, now)
        recorder.record_rows(SYMBOL, now, rows)
        expected += [
            RecordedEvent(SYMBOL, "frame", now, f"{now}"),
            *(RecordedEvent(SYMBOL, "row", now, row_text(row)) for row in rows),
        ]
    recorder.close()
    assert notes_in(folder_of(tmp_path)) == expected
    assert [event.kind for event in expected].count("row") == 3  # a quote, the crossed book, the withdrawal
    assert ends_in(folder_of(tmp_path)) == ["closed"]
    assert recorder.stopped is None


@pytest.mark.parametrize(
    ("limits", "files"),
    [
        (RecordingLimits(part_seconds=1.0), 10),
        (RecordingLimits(part_bytes=0), 100),
        (RecordingLimits(), 1),
    ],
    ids=["by time", "by size", "neither"],
)
def test_files_follow_one_another(tmp_path: Path, limits: RecordingLimits, files: int) -> None:
    recorder = recorder_at(tmp_path, limits)
    for number in range(100):
        recorder.record(SYMBOL, "frame", number * MICROSECONDS // 10, f"{number}")
    recorder.close()
    assert [event.data for event in notes_in(folder_of(tmp_path))] == [f"{number}" for number in range(100)]
    assert ends_in(folder_of(tmp_path)) == ["continued"] * (files - 1) + ["closed"]


def test_a_second_process_of_the_session_goes_on_behind_the_first(tmp_path: Path) -> None:
    for number in (1, 2):
        recorder = recorder_at(tmp_path)
        recorder.record(SYMBOL, "started", number, "0")
        recorder.close()
    assert [event.now for event in notes_in(folder_of(tmp_path))] == [1, 2]


async def test_a_kill_costs_the_last_moment_alone(tmp_path: Path) -> None:
    writer = started_writer(tmp_path)
    try:
        await until(lambda: recorded_bytes(tmp_path) > 20_000)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    events = notes_in(folder_of(tmp_path))
    assert len(events) > 100
    assert [event.now for event in events] == list(range(1, len(events) + 1))
    assert ends_in(folder_of(tmp_path)) == [None]


async def test_a_full_disk_ends_the_recording_with_one_sentence(tmp_path: Path) -> None:
    writer = started_writer(tmp_path, file_bytes=50_000)
    output, errors = await asyncio.to_thread(writer.communicate, timeout=DEADLINE_SECONDS)
    assert writer.returncode == 0, errors
    assert output.startswith("writing failed (")
    assert errors.strip() == "recording stopped; the feed goes on without it"
    events = notes_in(folder_of(tmp_path))
    assert [event.now for event in events] == list(range(1, len(events) + 1))
    assert len(events) > 100
    assert ends_in(folder_of(tmp_path)) == [None]


async def test_at_the_limit_recording_stops_and_deletes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    older = tmp_path / "older" / "kraken" / "kraken-0001.jsonl.gz"
    older.parent.mkdir(parents=True)
    older.write_bytes(bytes(1_000_000))
    recorder = recorder_at(tmp_path, RecordingLimits(total_bytes=1_000_000))
    recorder.record(SYMBOL, "frame", 1, "x")
    await until(lambda: recorder.stopped is not None)
    recorder.record(SYMBOL, "frame", 2, "y")
    recorder.close()
    assert ends_in(folder_of(tmp_path)) == ["stopped"]
    assert recorder.stopped == "all recordings together reached recordings_mb = 1; delete some, or raise it"
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert [event.now for event in notes_in(folder_of(tmp_path))] == [1]
    assert older.stat().st_size == 1_000_000


def test_what_a_slow_disk_does_not_take_is_not_kept_in_memory(tmp_path: Path) -> None:
    recorder = recorder_at(tmp_path, RecordingLimits(pending_bytes=100_000))
    recorder.record(SYMBOL, "frame", 1, "x" * 200_000)
    recorder.record(SYMBOL, "frame", 2, "y")
    assert recorder.stopped == "the disk is slower than the feed"
    recorder.close()
    assert notes_in(folder_of(tmp_path)) == []
    assert ends_in(folder_of(tmp_path)) == ["stopped"]


async def test_much_at_once_is_written_before_its_time(tmp_path: Path) -> None:
    recorder = recorder_at(tmp_path, RecordingLimits(pending_bytes=1_000_000), flush_seconds=DEADLINE_SECONDS * 2)
    for number in range(100):
        recorder.record(SYMBOL, "frame", number, "x" * 1_000)
    await until(lambda: bool(parts_of(folder_of(tmp_path))) and len(notes_in(folder_of(tmp_path))) > 50)
    recorder.close()
    assert recorder.stopped is None


def test_a_folder_that_cannot_be_written_stops_the_recording_alone(tmp_path: Path) -> None:
    (tmp_path / HEADER.session_id).write_text("in the way")
    recorder = recorder_at(tmp_path)
    recorder.record(SYMBOL, "frame", 1, "x")
    recorder.close()
    assert str(recorder.stopped).startswith("writing failed (")


def test_a_session_records_only_where_it_is_asked_to(tmp_path: Path) -> None:
    session = Session(
        session_id="test",
        mode="paper",
        home=tmp_path,
        services=Services(kafka="", mongodb="", database=""),
        markets=(MARKET,),
        settlement_currency="USD",
    )
    kinds: tuple[RecordedEventKind, ...] = ("started", "opened")
    for one in (session, replace(session, upkeep=replace(session.upkeep, recordings_mb=10))):
        with recording(one, MARKET.exchange) as recorder:
            assert isinstance(recorder, NoRecorder) == (one.upkeep.recordings_mb is None)
            for kind in kinds:
                recorder.record(SYMBOL, kind, 1)
            recorder.record_rows(SYMBOL, 1, [])
    folder = recordings_folder(tmp_path) / "test" / MARKET.exchange
    assert [event.kind for event in notes_in(folder)] == ["started", "opened"]
    assert [path.stat().st_mode & 0o077 for path in parts_of(folder)] == [0]
