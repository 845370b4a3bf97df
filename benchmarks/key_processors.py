"""A processor with a million keys: memory, CPU of a row, and the longest pause while snapshots are written.

`python -m benchmarks.key_processors [--keys 1000000] [--rows 2000000]`. Each key has a state of three values and an
alarm a week ahead, which each of its rows moves. First each key gets a row, then `rows` more come to keys by chance, as
fast as they are computed, while a snapshot is written each second as a worker of apps does; then another app goes on
from the last one. In one process, without Kafka; memory is the process's own, less what it had before the first row.
A pause is the CPU between the beginnings of two rows.
"""

import argparse
import gc
import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from cep.apps.engine.key_log import KeyLog, restored
from cep.apps.engine.snapshots import Snapshot, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.parts.app_limits import AppLimits
from cep.apps.resident.worker import KEYS_BETWEEN_FREEZES, SNAPSHOT_SECONDS
from cep.snapshot_folder import SegmentFiles

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
ROWS_BETWEEN_SLICES = 100
"""When all keys are written again."""
MEGABYTE = 1024**2
STATUS = Path("/proc/self/statm")


def resident_bytes() -> int:
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class SavingApp:
    """An engine whose keys are written beside its snapshots."""

    def __init__(self, terms: OperatorTerms, folder: Path) -> None:
        self._app, self._terms, self.files = parse_app(TEXT), terms, SegmentFiles(folder, 0)
        self.engine = StreamEngine(self._app, 0, terms=terms)
        self.log = KeyLog(self.files, self.engine.state)
        self.longest, self.snapshots, self.head = 0.0, 0, b""
        self._walk: Iterator[None] = iter(())
        self._saved_at = time.monotonic()
        self._frozen = 0

    def take(self, numbers: Iterable[int], first: int) -> None:
        """Rows come a millisecond apart."""
        send, last = self.engine.sender("sale"), time.thread_time()
        for at, number in enumerate(numbers, first):
            send(at, (f"customer-{number}", number % 10_000))
            self.log.write_changed()
            if at % ROWS_BETWEEN_SLICES == 0:
                self._write_some()
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now

    def save(self) -> None:
        self.head = written(Snapshot("totals", {}, self.log.taken()))
        self.files.drop_before(self.log.first_segment)
        self.snapshots += 1
        # as its worker does
        if self.log.key_count > KEYS_BETWEEN_FREEZES + 2 * self._frozen:
            self._frozen = self.log.key_count
            gc.freeze()

    def resumed(self) -> StreamEngine:
        engine = StreamEngine(self._app, 0, terms=self._terms)
        restored(engine.state, read(self.head, "totals").state, self.files)
        return engine

    def _write_some(self) -> None:
        is_over = object()
        if next(self._walk, is_over) is is_over and time.monotonic() - self._saved_at > SNAPSHOT_SECONDS:
            self.save()
            self._walk, self._saved_at = self.log.walk(), time.monotonic()


def microseconds_a_row(app: SavingApp, numbers: Iterable[int], count: int, first: int) -> str:
    """Return the CPU of one row, and the longest pause."""
    began, app.longest, before = time.process_time(), 0.0, app.snapshots
    app.take(numbers, first)
    took = (time.process_time() - began) / count * 1e6
    return f"{took:.1f} us CPU a row, {app.snapshots - before} snapshots, longest pause {app.longest * 1e3:.0f} ms"


def measured(keys: int, rows: int, folder: Path) -> None:
    (folder / "totals.py").write_text(CODE)
    limits = AppLimits(keys=10 * keys, state_bytes=8 * 1024**3)
    app = SavingApp(OperatorTerms(functions=folder, limits=limits), folder)
    before, chosen = resident_bytes(), random.Random(1)
    print(f"{keys:,} new keys: {microseconds_a_row(app, range(keys), keys, 0)}")
    numbers = (chosen.randrange(keys) for _ in range(rows))
    print(f"known ones: {microseconds_a_row(app, numbers, rows, keys)}")
    kept = resident_bytes() - before
    print(f"memory: {kept / MEGABYTE:,.0f} MB, {kept / keys:,.0f} bytes a key")
    began = time.thread_time()
    app.save()
    on_disk = sum(one.stat().st_size for one in app.files.paths())
    print(f"last snapshot: {(time.thread_time() - began) * 1e3:.0f} ms CPU; {on_disk / MEGABYTE:,.0f} MB on disk")
    began = time.process_time()
    other = app.resumed()
    print(f"read again: {time.process_time() - began:.2f} s CPU")
    quiet: list[int] = []
    other.listen("quiet", lambda at, row: quiet.append(at))
    began = time.process_time()
    other.advance(8 * 86_400_000 + keys + rows)
    print(f"{len(quiet):,} alarms: {(time.process_time() - began) / max(1, len(quiet)) * 1e6:.1f} us CPU each")
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
