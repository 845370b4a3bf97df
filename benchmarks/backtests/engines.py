"""The engines by name: their commands, their numbers of rows, and what they read."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.backtests.generator import peer_file, tick_set_folder
from benchmarks.backtests.peers import Peers

MILLION = 1_000_000
OURS, SPARK = "ours", "spark"


@dataclass(frozen=True, slots=True)
class Engine:
    """`package`: needed besides numpy and pyarrow; `most_rows`: limit of a comparison of many rows."""

    name: str
    title: str
    module: str
    package: str | None
    most_rows: int
    arguments: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.module == OURS

    @property
    def passes(self) -> int:
        """Two for ours: the second one is warm. For peers it would differ from the first only by their imports."""
        return 2 if self.name in (OURS, SPARK) else 1

    def why_not(self, rows: int) -> str | None:
        """Return why the engine cannot take that many rows; None if it can. Ours takes a set whole; peers take its
        first rows."""
        too_many = self.is_ours and rows > self.most_rows
        return f"it takes a set whole, and its sets are of {self.most_rows:,} rows at most" if too_many else None

    def command(self, python: Path, folder: Path, rows: int) -> tuple[str, ...]:
        quotes = tick_set_folder(folder) if self.is_ours else peer_file(folder)
        return (str(python), "-m", f"benchmarks.backtests.{self.module}", str(quotes), str(rows), *self.arguments)


ENGINES = (
    Engine(OURS, "ours: kernel in this process", OURS, None, 1_000 * MILLION),
    Engine(SPARK, "ours: Spark, kernel in the tasks", OURS, None, 1_000 * MILLION, ("spark",)),
    Engine("trading", "ours, detection and simulated trading", OURS, None, 10 * MILLION, ("trade",)),
    Engine("numba", "numba loop over pyarrow's columns", "numba_loop", "numba", 1_000 * MILLION),
    Engine("numba-ahead", "the same, reading ahead in a thread", "numba_loop", "numba", 1_000 * MILLION, ("ahead",)),
    Engine("polars", "polars, streaming engine", "polars_streaming", "polars", 1_000 * MILLION),
    Engine("pandas", "pandas, plain", "pandas_plain", "pandas", 100 * MILLION),
    Engine("duckdb", "DuckDB, window IGNORE NULLS", "duckdb_window", "duckdb", 100 * MILLION),
    Engine("nautilus", "NautilusTrader BacktestEngine", "nautilus", "nautilus_trader", MILLION // 5),
)


@dataclass(frozen=True, slots=True)
class Runnable:
    """An engine, the Python that has what it needs, and that Python's environment variables."""

    engine: Engine
    python: Path
    environment: dict[str, str]


def runnable(
    names: tuple[str, ...], rows: int, peers: Peers | None, caches: Path
) -> Iterator[Runnable | tuple[Engine, str]]:
    """Yield each requested engine, or why it cannot run. Without `peers` those run that this environment has."""
    for engine in ENGINES:
        if engine.name not in names:
            continue
        why = engine.why_not(rows)
        if why is not None:
            yield engine, why
        elif engine.is_ours:
            yield Runnable(engine, Path(sys.executable), {"PYSPARK_PYTHON": sys.executable})
        elif peers is not None:
            yield Runnable(engine, peers.python, {"NUMBA_CACHE_DIR": str(caches / peers.python_version)})
        elif engine.package is None or find_spec(engine.package) is not None:
            yield Runnable(engine, Path(sys.executable), {"NUMBA_CACHE_DIR": str(caches / "own")})
        else:
            yield engine, f"{engine.package} is not installed here"
