"""Runs the engines in turn, and checks that all of them found the same."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.backtests.definition import Found
from benchmarks.backtests.engines import Engine, Runnable
from benchmarks.backtests.measuring import Pass, TooMuchMemoryError, measured

BLOCK = 1 << 20
LEAST_ROWS = 100_000


class DisagreementError(Exception):
    """Two engines found different opportunities in the same rows."""


@dataclass(slots=True)
class Measured:
    """Rounds of one engine; each round is a process with some passes."""

    engine: Engine
    rows: int
    rounds: list[list[Pass]] = field(default_factory=list)
    note: str = ""


def compared(runnables: list[Runnable], folder: Path, rows: int, rounds: int, log: Path) -> list[Measured]:
    """Run all rounds in turn, so that a busy moment of the machine affects all. Raises EngineError,
    DisagreementError."""
    results = [Measured(runnable.engine, min(rows, runnable.engine.most_rows)) for runnable in runnables]
    for _ in range(rounds):
        for runnable, result in zip(runnables, results, strict=True):
            _one_round(runnable, result, folder, log)
    check_agreement(results)
    return results


def _one_round(runnable: Runnable, result: Measured, folder: Path, log: Path) -> None:
    engine = runnable.engine
    while True:
        command = engine.command(runnable.python, folder, result.rows)
        read_all(Path(command[3]))
        try:
            passes = measured(command, engine.passes, runnable.environment, log)
        except TooMuchMemoryError as error:
            if engine.is_ours or result.rows // 2 < LEAST_ROWS:
                raise
            result.note += f"{result.rows:,} rows: {error}; "
            result.rows //= 2
            result.rounds.clear()
        else:
            result.rounds.append(passes)
            return


def read_all(path: Path) -> None:
    """Read the file once before measuring, so that every engine finds it in memory."""
    paths = [path] if path.is_file() else sorted(path.rglob("ticks.parquet"))
    for each in paths:
        with each.open("rb") as file:
            while file.read(BLOCK):
                pass


def check_agreement(results: Iterable[Measured]) -> None:
    """Raise DisagreementError if two engines found different opportunities."""
    answers: dict[int, tuple[str, Found]] = {}
    for result in results:
        for passed in (passed for passes in result.rounds for passed in passes):
            title, first = answers.setdefault(passed.found.rows, (result.engine.title, passed.found))
            if not first.agrees(passed.found):
                raise DisagreementError(f"{title}: {first}; {result.engine.title}: {passed.found}")
            if first.times is None:
                answers[passed.found.rows] = (result.engine.title, passed.found)
