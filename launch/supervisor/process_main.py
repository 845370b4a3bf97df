"""One supervised process: logging, signals, readiness and the outermost error handler."""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType

from launch.errors import LaunchError
from launch.setup.data_dir import process_lock, read_session, ready_file, write_atomically
from runtime.clock import region_clock
from runtime.clock_shift import CLOCK_FILE
from runtime.event_loop import run_until_done
from store.errors import LoginRefusedError

Ready = Callable[[], None]
Entry = Callable[[Ready], Coroutine[object, object, None]]

log = logging.getLogger("launch")

STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class EventFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, event and its ids."""

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
        }
        event.update((key, value) for key, value in vars(record).items() if key not in STANDARD_FIELDS)
        if record.exc_info:
            event["trace"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str)


def log_events() -> None:
    """Send our log as JSON events to standard error, which the supervisor writes to a file."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EventFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def run_process(home: Path, name: str, entry: Entry, drain: Callable[[], None] | None = None) -> int:
    """Run `entry` until it ends or SIGTERM cancels it. Returns the exit code. With `drain` the first SIGTERM calls it,
    and the second one cancels `entry`."""
    log_events()

    def work() -> int:
        return run_until_done(_until_cancelled(entry(_ready(home, name)), drain))

    return _exit_code(home, name, work)


def run_blocking_process(home: Path, name: str, entry: Callable[[Ready], None]) -> int:
    """Like `run_process` for a blocking entry (Spark); SIGTERM raises SystemExit in it."""
    log_events()
    signal.signal(signal.SIGTERM, _exit)

    def work() -> int:
        entry(_ready(home, name))
        return 0

    return _exit_code(home, name, work)


def _exit_code(home: Path, name: str, work: Callable[[], int]) -> int:
    """Return the exit code. Raises LaunchError for what the user can put right."""
    try:
        with process_lock(home, name), followed_clock(home):
            _forget_last_run(home, name)
            return work()
    except LaunchError:
        raise
    except LoginRefusedError as error:
        raise LaunchError(f"{name}: {error}") from error
    except Exception as error:  # the outermost loop: one line, then the supervisor restarts us
        log.exception("process failed", extra={"part": name, "error": str(error)})
        return 1


def followed_clock(home: Path) -> AbstractContextManager[None]:
    """Return a context for a process of the data folder `home`: in a region of a paper session its wall clock is the
    region's. Anywhere else nothing changes, whatever files an earlier session has left. Raises CannotStartError."""
    path = home / CLOCK_FILE
    if not path.exists():
        return nullcontext()
    session = read_session(home)
    is_trial = session.mode == "paper" and session.place.region is not None
    return region_clock(path) if is_trial else nullcontext()


def _exit(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _forget_last_run(home: Path, name: str) -> None:
    """Remove the old ready file, which a restarted container would otherwise find; with a supervisor it is gone
    already."""
    ready_file(home, name).unlink(missing_ok=True)


def _ready(home: Path, name: str) -> Ready:
    def ready() -> None:
        # objects made at the start stay for good; otherwise full garbage collection would stop the process for them,
        # 100 ms once a minute, longer on a busy machine
        gc.collect()
        gc.freeze()
        write_atomically(ready_file(home, name), str(os.getpid()).encode())
        log.info("ready", extra={"part": name})

    return ready


async def _until_cancelled(work: Coroutine[object, object, None], drain: Callable[[], None] | None) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    drains = [] if drain is None else [drain]

    def stop() -> None:
        if drains:
            drains.pop()()
        else:
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")
    return 0
