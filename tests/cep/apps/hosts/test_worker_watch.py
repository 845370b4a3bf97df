"""What is seen of a worker from outside: which app never ends its row, which one is ended for the memory of all, and
which one takes its process down again and again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.parts.app_limits import AppLimits
from cep.apps.resident.ended_apps import forget_end, note_end, noted_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker_files import noted_worker
from cep.apps.resident.worker_progress import (
    MOST_LOSSES,
    ProgressNotes,
    WorkerProgress,
    forget_progress,
    progress_notes,
    worker_progress,
)
from cep.apps.resident.worker_watch import BadWorker, WorkerWatch
from cep.snapshot_folder import SnapshotFolder

PARTITION = 2
TEXT = "from health select query insert into O;"


def apps(folder: Path, limits: AppLimits) -> dict[int, PlacedApp]:
    terms = OperatorTerms(limits=limits)
    sources = [AppSource(name, TEXT, terms=terms) for name in "abc"]
    return {
        place: PlacedApp(one, folder / one.file_name, {("health", PARTITION): 0}) for place, one in enumerate(sources)
    }


@contextmanager
def worker(folder: Path) -> Iterator[ProgressNotes]:
    """Note this process as a worker; yield its notes."""
    with noted_worker(folder, PARTITION), progress_notes(folder, PARTITION) as notes:
        yield notes


def use_cpu(seconds: float) -> None:
    begin = psutil.Process(os.getpid()).cpu_times().user
    while psutil.Process(os.getpid()).cpu_times().user - begin < seconds:
        pass


def found(watch: WorkerWatch) -> list[tuple[str | None, str]]:
    return [(None if one.app is None else one.app.source.name, one.problem) for one in watch.bad_workers()]


def test_the_app_of_a_row_that_never_ends_is_seen_and_a_process_between_two_rows_is_not(tmp_path: Path) -> None:
    hurried = apps(tmp_path, AppLimits(event_seconds=0.05))
    stuck, idle, patient = (tmp_path / name for name in ("stuck", "idle", "patient"))
    watches = [
        WorkerWatch(stuck, hurried),
        WorkerWatch(idle, hurried),
        WorkerWatch(patient, apps(tmp_path, AppLimits())),
    ]
    with worker(stuck) as of_stuck, worker(idle) as of_idle, worker(patient) as of_patient:
        of_idle.begin(1, 7)
        of_idle.end()
        of_stuck.begin(1, 7)
        of_patient.begin(1, 7)
        assert [found(watch) for watch in watches] == [[]] * 3
        use_cpu(1.1)
        problem = "the process of partition 2 took more than 1 s of CPU without a sign (event_seconds)"
        assert [found(watch) for watch in watches] == [[("b", f"the app was ended: {problem}")], [], []]
        # the next row has its time for itself
        of_stuck.begin(1, 8)
        assert found(watches[0]) == []


def test_a_question_that_never_ends_is_no_fault_of_the_app(tmp_path: Path) -> None:
    watch = WorkerWatch(tmp_path, apps(tmp_path, AppLimits(event_seconds=0.05)))
    with worker(tmp_path) as notes:
        notes.begin_question(1)
        assert found(watch) == []
        use_cpu(1.1)
        assert found(watch) == [(None, "an on-demand query took the process of partition 2")]


def test_processes_that_are_lost_with_questions_accuse_no_row(tmp_path: Path) -> None:
    for _ in range(MOST_LOSSES + 1):
        with progress_notes(tmp_path, PARTITION) as notes:
            notes.begin_question(1)
    with progress_notes(tmp_path, PARTITION) as notes:
        assert notes.deadly_row is None


def test_memory_is_blamed_on_the_row_that_does_not_end_or_on_who_keeps_most(tmp_path: Path) -> None:
    placed = apps(tmp_path, AppLimits(worker_bytes=1_000))
    for app, kept in zip(placed.values(), (b"12", b"123", b"1"), strict=True):
        SnapshotFolder(app.folder).save(PARTITION, kept)
    watch = WorkerWatch(tmp_path, placed)
    problem = "the app was ended: the process of partition 2 took more than 1,000 bytes of memory (worker_bytes)"
    with worker(tmp_path) as notes:
        # a process may have its memory back by the next look
        assert found(watch) == []
        assert found(watch) == [("b", f"{problem}, and of its apps this one keeps most")]
        note_end(placed[1].folder, problem)
        assert found(watch) == [("a", f"{problem}, and of its apps this one keeps most")]
        notes.begin(2, 5)
        assert [name for name, _ in found(watch)] == ["a"]
        assert found(watch) == [("c", problem)]
    assert found(watch) == []


def test_a_bad_worker_is_the_process_that_is_noted(tmp_path: Path) -> None:
    watch = WorkerWatch(tmp_path, apps(tmp_path, AppLimits(worker_bytes=1_000)))
    with worker(tmp_path):
        assert list(watch.bad_workers()) == []
        (bad,) = watch.bad_workers()
    assert isinstance(bad, BadWorker)
    assert bad.process.pid == os.getpid()


def test_progress_is_read_while_it_is_made(tmp_path: Path) -> None:
    assert worker_progress(tmp_path, PARTITION) is None
    with progress_notes(tmp_path, PARTITION) as notes:
        assert worker_progress(tmp_path, PARTITION) == WorkerProgress(0, None, 0)
        notes.begin(0, 2**40)
        assert worker_progress(tmp_path, PARTITION) == WorkerProgress(1, 0, 2**40)
        notes.end()
        notes.begin(3, 1)
        assert worker_progress(tmp_path, PARTITION) == WorkerProgress(2, 3, 1)
        notes.end()
        # one row for several apps, of which each is named while it computes
        notes.begin_row(2, 5)
        assert worker_progress(tmp_path, PARTITION) == WorkerProgress(7, None, 2)
        for app in (4, 0):
            notes.begin_app(app)
            assert worker_progress(tmp_path, PARTITION) == WorkerProgress(7, app, 2)
    forget_progress(tmp_path)
    assert worker_progress(tmp_path, PARTITION) is None


def lose(folder: Path, app: int, offset: int) -> tuple[int, int] | None:
    """Begin a row in a process that does not come back; return what it knew then of a deadly row."""
    with progress_notes(folder, PARTITION) as notes:
        notes.begin(app, offset)
        return notes.deadly_row


def test_a_row_in_which_process_after_process_is_lost_is_known(tmp_path: Path) -> None:
    assert [lose(tmp_path, 1, 9) for _ in range(MOST_LOSSES)] == [None] * MOST_LOSSES
    assert lose(tmp_path, 4, 10) == (1, 9)


@pytest.mark.parametrize("other", [(1, 8), (2, 9)])
def test_processes_that_are_lost_here_and_there_accuse_nobody(tmp_path: Path, other: tuple[int, int]) -> None:
    for _ in range(MOST_LOSSES):
        lose(tmp_path, 1, 9)
        lose(tmp_path, *other)
    with progress_notes(tmp_path, PARTITION) as notes:
        assert notes.deadly_row is None


def test_why_an_app_ended_first_is_what_stays(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    assert noted_end(folder) is None
    note_end(folder, "it took too long")
    note_end(folder, "it was killed for that")
    assert noted_end(folder) == "it took too long"
    assert [path.name for path in folder.iterdir()] == ["ended"]
    forget_end(folder)
    forget_end(folder)
    assert noted_end(folder) is None
