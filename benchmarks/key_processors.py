"""A processor with a million keys: memory, CPU of a row, and what a snapshot takes.

`python -m benchmarks.key_processors [--keys 1000000] [--rows 2000000]`. Each key has a state of three values and an
alarm a week ahead, which each of its rows moves. First each key gets a row, then `rows` more come to keys by chance;
then a snapshot is written and read by another app. In one process, without Kafka; memory is the process's own, less
what it had before the first row.
"""

import argparse
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.parts.app_limits import AppLimits
from cep.apps.stream_app import StreamApp

CODE = """
from arbitrage.processors import processor

@processor(key="customer", events=["sale"])
class Totals:
    def on_event(self, me, stream, row):
        state = me.state
        state["cents"] = state.get("cents", 0) + row["cents"]
        state["sales"] = state.get("sales", 0) + 1
        state["last"] = me.now
        me.set_alarm(days=7)

    def on_alarm(self, me, name):
        me.emit("quiet", customer=me.key, cents=me.state["cents"])
        me.retire()
"""
TEXT = """
@App:processor('totals.Totals', events = 'sale', emits = 'quiet')
define stream sale (customer string, cents long);
define stream quiet (customer string, cents long);
"""
MEGABYTE = 1024**2
STATUS = Path("/proc/self/statm")


def resident_bytes() -> int:
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def microseconds_a_row(app: StreamApp, numbers: Iterable[int], count: int, first: int) -> float:
    """Return the CPU of one row; rows come a millisecond apart."""
    began = time.process_time()
    for at, number in enumerate(numbers, first):
        app.send("sale", (f"customer-{number}", number % 10_000), at)
    return (time.process_time() - began) / count * 1e6


def measured(keys: int, rows: int, folder: Path) -> None:
    (folder / "totals.py").write_text(CODE)
    limits = AppLimits(keys=10 * keys, state_bytes=8 * 1024**3)
    terms = OperatorTerms(functions=folder, limits=limits)
    app = StreamApp(TEXT, terms=terms, begins_at=0)
    before, chosen = resident_bytes(), random.Random(1)
    new = microseconds_a_row(app, range(keys), keys, 0)
    again = microseconds_a_row(app, (chosen.randrange(keys) for _ in range(rows)), rows, keys)
    print(f"{keys:,} keys: {new:.1f} us CPU a row of a new key, {again:.1f} us of a known one")
    kept = resident_bytes() - before
    print(f"memory: {kept / MEGABYTE:,.0f} MB, {kept / keys:,.0f} bytes a key")
    began = time.process_time()
    data = app.snapshot()
    print(f"snapshot: {time.process_time() - began:.2f} s CPU, {len(data) / MEGABYTE:,.0f} MB")
    began = time.process_time()
    other = StreamApp(TEXT, terms=terms, snapshot=data)
    print(f"read again: {time.process_time() - began:.2f} s CPU")
    began = time.process_time()
    quiet = len(other.advance(8 * 86_400_000 + keys + rows))
    print(f"{quiet:,} alarms: {(time.process_time() - began) / max(1, quiet) * 1e6:.1f} us CPU each")
    print(f"load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        measured(options.keys, options.rows, Path(folder))


if __name__ == "__main__":
    main()
