"""`python -m benchmarks.backtests [--rows N] [--rounds N] [--json FILE]`: all engines, one table.

Quotes are generated once, below the data folder; so is the peers' environment. Neither is counted.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.backtests.comparison import DisagreementError, compared
from benchmarks.backtests.engines import ENGINES, MILLION, Runnable, runnable
from benchmarks.backtests.generator import generate
from benchmarks.backtests.measuring import EngineError, measured
from benchmarks.backtests.peers import peers_environment
from benchmarks.backtests.table import document, lines, markdown
from launch.setup.data_dir import home_folder

WARM_UP_ROWS = MILLION // 5


def main() -> int:
    arguments = _arguments()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    peers = None if arguments.here else peers_environment(folder / "peers")
    found = list(runnable(tuple(arguments.engines), arguments.rows, peers, folder / "compiled"))
    able = [each for each in found if isinstance(each, Runnable)]
    missing = [(each[0].title, each[1]) for each in found if not isinstance(each, Runnable)]
    quotes, few = (_generated(folder, rows, arguments.fresh) for rows in (arguments.rows, WARM_UP_ROWS))
    log = folder / "engine.log"
    try:
        _compile(able, few, log)
        results = compared(able, quotes, arguments.rows, arguments.rounds, log)
    except (EngineError, DisagreementError) as error:
        sys.stderr.write(f"benchmark: {error} (see {log})\n")
        return 1
    table = lines(results)
    print("\n".join(markdown(table, missing)))
    print(f"* {arguments.rounds} rounds, {os.cpu_count()} cores; the same opportunities by all on the same rows")
    if arguments.json:
        arguments.json.write_text(json.dumps(document(table, results), indent=2))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backtests", description=__doc__)
    names = [engine.name for engine in ENGINES]
    parser.add_argument("--rows", type=int, default=10 * MILLION)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--folder", type=Path, default=home_folder() / "benchmarks", help="for quotes and peers")
    parser.add_argument("--fresh", action="store_true", help="generate the quotes anew")
    parser.add_argument("--here", action="store_true", help="only peers that are installed beside the project")
    parser.add_argument("--json", type=Path, help="write every pass there")
    return parser.parse_args()


def _generated(folder: Path, rows: int, is_fresh: bool) -> Path:
    quotes = folder / f"rows-{rows}"
    if is_fresh or not quotes.exists():
        generate(quotes, rows)
    return quotes


def _compile(able: list[Runnable], few: Path, log: Path) -> None:
    """Compile everything into caches, as `make setup` does for ours."""
    for each in able:
        if each.engine.is_ours or each.engine.package == "numba":
            measured(each.engine.command(each.python, few, WARM_UP_ROWS), 1, each.environment, log)


if __name__ == "__main__":
    raise SystemExit(main())
