"""Memory and CPU of many quiet stream apps in one run.

`python -m benchmarks.quiet_apps [--apps 50] [--seconds 60] [--rate 100]`: over a made-up log with that many quotes a
second, in a Kafka of its own. With `--running` it uses the running session. The apps read quotes, opportunities and
Spark's health, and give rows now and then. All processes of `arbitrage app run` count: the command, Spark's JVM, the
daemon of its workers and the worker. Memory that processes share is counted once (PSS).
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psutil

from benchmarks.detection import broker, write
from benchmarks.generated_ticks import GeneratedTicks, markets
from benchmarks.processes import cpu_seconds
from cep.apps.resident.worker_progress import worker_progress
from launch.setup.data_dir import home_folder, read_session, write_atomically
from launch.setup.login_files import with_logins, write_logins
from runtime.logins import login_of
from session.session import Services, Session
from streams.topic_admin import ensure_topics

TEXTS = (
    # an exchange without prices
    "partition with (exchange of quotes) begin "
    "from every last = quotes -> not quotes for {} sec select last.exchange as exchange insert into Silent; end;",
    # a spread that is hardly ever so wide
    "from quotes[ask > bid * (1.0 + {} / 100.0)] select exchange, symbol, bid, ask insert into Wide;",
    # a price that is hardly ever reached, and falls again
    "from every a = quotes[base == 'BTC' and bid > {}000000.0] -> b = quotes[symbol == a.symbol and bid < a.bid] "
    "within 1 min select a.exchange as exchange, a.bid as before, b.bid as after insert into Peaks;",
    # means of the hour
    "from quotes select exchange, base, avg((ask - bid) / bid * 10000.0) as bps, count() as n "
    "group by exchange, base output last every {} hours insert into Hourly;",
    "from opportunities[net_bps > {}00.0] select opportunity_id, net_bps insert into Large;",
    "from health[batch_ms > {}000] select query, batch_ms insert into Slow;",
)
"""Quiet apps as users have them: filters that hardly ever pass, absence, means of an hour, faults. Each gets a number
of its own, so that no two apps are the same."""
READY, READY_ALONE = "Ctrl-C ends them all", "Ctrl-C ends it"
MEGABYTE = 1024**2
ROLE, HOME_VARIABLE = "apps", "ARBITRAGE_HOME"


@contextmanager
def made_up_session(rate: int) -> Iterator[None]:
    """Make what apps see of a session: its log, and the place where its detection began."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "jars").symlink_to((home_folder() / "jars").resolve())
        with broker(home) as (address, _):
            session = Session("benchmark", "paper", home, Services(address, "", "benchmark"), markets(), "USD")
            asyncio.run(ensure_topics(address, session.services.partitions))
            opening = home / "checkpoints" / session.session_id / "made-up" / "opening.json"
            write_atomically(opening, json.dumps({"offsets": {"0": 0}, "settings": None}).encode())
            write_atomically(home / "run.json", session.to_json())
            write_logins(home, ROLE, login_of(address), None)
            before = os.environ.get(HOME_VARIABLE)
            os.environ[HOME_VARIABLE] = str(home)
            quotes = multiprocessing.get_context("spawn").Process(target=write_quotes, args=(home, rate), daemon=True)
            quotes.start()
            try:
                yield
            finally:
                quotes.terminate()
                quotes.join()
                os.environ.pop(HOME_VARIABLE)
                os.environ |= {} if before is None else {HOME_VARIABLE: before}


def write_quotes(home: Path, rate: int) -> None:
    """Write quotes without end."""
    asyncio.run(write(with_logins(read_session(home), ROLE), GeneratedTicks(1), rate, float("inf")))


def written(folder: Path, count: int) -> Iterator[str]:
    for number in range(count):
        path = folder / f"quiet-{number}.app"
        path.write_text(TEXTS[number % len(TEXTS)].format(3 + number))
        yield str(path)


def processes_of(command: psutil.Process) -> dict[str, psutil.Process]:
    """Return the processes by their names."""
    found = {"the command": command}
    for child in command.children(recursive=True):
        found[f"{child.name()} {child.pid}"] = child
    return found


def rows_begun() -> int:
    """Return the rows of all apps together, from the notes of their workers."""
    folders = (path.parent for path in home_folder().glob("apps/*/*/*.worker"))
    found = (worker_progress(folder, 0) for folder in folders)
    return sum(0 if progress is None else progress.rows for progress in found)


def measured(command: psutil.Process, seconds: float) -> None:
    rows = rows_begun()
    before = {name: (process, cpu_seconds(process)) for name, process in processes_of(command).items()}
    began = time.monotonic()
    time.sleep(seconds)
    took, rows = time.monotonic() - began, rows_begun() - rows
    if not all(process.is_running() for process, _ in before.values()):
        raise SystemExit("a process ended while it was measured; Spark's log says why")
    print(f"{'process':<28}{'PSS, MB':>10}{'RSS, MB':>10}{'cores':>10}")
    totals = [0.0, 0.0, 0.0]
    for name, (process, used) in before.items():
        memory = process.memory_full_info()
        figures = memory.pss / MEGABYTE, memory.rss / MEGABYTE, (cpu_seconds(process) - used) / took
        totals = [total + one for total, one in zip(totals, figures, strict=True)]
        print(f"{name:<28}{figures[0]:>10.0f}{figures[1]:>10.0f}{figures[2]:>10.3f}")
    print(f"{'all':<28}{totals[0]:>10.0f}{totals[1]:>10.0f}{totals[2]:>10.3f}")
    print(f"{rows / took:,.0f} rows a second, each counted for every app that it went through")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apps", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--settle", type=float, default=30.0, help="from the start to the first look")
    parser.add_argument("--rate", type=int, default=100, help="quotes a second of the made-up log")
    parser.add_argument("--running", action="store_true", help="on the running session")
    arguments = parser.parse_args()
    session = nullcontext() if arguments.running else made_up_session(arguments.rate)
    with session, tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "rows.jsonl"
        files = list(written(Path(scratch), arguments.apps))
        words = (sys.executable, "-m", "launch.commands.main", "app", "run", *files, "--json", str(out))
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
            if command.stdout is None or not any(READY in line for line in command.stdout):
                raise SystemExit("the apps did not start; does a session run?")
            time.sleep(arguments.settle)
            try:
                measured(psutil.Process(command.pid), arguments.seconds)
            finally:
                command.terminate()
        apps = {json.loads(line)["app"] for line in out.read_text().splitlines()}
    print(f"{len(apps)} of {arguments.apps} apps gave rows")
    print(f"load average {' '.join(f'{one:.1f}' for one in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
