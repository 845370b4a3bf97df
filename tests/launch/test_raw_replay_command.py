"""`arbitrage raw-replay` says what came out again and what did not, and ends with 1 only for a difference or damage."""

from dataclasses import replace
from pathlib import Path

import pytest

from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.paper import recordings_limit_mb
from pricefeeds.quoting.symbol_feed import SymbolFeed
from pricefeeds.recording.feed_recorder import FileRecorder, recordings_folder
from pricefeeds.recording.feed_recording import parts_of
from tests.pricefeeds.recorded_notes import HEADER, LIMITS, folder_of
from tests.pricefeeds.samples import MARKET, book

RECORDING = PaperOptions(record=True)


def recorded(root: Path, last_sequence: int = 0) -> Path:
    """Record a feed that was started above `last_sequence` but says in its recording that it was started above 0."""
    recorder, feed = FileRecorder(root, HEADER, LIMITS), SymbolFeed(MARKET, last_sequence, 1)
    recorder.record(MARKET.symbol, "started", 1, "0")
    recorder.record(MARKET.symbol, "lost", 2, "resyncing")
    recorder.record(
        MARKET.symbol, "book", 3, b'{"bids":"[[\\"1\\",\\"1\\"]]","asks":"[[\\"2\\",\\"1\\"]]","exchange_time":3}'
    )
    recorder.record_rows(MARKET.symbol, 3, feed.take(replace(book("1", "2"), exchange_time=3), 3))
    recorder.close()
    return folder_of(root)


def test_equal_rows_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path)
    assert run(["raw-replay", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "bitstamp: 0 messages and 0 REST responses in 1 files, 0 rejected; identical rows: BTC/EUR 1\n"
    )


def test_a_difference_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, last_sequence=99)
    assert run(["raw-replay", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("identical rows: none")
    assert lines[1] == "  DIFFERENT: row 1 of BTC/EUR, at 3"
    assert '"sequence":100' in lines[2]
    assert '"sequence":3' in lines[3]


def test_a_file_that_was_cut_off_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = parts_of(recorded(tmp_path))
    part.write_bytes(part.read_bytes()[:-20])
    assert run(["raw-replay", str(tmp_path)]) == 0
    assert f"{part.name} is truncated; read up to its last complete line" in capsys.readouterr().out


def test_a_recording_that_was_emptied_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in parts_of(recorded(tmp_path)):
        part.write_bytes(b"")
    assert run(["raw-replay", str(tmp_path)]) == 2
    assert "there is nothing to replay" in capsys.readouterr().err


def test_a_damaged_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = parts_of(recorded(tmp_path))
    part.write_bytes(b"nonsense")
    for folder in (tmp_path, tmp_path / "none"):
        assert run(["raw-replay", str(folder)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_no_session_records_unless_asked_to(tmp_path: Path) -> None:
    assert recordings_limit_mb(tmp_path, replace(RECORDING, record=False), Configuration()) is None
    assert recordings_limit_mb(tmp_path, RECORDING, Configuration(recordings_mb=7)) == 7
    reported = Configuration(record=True, recordings_mb=7)
    assert recordings_limit_mb(tmp_path, replace(RECORDING, record=False), reported) == 7


def test_no_session_starts_to_record_where_there_is_no_room(tmp_path: Path) -> None:
    folder = recorded(recordings_folder(tmp_path))
    (folder / "bitstamp-0002.jsonl.gz").write_bytes(bytes(1_000_000))
    with pytest.raises(CannotStartError, match="holds 1 MB of recordings, and `recordings_mb` is 1") as caught:
        recordings_limit_mb(tmp_path, RECORDING, Configuration(recordings_mb=1))
    assert "\n" not in str(caught.value)
