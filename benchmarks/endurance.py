"""Whether a session's CPU and memory stay constant: for an hour, and on a data folder that is full.

`python -m benchmarks.endurance [--market storm] [--minutes 60] [--into FILE]` starts `arbitrage paper` with a data
folder of its own, and notes each minute what each part takes. At the end it compares the last minutes with those about
minute 10. Each row goes into FILE at once, so that a run that is cut off keeps its figures.

`--arbitrages 1000000` instead compares a start on a folder with that many arbitrages of earlier sessions
(`benchmarks.earlier_sessions`) with one on an empty folder, by turns in the same run.
"""

import argparse
import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import httpx
import psutil

from benchmarks.full_folder import compare_starts
from benchmarks.live_path import END_SECONDS, PERCENTILES, paper, until_ready
from benchmarks.part_minutes import PartMinute, part_minute
from benchmarks.session_calls import SessionCalls, session_calls
from session.simulated_market import MARKETS

FIRST_MINUTE = 10
MEAN_OVER = 5
"""Minutes around a point over which CPU is averaged."""

SUMMED = ("arbitrages", "balanced", "latency_ms", "step_ms")
"""Fields of the session's own summary."""

Row = dict[str, Any]


async def endure(market: str, minutes: int, into: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, rows = Path(folder), list[Row]()
        with paper(home, market) as process:
            await until_ready(home, process)
            supervisor = psutil.Process(process.pid)
            with session_calls(home) as calls:
                for minute in range(1, minutes + 1):
                    rows.append(await _row(minute, await part_minute(home, supervisor), calls))
                    with into.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, END_SECONDS)
        summary = json.loads((home / "summary.json").read_text())
        with into.open("a") as file:
            file.write(json.dumps({name: summary[name] for name in SUMMED}) + "\n")
    _print(rows)
    ended = ", ".join(f"{count} {state}" for state, count in summary["arbitrages"].items()) or "none"
    print(f"arbitrages: {ended}; ledger {'reconciled' if summary['balanced'] else 'NOT RECONCILED'}")
    for name, row in {**summary["latency_ms"], **summary["step_ms"]}.items():
        print(f"{name:34}" + "".join(f"{(row or {}).get(one, float('nan')):9.1f}" for one in PERCENTILES))


async def _row(minute: int, parts: dict[str, PartMinute], calls: SessionCalls) -> Row:
    row: Row = {"minute": minute, "load": os.getloadavg(), "parts": {name: one.row() for name, one in parts.items()}}
    try:
        row["arbitrages"] = (await calls.answer("/pnl"))["arbitrages"]
        row["latencies"] = (await calls.answer("/health/parts"))["latencies"]
    except httpx.HTTPError as error:
        row["not_answered"] = str(error)
    return row


def growth(rows: Sequence[Row], minute: int) -> dict[str, tuple[float, float]]:
    """Return part → mean cores of the minutes around that one, and megabytes in it; for parts that ran in it."""
    about = [row["parts"] for row in rows if abs(row["minute"] - minute) <= MEAN_OVER // 2]
    [there] = [row["parts"] for row in rows if row["minute"] == minute]
    return {
        name: (mean(parts[name]["cores"] for parts in about if name in parts), part["pss_mb"])
        for name, part in there.items()
    }


def _print(rows: Sequence[Row]) -> None:
    first, last = min(FIRST_MINUTE, len(rows)), len(rows)
    before, after = growth(rows, first), growth(rows, last)
    titles = (f"cores, min {first}", f"min {last}", "growth", f"MB, min {first}", f"min {last}", "growth")
    print(f"{'part':34}" + "".join(f"{title:>15}" for title in titles))
    for name in sorted(before.keys() & after.keys(), key=lambda name: -after[name][0]):
        cells = [_growth_cells(old, new) for old, new in zip(before[name], after[name], strict=True)]
        print(f"{name:34}" + "".join(cells))
    totals = [[sum(column) for column in zip(*side.values(), strict=True)] for side in (before, after)]
    print(f"{'all':34}" + "".join(_growth_cells(old, new) for old, new in zip(*totals, strict=True)))
    if changed := before.keys() ^ after.keys():
        print(f"only at one of them: {', '.join(sorted(changed))}")
    print(f"load average {' '.join(f'{one:.2f}' for one in rows[-1]['load'])} on {os.cpu_count()} cores")


def _growth_cells(old: float, new: float) -> str:
    percent = f"{100 * (new / old - 1):+.0f} %" if old else "–"
    return f"{old:15.3f}{new:15.3f}{percent:>15}" if new < 10 else f"{old:15.0f}{new:15.0f}{percent:>15}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", choices=MARKETS, default="storm")
    parser.add_argument("--minutes", type=int, default=60, help="after all is ready")
    parser.add_argument("--arbitrages", type=int, default=0, help="of earlier sessions; compares starts")
    parser.add_argument("--rounds", type=int, default=1, help="how often starts are compared")
    parser.add_argument("--full", type=Path, help="a folder that is filled already, or is to be kept")
    parser.add_argument("--into", type=Path, default=Path("endurance.jsonl"), help="JSON lines, added to what is there")
    arguments = parser.parse_args()
    if arguments.arbitrages:
        asyncio.run(
            compare_starts(arguments.market, arguments.arbitrages, arguments.rounds, arguments.full, arguments.into)
        )
    else:
        asyncio.run(endure(arguments.market, arguments.minutes, arguments.into))


if __name__ == "__main__":
    main()
