"""What apps report while they run, on the terminal of their run: what `#log` gives in Spark's workers, and warnings of
ours in any of its processes.

Lines of workers come through a named pipe, each in one write, so that lines of several workers are not mixed. Nothing
of it is kept: it takes no space, however long an app runs.
"""

import logging
import os
import select
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

LEVELS: Mapping[str, int] = {"apps": logging.DEBUG, "cep": logging.WARNING}
"""From which on a logger's lines are shown: an app's text says itself what it logs."""
KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
END_SECONDS = 1.0
"""How long the last lines may take; a worker that goes on holds nobody up."""


class RunLogFormatter(logging.Formatter):
    """One line: level, message, and in brackets what was noted beside it. Without characters that move a cursor: texts
    of apps and of responses may have any."""

    def format(self, record: logging.LogRecord) -> str:
        noted = [f"{name}: {value}" for name, value in vars(record).items() if name not in KNOWN]
        beside = f" ({', '.join(noted)})" if noted else ""
        line = f"{record.levelname} {record.getMessage()}{beside}"
        return line if line.isprintable() else "".join(one if one.isprintable() else " " for one in line)


class PipeHandler(logging.Handler):
    """Writes lines into a pipe. `is_patient`: waits while nobody reads; else lines are left out and counted."""

    def __init__(self, pipe: int, *, is_patient: bool) -> None:
        super().__init__()
        self.setFormatter(RunLogFormatter())
        self._pipe, self._is_patient, self._left_out = pipe, is_patient, 0

    def emit(self, record: logging.LogRecord) -> None:
        before = f"WARNING {self._left_out} lines left out: the terminal is too slow\n" if self._left_out else ""
        line = (before + self.format(record)).encode(errors="replace")[: select.PIPE_BUF - 1] + b"\n"
        # if the run has ended, so has its terminal
        with suppress(BrokenPipeError):
            while not (is_written := self._write(line)) and self._is_patient:
                select.select([], [self._pipe], [])
            self._left_out = 0 if is_written else self._left_out + 1

    def _write(self, line: bytes) -> bool:
        """Whether there was room."""
        try:
            os.write(self._pipe, line)
        except BlockingIOError:
            return False
        return True


@contextmanager
def reported_to(pipe: Path | None, *, is_patient: bool = False) -> Iterator[None]:
    """In a worker: what is logged while it lasts goes into the pipe of the run; nowhere else if there is none."""
    with ExitStack() as open_files:
        try:
            descriptor = None if pipe is None else os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            # who reads it is gone already
            descriptor = None
        if descriptor is not None:
            open_files.callback(os.close, descriptor)
            open_files.enter_context(_handled(PipeHandler(descriptor, is_patient=is_patient)))
        yield


@contextmanager
def shown_run_log() -> Iterator[Path]:
    """In the run's own process: shows on standard error what is logged while it lasts, here and in workers; for those
    it gives the pipe of `reported_to`."""
    here = logging.StreamHandler(sys.stderr)
    here.setFormatter(RunLogFormatter())
    with TemporaryDirectory() as folder, _handled(here):
        pipe = Path(folder) / "log"
        os.mkfifo(pipe, 0o600)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # while it is open there is no end of the pipe, whoever comes and goes
        writing = os.open(pipe, os.O_WRONLY)
        os.set_blocking(reading, True)
        showing = Thread(target=_show, args=(reading,), name="log of the run", daemon=True)
        showing.start()
        try:
            yield pipe
        finally:
            os.close(writing)
            showing.join(END_SECONDS)


def _show(pipe: int) -> None:
    with os.fdopen(pipe, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            sys.stderr.write(line)
            sys.stderr.flush()


@contextmanager
def _handled(handler: logging.Handler) -> Iterator[None]:
    before: dict[str, int] = {}
    for name, level in LEVELS.items():
        one = logging.getLogger(name)
        before[name] = one.level
        one.setLevel(level)
        one.addHandler(handler)
    try:
        yield
    finally:
        for name, level in before.items():
            one = logging.getLogger(name)
            one.removeHandler(handler)
            one.setLevel(level)
