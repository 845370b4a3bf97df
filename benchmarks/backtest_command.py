"""What a person waits for a backtest of recorded files: `python -m benchmarks.backtest_command FILE...`.

Each run is the command itself from a cold start, in a data folder of its own, so that the files are read too: with the
replay profile's fees, and with no fees and half a basis point, at which nearly every quote is an opportunity.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from market.time_units import MICROSECONDS
from runtime.clock import wall_now

RUNS: dict[str, tuple[str, ...]] = {
    "as they are": (),
    "no fees, 0.5 bps": ("--fee-bps", "0", "--set-value", "min_net_bps=0.5"),
}


def main(files: list[str]) -> None:
    print(f"{'':<18} {'wall s':>7} {'CPU s':>7} {'opportunities':>14} {'trades':>7} {'load before':>12}")
    for name, options in RUNS.items():
        with tempfile.TemporaryDirectory(prefix="backtest-") as work:
            load, begun, before = os.getloadavg()[0], wall_now(), _seconds()
            found = _tested(files, options, Path(work))
            wall, cpu = (wall_now() - begun) / MICROSECONDS, _seconds() - before
        print(f"{name:<18} {wall:>7.1f} {cpu:>7.1f} {found['opportunities']:>14} {found['trades']:>7} {load:>12.2f}")
        print(f"{'':<18} {', '.join(f'{stage} {seconds}' for stage, seconds in found['seconds'].items())}")


def _tested(files: list[str], options: tuple[str, ...], work: Path) -> dict[str, dict[str, float]]:
    """Return the JSON of the command. Raises CalledProcessError."""
    out = work / "out.json"
    words = [sys.executable, "-m", "launch.commands.main", "backtest", *files, *options, "--json", str(out)]
    subprocess.run(words, env={**os.environ, "ARBITRAGE_HOME": str(work)}, stdout=subprocess.DEVNULL, check=True)
    found: dict[str, dict[str, float]] = json.loads(out.read_bytes())
    return found


def _seconds() -> float:
    """Return CPU seconds of all processes that were waited for, and of theirs."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
