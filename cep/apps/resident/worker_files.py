"""Which processes run an app's partitions, so that its host can end them for sure: Spark ends a cancelled task only
where it looks for it. And why one of them ended."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

SUFFIX = ".worker"
FAILURE = ".failure"


@contextmanager
def noted_worker(folder: Path, partition: int) -> Iterator[None]:
    """While it lasts, the folder says that this process runs the partition."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{partition}{SUFFIX}"
    path.write_text(f"{os.getpid()} {psutil.Process().create_time()}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def note_failure(folder: Path, partition: int, sentence: str) -> None:
    """Say why the partition's process ends, for whoever starts the next one."""
    (folder / f"{partition}{FAILURE}").write_text(sentence)


def taken_failure(folder: Path, partition: int) -> str:
    """Return what the last process of the partition said of its end, once; empty if nothing."""
    path = folder / f"{partition}{FAILURE}"
    try:
        sentence = path.read_text()
    except FileNotFoundError:
        return ""
    path.unlink(missing_ok=True)
    return sentence


def noted_workers(folder: Path) -> dict[int, psutil.Process]:
    """By partition; of those noted, the ones that run. A number that another process has by now is none of ours."""
    found = {}
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(ValueError, FileNotFoundError, psutil.NoSuchProcess):
            number, began = path.read_text().split()
            process = psutil.Process(int(number))
            if process.create_time() == float(began):
                found[int(path.stem)] = process
    return found


def signal_workers(folder: Path, number: signal.Signals) -> None:
    for process in noted_workers(folder).values():
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
