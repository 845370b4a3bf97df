"""What a worker computes at this moment, in a file that its host can read and that outlives it: code that does not come
back, or takes its process down, says nothing itself."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".progress"
CELL_BYTES = 8
_ROWS, _APP, _OFFSET, _LOST_APP, _LOST_OFFSET, _LOSSES = range(6)
FILE_BYTES = 6 * CELL_BYTES
QUESTION = 2**64 - 1
"""In the place of an offset: the app answers an on-demand query, which is no row of its log."""
MOST_LOSSES = 3
"""How often a process may be lost in the same row of the same app, before the app is taken for the reason."""


@dataclass(frozen=True, slots=True)
class WorkerProgress:
    """`rows`: begun so far, each counted once for every app. `app`: the place of the app that computes a row now; None
    between two rows. `offset`: of that row."""

    rows: int
    app: int | None
    offset: int

    @property
    def is_question(self) -> bool:
        """Whether what the app computes is an on-demand query."""
        return self.offset == QUESTION


class ProgressNotes:
    """A worker's own notes. Noting an app costs some ten nanoseconds, a row a hundred, and neither a system call."""

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells
        if cells[_APP]:
            self._count_loss()

    def begin(self, app: int, offset: int) -> None:
        """Note that an app, by its place, computes a row."""
        cells = self._cells
        cells[_OFFSET] = offset
        cells[_ROWS] += 1
        cells[_APP] = app + 1

    def begin_row(self, offset: int, apps: int) -> None:
        """Note that so many apps compute a row, one after the other, each of which `begin_app` then names."""
        cells = self._cells
        cells[_OFFSET] = offset
        cells[_ROWS] += apps

    def begin_app(self, app: int) -> None:
        self._cells[_APP] = app + 1

    def begin_question(self, app: int) -> None:
        """Note that an app, by its place, answers an on-demand query."""
        self.begin(app, QUESTION)

    def end(self) -> None:
        """Note that it has done so. What is not ended is a loss to the process that comes after this one."""
        self._cells[_APP] = 0

    @property
    def deadly_row(self) -> tuple[int, int] | None:
        """App and offset at which process after process was lost."""
        cells = self._cells
        return (cells[_LOST_APP] - 1, cells[_LOST_OFFSET]) if cells[_LOSSES] >= MOST_LOSSES else None

    def _count_loss(self) -> None:
        cells = self._cells
        if cells[_OFFSET] == QUESTION:
            # whoever asked is to blame, and the app runs on without it
            cells[_APP] = 0
            return
        is_same = (cells[_APP], cells[_OFFSET]) == (cells[_LOST_APP], cells[_LOST_OFFSET])
        cells[_LOSSES] = cells[_LOSSES] + 1 if is_same else 1
        cells[_LOST_APP], cells[_LOST_OFFSET] = cells[_APP], cells[_OFFSET]
        cells[_APP] = 0


@contextmanager
def progress_notes(folder: Path, partition: int) -> Iterator[ProgressNotes]:
    """Goes on in the notes of the process before this one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / f"{partition}{SUFFIX}").open("a+b") as file:
        file.truncate(FILE_BYTES)
        with mmap.mmap(file.fileno(), FILE_BYTES) as pages, memoryview(pages) as data, data.cast("Q") as cells:
            yield ProgressNotes(cells)


def worker_progress(folder: Path, partition: int) -> WorkerProgress | None:
    """None if nothing was noted yet."""
    try:
        data = (folder / f"{partition}{SUFFIX}").read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < FILE_BYTES:
        return None
    with memoryview(data).cast("Q") as cells:
        return WorkerProgress(cells[_ROWS], cells[_APP] - 1 if cells[_APP] else None, cells[_OFFSET])


def forget_progress(folder: Path) -> None:
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink(missing_ok=True)
