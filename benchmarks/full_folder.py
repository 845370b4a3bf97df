"""A start on a data folder with many arbitrages of earlier sessions, beside one on an empty folder."""

import asyncio
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

import psutil

from benchmarks.earlier_sessions import fill
from benchmarks.live_path import END_SECONDS, paper, until_ready
from benchmarks.part_minutes import PartMinute, part_minute
from benchmarks.session_calls import PAGE_CALLS, session_calls
from runtime.clock import steady_now

COPIED_SECONDS = 60.0
"""How long the copied session trades."""
MEASURED_SECONDS = 120.0
AFTER_SECONDS = 60.0
"""For the calls, once the parts are measured."""


@dataclass(frozen=True, slots=True)
class Start:
    """`calls`: milliseconds of the first call and of the next ones."""

    ready: float
    first_opportunity: float
    parts: dict[str, PartMinute]
    calls: dict[str, tuple[float, float]]
    arbitrages: dict[str, int]
    is_balanced: bool
    load: tuple[float, float, float]


async def compare_starts(market: str, arbitrages: int, rounds: int, kept: Path | None, into: Path) -> None:
    """Compare the starts. `kept`: a folder that was filled before, or is to be kept."""
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full" if kept is None else kept
        if not await asyncio.to_thread(full.exists):
            await _fill_new(full, market, arbitrages)
        starts: dict[str, list[Start]] = {"empty": [], "full": []}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as empty:
                starts["empty"].append(await _started(Path(empty), market))
            starts["full"].append(await _started(full, market))
            with into.open("a") as file:
                file.writelines(json.dumps({name: asdict(of[-1])}) + "\n" for name, of in starts.items())
    _print(starts)


async def _fill_new(home: Path, market: str, arbitrages: int) -> None:
    await asyncio.to_thread(home.mkdir)
    with paper(home, market, COPIED_SECONDS) as process:
        await until_ready(home, process)
        await asyncio.to_thread(process.wait, COPIED_SECONDS + END_SECONDS)
    began = steady_now()
    counts = await fill(home, arbitrages)
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"filled within {(steady_now() - began) / 1_000_000:.0f} s: {said}", flush=True)


async def _started(home: Path, market: str) -> Start:
    # `paper` links the jars again
    (home / "jars").unlink(missing_ok=True)
    with paper(home, market, MEASURED_SECONDS + AFTER_SECONDS) as process:
        ready = await until_ready(home, process)
        parts = await part_minute(home, psutil.Process(process.pid), MEASURED_SECONDS)
        with session_calls(home) as calls:
            took = await calls.milliseconds()
        load = os.getloadavg()
        await asyncio.to_thread(process.wait, AFTER_SECONDS + END_SECONDS)
    summary = json.loads((home / "summary.json").read_text())
    first = summary["seconds_to_first_opportunity"]
    return Start(ready, first, parts, took, summary["arbitrages"], summary["balanced"], load)


def _print(starts: dict[str, list[Start]]) -> None:
    empty, full = starts["empty"], starts["full"]
    print(f"{'means of ' + str(len(empty)):42}{'empty':>12}{'full':>12}")
    print(_line("ready, s", mean(one.ready for one in empty), mean(one.ready for one in full)))
    print(_line("first opportunity, s", *(mean(one.first_opportunity for one in side) for side in (empty, full))))
    for name in sorted(_parts_of(empty) & _parts_of(full)):
        print(_line(f"{name}, cores", *(mean(one.parts[name].cores for one in side) for side in (empty, full))))
        print(_line(f"{name}, MB", *(mean(one.parts[name].pss_mb for one in side) for side in (empty, full))))
    for path in PAGE_CALLS:
        for number, which in enumerate(("first", "next")):
            means = (mean(one.calls[path][number] for one in side) for side in (empty, full))
            print(_line(f"{path}, {which}, ms", *means))
    for name, side in starts.items():
        for one in side:
            ledger = "reconciled" if one.is_balanced else "NOT RECONCILED"
            print(f"{name}: {one.arbitrages}, ledger {ledger}, load average {one.load[0]:.2f}")


def _parts_of(starts: list[Start]) -> set[str]:
    return set.intersection(*(set(one.parts) for one in starts))


def _line(title: str, empty: float, full: float) -> str:
    change = f"{100 * (full / empty - 1):+.0f} %" if empty else "–"
    return f"{title:42}{empty:12.3f}{full:12.3f}{change:>12}"
