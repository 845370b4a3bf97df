"""What was measured, as a table to read and as JSON to keep."""

import os
import platform
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

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
    return [
        _line(result, number, [passes[number] for passes in result.rounds])
        for result in results
        for number in range(result.engine.passes)
    ]


def _line(result: Measured, number: int, passes: list[Pass]) -> Line:
    parts = {name for passed in passes for name in passed.found.seconds}
    return Line(
        name=result.engine.name,
        title=result.engine.title + (", second pass" if number else ", from a cold start" if _is_ours(result) else ""),
        is_warm=number > 0,
        rows=passes[0].found.rows,
        opportunities=passes[0].found.count,
        wall=statistics.median(passed.counted[0] for passed in passes),
        cpu=statistics.median(passed.counted[1] for passed in passes),
        rate=statistics.median(passed.rate for passed in passes),
        cpu_rate=statistics.median(passed.cpu_rate for passed in passes),
        peak_megabytes=statistics.median(passed.peak for passed in passes) / 1024**2,
        load=statistics.median(passed.load for passed in passes),
        seconds={
            name: statistics.median(passed.found.seconds.get(name, 0.0) for passed in passes) for name in sorted(parts)
        },
        note=result.note,
    )


def _is_ours(result: Measured) -> bool:
    return result.engine.is_ours


def markdown(found: list[Line], missing: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Ratios are of rows a second by the wall."""
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
        for name, seconds in line.seconds.items():
            yield f"* {line.title}: {name} {seconds:.2f} s"
        if line.note:
            yield f"* {line.title}: {line.note.removesuffix('; ')}"
    for title, why in missing:
        yield f"* {title}: not run, {why}"


def _ratio(ours: float | None, line: Line) -> str:
    return "" if ours is None else f"{ours / line.rate:.2f}"


def document(found: list[Line], results: Iterable[Measured]) -> dict[str, object]:
    """Medians, and each pass of each round."""
    return {
        "lines": [asdict(line) for line in found],
        "rounds": {
            result.engine.name: [[asdict(each) for each in passes] for passes in result.rounds] for result in results
        },
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
