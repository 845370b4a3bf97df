"""A thousand parameter sets against one, over a million generated quotes: `python -m benchmarks.sweeps [ROWS] [SIDE]`.

Both run the command itself, each from a cold start in a data folder of its own: interpreter, JVM, detection, trading,
results on disk. SIDE values of each of three parameters make SIDE³ sets (default 10). The single set is the middle one.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import orjson
import psutil

from benchmarks.backtests.generator import generate, tick_set_folder
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

ROWS, SIDE, GOAL = 1_000_000, 10, 20.0
LOOK_SECONDS = 0.2
MAX_AGE_MS = 10_000
"""As in the benchmark of detection: two quotes of one market are 2 s apart on average."""
JARS = Path(os.environ.get("ARBITRAGE_HOME") or ".data").resolve() / "jars"


@dataclass(frozen=True, slots=True)
class Run:
    """One command; seconds of the wall and of all its processes together."""

    sets: int
    wall: float
    cpu: float
    load: float
    """Load average of the last minute before it."""
    trades: int
    """Trades of all sets together."""


def main(rows: int, side: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sweeps-") as work:
        folder = Path(work)
        generate(folder / "quotes", rows)
        thresholds, latencies, sizes = _steps(1, 1, side), _steps(0, 10, side), _steps(200, 200, side)
        middle = side // 2
        one = _swept(folder, "one", [f"{values[middle]}" for values in (thresholds, latencies, sizes)])
        many = _swept(folder, "many", [",".join(map(str, values)) for values in (thresholds, latencies, sizes)])
    print(f"{rows:,} quotes of 5 exchanges x 50 assets, {os.cpu_count()} cores")
    print(f"{'sets':>8} {'wall s':>9} {'CPU s':>9} {'CPU s a set':>12} {'trades':>10} {'load before':>12}")
    for run in (one, many):
        print(
            f"{run.sets:>8,} {run.wall:>9.1f} {run.cpu:>9.1f} {run.cpu / run.sets:>12.3f} {run.trades:>10,}"
            f" {run.load:>12.2f}"
        )
    print(f"{many.sets:,} sets took {many.wall / one.wall:.1f} times as long as one (goal: {GOAL:.0f} for 1,000)")
    if many.cpu > one.cpu:
        further = (many.cpu - one.cpu) / max(many.sets - 1, 1)
        trade = further / max(many.trades / many.sets, 1)
        print(f"each further set took {further:.3f} CPU s, {trade * 1e3:.2f} ms a trade")


def _steps(first: int, step: int, count: int) -> list[int]:
    return [first + step * number for number in range(count)]


def _swept(folder: Path, name: str, values: list[str]) -> Run:
    home = folder / name
    (home / "ticks").mkdir(parents=True)
    (home / "ticks" / "quotes").symlink_to(tick_set_folder(folder / "quotes"))
    if JARS.is_dir():
        (home / "jars").symlink_to(JARS)
    words = [sys.executable, "-m", "launch.commands.main", "sweep", "quotes", "--json", str(folder / f"{name}.json")]
    for parameter, value in zip(("min_net_bps", "latency_ms", "max_notional"), values, strict=True):
        words += ["--grid", f"{parameter}={value}"]
    words += ["--set-value", f"max_quote_age_ms={MAX_AGE_MS}"]
    load, begun = os.getloadavg()[0], wall_now()
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(words, env={**os.environ, "ARBITRAGE_HOME": str(home)}, stdout=log, stderr=log)
        cpu = _cpu_until_ended(process)
    if process.returncode:
        raise SystemExit((folder / f"{name}.log").read_text())
    wall = (wall_now() - begun) / MICROSECONDS
    found = orjson.loads((folder / f"{name}.json").read_bytes())
    trades = sum(result["trades"] for result in found["results"])
    return Run(found["finished"], wall, cpu, load, trades)


def _cpu_until_ended(process: "subprocess.Popen[bytes]") -> float:
    """Return the seconds of the whole tree, sampled all the time: Spark's workers are gone before they could be asked
    at the end."""
    tree, used, ended = psutil.Process(process.pid), dict[int, float](), Event()

    def wait() -> None:
        process.wait()
        ended.set()

    Thread(target=wait, daemon=True).start()
    while not ended.wait(LOOK_SECONDS):
        with suppress(psutil.Error):
            for one in [tree, *tree.children(recursive=True)]:
                with suppress(psutil.Error):
                    times = one.cpu_times()
                    used[one.pid] = times.user + times.system
    return sum(used.values())


if __name__ == "__main__":
    values = [int(word) for word in sys.argv[1:]]
    main(*(values + [ROWS, SIDE][len(values) :]))
