"""A snapshot that is torn, cut short, of another version or of another app is refused, and the log is read again: the
same rows with the same ids."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cep.apps.engine.snapshots import FORMAT
from cep.apps.hosts.log_rows import RowReading
from cep.apps.resident.kernel import PlacedApp, ResidentKernel
from cep.snapshot_folder import SnapshotFolder
from streams.message_format import row_of
from streams.records import Record
from streams.topics import TICKS
from tests.cep.apps.hosts.quote_app import QUOTE_APP, source, told
from tests.cep.logs import LogMaker

FIRST = 40
LOG = [Record(TICKS, 0, FIRST + number, None, row, 0) for number, row in enumerate(LogMaker(5).write(400))]
CUT = 250


def kernel(folder: Path, text: str = QUOTE_APP) -> ResidentKernel:
    return ResidentKernel(PlacedApp(source(text), folder, {(TICKS, 0): FIRST}), 0)


def rows_of(app: ResidentKernel, log: list[Record]) -> list[tuple[str, str, int, dict[str, object]]]:
    return told(row for one in log for row in app.take(one, row_of(one.value), RowReading()))


def snapshot_at_the_cut(folder: Path, text: str = QUOTE_APP) -> list[tuple[str, str, int, dict[str, object]]]:
    """Return what was given until then."""
    app = kernel(folder, text)
    rows = rows_of(app, LOG[:CUT])
    app.save(app.app.snapshot(), app.next)
    return rows


def other_format(later: int) -> bytes:
    """Return a snapshot's first line of a version that is later by `later`."""
    *words, number = FORMAT.split()
    return b" ".join((*words, b"%d" % (int(number) + later))) + b"\n"


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "a byte short": lambda data: data[:-1],
    "cut within its head": lambda data: data[:10],
    "cut within its digest": lambda data: data[: len(FORMAT) + 7],
    "half": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"x",
    "zeros at its end, as after a loss of power": lambda data: data[:-64] + bytes(64),
    "a bit turned": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "of the version before": lambda data: data.replace(FORMAT, other_format(-1), 1),
    "of a later version": lambda data: data.replace(FORMAT, other_format(1), 1),
    "no snapshot": lambda data: b"\x80\x05N.",
}


def test_a_whole_snapshot_is_gone_on_from(tmp_path: Path) -> None:
    before = snapshot_at_the_cut(tmp_path)
    app = kernel(tmp_path)
    assert app.next == FIRST + CUT
    assert before + rows_of(app, LOG) == rows_of(kernel(tmp_path / "other"), LOG)


def test_an_older_one_that_is_written_later_leaves_the_newer_one(tmp_path: Path) -> None:
    app, taken = kernel(tmp_path), list[tuple[bytes, int]]()
    for rows in (LOG[:100], LOG[100:200]):
        rows_of(app, rows)
        taken.append((app.app.snapshot(), app.next))
    for snapshot, until in reversed(taken):
        app.save(snapshot, until)
    assert kernel(tmp_path).next == FIRST + 200
    assert app.is_saved


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_one_is_refused_and_the_log_is_read_again(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot_at_the_cut(tmp_path)
    kept = SnapshotFolder(tmp_path)
    whole = kept.load(0)
    assert whole is not None
    kept.save(0, SPOILT[name](whole))
    app = kernel(tmp_path)
    assert [one.getMessage() for one in caplog.records] == ["snapshot not used: the log is read again"]
    assert app.next == FIRST
    again = rows_of(app, LOG)
    assert again == rows_of(kernel(tmp_path / "other"), LOG)
    assert len(again) > 20


def test_one_of_another_partition_is_refused_and_the_log_is_read_again(tmp_path: Path) -> None:
    snapshot_at_the_cut(tmp_path)
    SnapshotFolder(tmp_path).path(0).rename(SnapshotFolder(tmp_path).path(1))
    placed = PlacedApp(source(), tmp_path, {(TICKS, 1): FIRST})
    assert ResidentKernel(placed, 1).next == FIRST


def test_one_of_another_text_is_refused_and_the_log_is_read_again(tmp_path: Path) -> None:
    other = QUOTE_APP.replace("200 milliseconds", "250 milliseconds")
    snapshot_at_the_cut(tmp_path, other)
    app = kernel(tmp_path)
    assert app.next == FIRST
    assert rows_of(app, LOG) == rows_of(kernel(tmp_path / "other"), LOG)
