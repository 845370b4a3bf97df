"""What a person waits for a backtest of recorded files: `python -m benchmarks.backtest_command [--before CHECKOUT]
FILE...`.

Each run is the command itself from a cold start, in a data folder of its own, so that the files are read too: with the
replay profile's fees, and with no fees and half a basis point, at which nearly every quote is an opportunity. With
another checkout of this repository both are run in turn by this interpreter; their results must be equal.
"""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from market.time_units import MICROSECONDS
from runtime.clock import wall_now

RUNS: dict[str, tuple[str, ...]] = {
    "as they are": (),
    "no fees, 0.5 bps": ("--fee-bps", "0", "--set-value", "min_net_bps=0.5"),
}
HERE = Path(__file__).resolve().parents[1]
NOT_COMPARED = ("seconds", "command", "versions")


@dataclass(frozen=True, slots=True)
class Run:
    """One command; seconds of the wall and of all its processes together."""

    wall: float
    cpu: float
    load: float
    """Load average of the last minute before it."""
    found: dict[str, Any]
    """Its JSON."""


def main(files: list[str], before: Path | None) -> None:
    print(f"{'':<26} {'wall s':>7} {'CPU s':>7} {'opportunities':>14} {'trades':>7} {'load before':>12}")
    for name, options in RUNS.items():
        now = _told(name, _run(files, options, HERE))
        if before is not None:
            earlier = _told(f"{name}, before", _run(files, options, before))
            print(f"{'':<26} {now.wall / earlier.wall:>7.2f} {now.cpu / earlier.cpu:>7.2f} times as long")
            if _compared(now) != _compared(earlier):
                raise SystemExit(f"{name}: {before} comes to something else")


def _told(name: str, run: Run) -> Run:
    found = run.found
    counts = f"{found['opportunities']:>14} {found['trades']:>7}"
    print(f"{name:<26} {run.wall:>7.1f} {run.cpu:>7.1f} {counts} {run.load:>12.2f}")
    print(f"{'':<26} {', '.join(f'{stage} {seconds}' for stage, seconds in found['seconds'].items())}")
    return run


def _compared(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.found.items() if name not in NOT_COMPARED}


def _run(files: list[str], options: tuple[str, ...], checkout: Path) -> Run:
    """Run the command of a checkout. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="backtest-") as work:
        out = Path(work) / "out.json"
        words = [sys.executable, "-m", "launch.commands.main", "backtest", *files, *options, "--json", str(out)]
        environment = {**os.environ, "ARBITRAGE_HOME": work, "PYTHONPATH": str(checkout)}
        load, begun, before = os.getloadavg()[0], wall_now(), _seconds()
        subprocess.run(words, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, check=True)
        wall, cpu = (wall_now() - begun) / MICROSECONDS, _seconds() - before
        return Run(wall, cpu, load, json.loads(out.read_bytes()))


def _seconds() -> float:
    """Return CPU seconds of all processes that were waited for, and of theirs."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--before", type=lambda text: Path(text).resolve())
    parser.add_argument("files", nargs="+", type=lambda text: str(Path(text).resolve()))
    arguments = parser.parse_args()
    main(arguments.files, arguments.before)
