"""A resident kernel writes what each key of a processor has beside its snapshots, and goes on from both."""

from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.key_log import SIZES
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.hosts.log_rows import RowReading
from cep.apps.resident.kernel import PlacedApp, ResidentKernel
from cep.apps.resident.worker import AppWorker
from cep.apps.resident.worker_progress import progress_notes
from cep.snapshot_folder import SnapshotFolder
from launch.apps.savepoints import NotYetSavedError, taken_savepoint
from launch.errors import CannotStartError
from streams.records import Record
from streams.topics import HEALTH

CODE = """
from arbitrage.processors import processor

@processor(key="query", events=["health"])
class Counts:
    def on_event(self, me, stream, row):
        me.state["n"] = me.state.get("n", 0) + 1
        me.set_alarm(seconds=5)
        me.emit("Out", query=me.key, n=me.state["n"])

    def on_alarm(self, me, name):
        me.emit("Out", query=me.key, n=-me.state["n"])
        me.retire()
"""
TEXT = """@App:processor('counts.Counts', events = 'health', emits = 'Out')
define stream Out (query string, n long);
"""


@pytest.fixture
def source(tmp_path: Path) -> AppSource:
    functions = tmp_path / "functions"
    functions.mkdir()
    (functions / "counts.py").write_text(CODE)
    return app_source(TEXT, "counts", terms=OperatorTerms(functions=functions))


def placed(source: AppSource, folder: Path) -> PlacedApp:
    return PlacedApp(source, folder, {(source.topic, 0): 0})


def rows_of(kernel: ResidentKernel, first: int, *queries: str) -> list[bytes]:
    found = list[bytes]()
    for offset, query in enumerate(queries, first):
        row: dict[str, Any] = {"kind": "query", "query": query, "is_active": True, "batch": offset}
        record = Record(HEALTH, 0, offset, None, b"", offset * 1_000_000)
        found += map(app_message, kernel.take(record, row, RowReading()))
    return found


def saved(kernel: ResidentKernel) -> None:
    """As its worker does."""
    for _ in kernel.written_slices():
        pass
    kernel.keep(kernel.snapshot())


QUERIES = ["a", "b", "c", "a", "d", "b", "a", "e", "a", "a", "f", "b"]


def test_killed_behind_any_row_it_gives_the_same_rows(source: AppSource, tmp_path: Path) -> None:
    whole = rows_of(ResidentKernel(placed(source, tmp_path / "whole"), 0), 0, *QUERIES)
    found, place = set[bytes](), placed(source, tmp_path / "cut")
    for cut in range(1, len(QUERIES)):
        kernel = ResidentKernel(place, 0)
        assert kernel.next == cut - 1
        # the second row is computed again by the next process: it was killed before it saved
        found.update(rows_of(kernel, cut - 1, QUERIES[cut - 1]))
        saved(kernel)
        found.update(rows_of(kernel, cut, QUERIES[cut]))
    assert found == set(whole)
    assert len(whole) > len(QUERIES)


def test_keys_are_no_part_of_the_snapshot_and_segments_of_before_go(source: AppSource, tmp_path: Path) -> None:
    place, folder = placed(source, tmp_path / "app"), SnapshotFolder(tmp_path / "app")
    kernel = ResidentKernel(place, 0)
    rows_of(kernel, 0, *(f"query {number}" for number in range(200)))
    saved(kernel)
    alone = folder.path(0).stat().st_size
    assert alone < 2_000 < folder.size(0)
    for turn in range(30):
        again = ResidentKernel(place, 0)
        rows_of(again, 200 + turn, "query 7")
        saved(again)
    # each process begins a segment; now and then all keys are written again
    assert len(folder.segments(0).numbers()) < 12
    assert rows_of(ResidentKernel(place, 0), 230, "query 7")[-1].endswith(b'"n":31}}')


def test_with_a_spoilt_segment_the_log_is_read_again(
    source: AppSource, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place, folder = placed(source, tmp_path / "app"), SnapshotFolder(tmp_path / "app")
    kernel = ResidentKernel(place, 0)
    whole = rows_of(kernel, 0, *QUERIES)
    saved(kernel)
    (path,) = folder.segments(0).paths()
    path.write_bytes(path.read_bytes()[:-1])
    again = ResidentKernel(place, 0)
    assert [one.getMessage() for one in caplog.records] == ["snapshot not used: the log is read again"]
    assert rows_of(again, 0, *QUERIES) == whole


def test_a_savepoint_has_the_keys_too(source: AppSource, tmp_path: Path) -> None:
    kernel = ResidentKernel(placed(source, tmp_path / "app"), 0)
    rows_of(kernel, 0, *QUERIES)
    saved(kernel)
    savepoint = taken_savepoint(source, tmp_path / "app", "log")
    app = HostedApp(source, 0)
    assert app.restore(savepoint.parts[0]) == ()
    row = {"kind": "query", "query": "a", "is_active": True, "batch": 12}
    (out,) = (one for one in app.take(12, 12_000_000, row) if one.values["query"] == "a")
    assert out.values["n"] == 6


def test_a_savepoint_of_keys_that_cannot_be_read_says_why_and_is_not_asked_for_again(
    source: AppSource, tmp_path: Path
) -> None:
    kernel = ResidentKernel(placed(source, tmp_path / "app"), 0)
    rows_of(kernel, 0, *QUERIES)
    saved(kernel)
    (path,) = SnapshotFolder(tmp_path / "app").segments(0).paths()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CannotStartError, match=r": .*[a-z]\.$") as caught:
        taken_savepoint(source, tmp_path / "app", "log")
    assert not isinstance(caught.value, NotYetSavedError)
    assert "again" not in str(caught.value)


async def test_an_app_that_leaves_its_process_has_saved_its_keys(source: AppSource, tmp_path: Path) -> None:
    place = placed(source, tmp_path / "app")
    with progress_notes(tmp_path, 0) as notes:
        worker = AppWorker("127.0.0.1:9", 0, notes, {})
        worker.begin(0, place)
        whole = rows_of(worker.kernels[0], 0, *QUERIES)
        assert await worker.leave(0) == len(QUERIES)
    assert SnapshotFolder(tmp_path / "app").segments(0).numbers() == [0]
    again = ResidentKernel(place, 0)
    assert again.next == len(QUERIES)
    never_cut = ResidentKernel(placed(source, tmp_path / "other"), 0)
    assert whole + rows_of(again, len(QUERIES), "a") == rows_of(never_cut, 0, *QUERIES, "a")


def test_a_snapshot_that_is_not_written_drops_no_segment_of_the_one_that_is(source: AppSource, tmp_path: Path) -> None:
    place = placed(source, tmp_path / "app")
    for turn in range(SIZES.segments):
        # each process begins a segment
        kernel = ResidentKernel(place, 0)
        rows_of(kernel, turn, f"query {turn}")
        saved(kernel)
    kernel = ResidentKernel(place, 0)
    rows_of(kernel, SIZES.segments, "a")
    # while this one is being saved, which finds that all keys are to be written again, the app leaves without a row
    first = kernel.snapshot()
    for _ in kernel.written_slices():
        pass
    second = kernel.snapshot()
    assert second.first_segment > first.first_segment
    kernel.keep(first)
    kernel.keep(second)
    assert ResidentKernel(place, 0).next == SIZES.segments + 1
