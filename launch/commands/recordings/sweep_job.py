"""A sweep that the page asks for, in a process of its own on one core: the figures of every set of a small grid.

How it is asked and answers, `launch.setup.asked_work` says; it also writes `progress.json`.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from backtest.detect.workers import MOST_ROWS_HERE
from backtest.sweep.results import SetResult
from launch.commands.sweep import SweepOptions, finished_sweep
from launch.errors import CannotStartError, LaunchError
from launch.sessions.tick_set_names import named_set
from launch.setup.asked_work import Row, begin_asked, finish_asked
from market.money import text_of
from tick_sets.errors import ImportRejectedError

PREFIX = "page-"
"""Of the sweep's name: it is known by the run's id until it has ended."""
REFUSALS = (LaunchError, ImportRejectedError, OSError, MemoryError)


def main(words: Sequence[str]) -> int:
    """Do what the folder that the words name asks for. Return the exit code."""
    folder = Path(words[0])
    request = begin_asked(folder)
    return finish_asked(folder, lambda: swept(folder, request), REFUSALS)


def swept(folder: Path, request: Row) -> Row:
    """Return net, trades and drawdown of every set whose settings agree. Raises LaunchError, ImportRejectedError."""
    home, name = Path(request["home"]), f"{PREFIX}{folder.name}"
    for left in (home / "sweeps").glob(f"{PREFIX}*"):
        # of one that was cancelled; this one goes on where it was interrupted
        if left.name != name:
            shutil.rmtree(left, ignore_errors=True)
    rows = named_set(home, (request["tick_set"],)).manifest.rows
    if rows > MOST_ROWS_HERE:
        raise CannotStartError(f"{rows:,} quotes are too many for one core: use `arbitrage sweep`.")
    grid = tuple(f"{axis['name']}={','.join(axis['values'])}" for axis in request["axes"])
    options = SweepOptions(
        (request["tick_set"],), grid, master="local[1]", name=name, progress=folder / "progress.json"
    )
    table = finished_sweep(home, options, lambda _: None)
    shutil.rmtree(home / "sweeps" / name, ignore_errors=True)
    deflated = table.deflated
    return {
        "currency": table.currency,
        "is_of_bars": table.bars is not None,
        "deflated_sharpe": None if deflated is None else round(deflated.probability, 6),
        "sets": [_set_row(one) for one in table.results],
    }


def _set_row(result: SetResult) -> Row:
    return {
        "values": [text_of(value) for _, value in result.point],
        "net": text_of(result.net),
        "trades": result.trades,
        "drawdown": text_of(result.drawdown),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
