"""The measurements, as a table to read and as JSON to keep."""

import os
import platform
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from benchmarks.backtests.comparison import Measured
from benchmarks.backtests.engines import OURS
from benchmarks.backtests.measuring import Pass

MILLION = 1e6
HEADINGS = (
    "engine",
    "rows",
    "wall s",
    "CPU s",
    "million rows/s",
    "million rows per CPU-s",
    "most MB",
    "load before",
    "ours, cold : it",
    "ours, warm : it",
)


@dataclass(frozen=True, slots=True)
class Line:
    """Medians over the rounds of one engine's first or second pass."""

    name: str
    title: str
    is_warm: bool
    rows: int
    opportunities: int
    wall: float
    cpu: float
    rate: float
    cpu_rate: float
    peak_megabytes: float
    load: float
    seconds: dict[str, float]
    note: str


def lines(results: Iterable[Measured]) -> list[Line]:
    return [line for result in results for line in _lines(result)]


def _lines(result: Measured) -> Iterator[Line]:
    """Yield one line per pass of a process; if the engine measures its run alone, a line for that comes first."""
    title = result.engine.title
    for number in range(len(result.rounds[0])):
        passes = [passes[number] for passes in result.rounds]
        if "run" in passes[0].found.seconds:
            alone = [
                replace(each, wall=each.found.seconds["run"], cpu=each.found.seconds["run_cpu"]) for each in passes
            ]
            yield _line(result, f"{title}, its run alone", alone)
            yield _line(result, f"{title}, from Parquet", passes)
        elif result.engine.is_ours:
            yield _line(result, f"{title}, {'second pass' if number else 'from a cold start'}", passes, number > 0)
        else:
            yield _line(result, title, passes)


def _line(result: Measured, title: str, passes: list[Pass], is_warm: bool = False) -> Line:
    rows = passes[0].found.rows
    wall, cpu = _median(each.wall for each in passes), _median(each.cpu for each in passes)
    parts = sorted({name for each in passes for name in each.found.seconds})
    return Line(
        name=result.engine.name,
        title=title,
        is_warm=is_warm,
        rows=rows,
        opportunities=passes[0].found.count,
        wall=wall,
        cpu=cpu,
        rate=rows / wall,
        cpu_rate=rows / cpu,
        peak_megabytes=_median(each.peak for each in passes) / 1024**2,
        load=_median(each.load for each in passes),
        seconds={name: _median(each.found.seconds.get(name, 0.0) for each in passes) for name in parts},
        note=result.note,
    )


def _median(figures: Iterable[float]) -> float:
    return statistics.median(figures)


def markdown(found: list[Line], missing: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the table; ratios are of rows per second by the wall."""
    cold = next((line.rate for line in found if line.name == OURS and not line.is_warm), None)
    warm = next((line.rate for line in found if line.name == OURS and line.is_warm), None)
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|---" * len(HEADINGS) + "|"
    for line in found:
        figures = (
            line.title,
            f"{line.rows:,}",
            f"{line.wall:.2f}",
            f"{line.cpu:.2f}",
            f"{line.rate / MILLION:.3f}",
            f"{line.cpu_rate / MILLION:.3f}",
            f"{line.peak_megabytes:,.0f}",
            f"{line.load:.2f}",
            _ratio(cold, line),
            _ratio(warm, line),
        )
        yield "| " + " | ".join(figures) + " |"
    for line in found:
        if line.seconds and "run" not in line.seconds:
            yield f"* {line.title}: " + ", ".join(f"{name} {figure:.2f}" for name, figure in line.seconds.items())
        if line.note:
            yield f"* {line.title}: {line.note.removesuffix('; ')}"
    for title, why in missing:
        yield f"* {title}: not run, {why}"


def _ratio(ours: float | None, line: Line) -> str:
    return "" if ours is None else f"{ours / line.rate:.2f}"


def document(found: list[Line], results: Iterable[Measured]) -> dict[str, object]:
    """Return medians, and each pass of each round."""
    return {
        "lines": [asdict(line) for line in found],
        "rounds": {
            result.engine.name: [[asdict(each) for each in passes] for passes in result.rounds] for result in results
        },
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
