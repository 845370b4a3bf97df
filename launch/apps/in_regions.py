"""`arbitrage app run --regions`: the same apps in several regions of the running session, a process for each."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from launch.errors import CannotStartError
from launch.regions.sessions import region_home
from launch.setup.data_dir import read_session
from launch.supervisor.process_groups import end_with_parent
from runtime.tasks import run_all

Echo = Callable[[str], None]
COMMAND = (sys.executable, "-m", "launch.commands.main", "app", "run")

MOST_BYTES_OF_LINE = 16 * 1024**2
"""A row is one line, however long its texts and lists are."""


def run_in_regions(home: Path, regions: Sequence[str], words: Sequence[str], rows: Path | None, echo: Echo) -> int:
    """Run `arbitrage app run` with these words in each region until all have ended. Returns the highest exit
    code.

    Each line has its region before it, and each file of rows in its name: rows.jsonl is rows-us.jsonl of region us.
    context:getVar('region') is the region. Raises CannotStartError if the running session has no such region.
    """
    there = read_session(home).place.regions
    if not there:
        raise CannotStartError("the running session has no regions; drop --regions, or start one with --regions.")
    if unknown := [region for region in regions if region not in there]:
        raise CannotStartError(f"the running session has no region {unknown[0]}; it has {', '.join(there)}.")
    return asyncio.run(_run(home, regions, words, rows, echo))


def rows_file(rows: Path, region: str) -> Path:
    return rows.with_stem(f"{rows.stem}-{region}")


def exit_code(returned: int) -> int:
    """Return a process's exit code as a shell gives it: one that a signal ended has failed."""
    return 128 - returned if returned < 0 else returned


async def _run(home: Path, regions: Sequence[str], words: Sequence[str], rows: Path | None, echo: Echo) -> int:
    started: dict[str, Process] = {}

    def stop() -> None:
        for process in started.values():
            interrupt(process)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    try:
        for region in regions:
            started[region] = await start_in(region, [*COMMAND, *words, *_rows_words(region, rows)], home)
        await run_all(*(_reported(process, region, echo) for region, process in started.items()))
    finally:
        # each is in a session of its own: nobody else ends it
        stop()
    return max([exit_code(await process.wait()) for process in started.values()])


def interrupt(process: Process) -> None:
    """Interrupt the process as Ctrl-C does.

    Not by `send_signal`, which first looks whether the process has ended: if it just has, asyncio would never learn its
    exit code.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)


def _rows_words(region: str, rows: Path | None) -> list[str]:
    return [] if rows is None else ["--json", str(rows_file(rows, region))]


async def start_in(region: str, command: Sequence[str], home: Path) -> Process:
    """Start a command with that region's data folder; it ends with us, whatever ends us."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdout=PIPE,
        stderr=STDOUT,
        limit=MOST_BYTES_OF_LINE,
        env=os.environ | {"ARBITRAGE_HOME": str(region_home(home, region))},
        # a terminal's Ctrl-C would reach it as well, and come twice
        start_new_session=True,
        # and it would outlive kill -9 of us; it ends its own processes itself if it gets the chance
        preexec_fn=partial(end_with_parent, signal.SIGINT),
    )


async def _reported(process: Process, region: str, echo: Echo) -> None:
    while process.stdout is not None and (line := await process.stdout.readline()):
        echo(f"{region}: {line.decode(errors='replace').rstrip()}")
