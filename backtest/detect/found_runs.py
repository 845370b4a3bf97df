"""Batches of what was found, put in the order of trading on disk.

A log goes back in time where rows of another region are mirrored into it, or a clock is set; then batches make several
runs, each in order by itself, and so do the bases of a piece. Runs are merged a few at a time, pass by pass, so that
neither open files nor memory grow with their number.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from backtest.detect.detection_texts import TEXT_SCHEMA
from cep.detection.kernel.log import HIT_CAPACITY
from cep.detection.kernel.records import NONE
from cep.detection.market_layout import Layout

HITS, ROWS = ".hits.arrow", ".rows.arrow"
PLACES = ("buy_quote", "sell_quote", "buy_rate", "sell_rate")
"""Places in the batch of rows; NONE if there is no rate."""
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("base", pa.string()),
    *[(name, pa.int64()) for name in ("offset", "received_time", "pair", "buy_age", "sell_age", *PLACES)],
    *[(name, pa.int64()) for name in ("settings_version", "opportunity_lifetime")],
    *[(name, pa.float64()) for name in ("gross_bps", "fee_bps", "net_bps")],
    *[(name, pa.float64()) for name in ("buy_price", "sell_price", "buy_fee", "sell_fee")],
]
HIT_SCHEMA = pa.schema(_COLUMNS)
"""`price` in the settlement currency, to buy or to sell; `fee` as a fraction; `pair` by its place in the layout."""
AT_ONCE = 8
"""Runs that are merged in one go: as many batches are in memory."""
_SUFFIXES = (HITS, ROWS)
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Stored:
    """A batch on disk: its number, and (time, base) of its first and its last hit."""

    number: int
    first: tuple[int, str]
    last: tuple[int, str]


@dataclass(frozen=True, slots=True)
class _Open:
    """Hits that are not written yet, with their rows."""

    hits: pa.Table
    rows: pa.Table

    def cut(self, bound: int | None) -> tuple["_Open", "_Open"]:
        """Return the hits before this time, and the others; None: all are before."""
        times = self.hits["received_time"].to_numpy()
        count = len(times) if bound is None else int(np.searchsorted(times, bound))
        return _Open(self.hits.slice(0, count), self.rows), _Open(self.hits.slice(count), self.rows)


class FoundRuns:
    """The batches of one piece; `path`: of the two files, without their suffixes."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path = path
        self._ranks = exchange_ranks(layout)
        self._pass = 0
        self._files = _Files(self._scratch())

    def add(self, hits: pa.Table, rows: pa.Table) -> None:
        """Write a batch that is in order by itself."""
        self._files.write(hits, rows)

    def finish(self) -> None:
        """Merge until all is one run, and give the files their names."""
        self._files.close()
        while len(self._files.runs) > 1:
            before, paths = self._files.runs, self._scratch()
            self._pass += 1
            self._files = _Files(self._scratch())
            with ExitStack() as stack:
                stack.callback(self._files.close)
                hits, rows = (pa.ipc.open_file(stack.enter_context(pa.memory_map(str(path)))) for path in paths)
                for first in range(0, len(before), AT_ONCE):
                    self._files.begin_run()
                    batches = (batch for run in before[first : first + AT_ONCE] for batch in run)
                    for part in self._merged(sorted(batches, key=lambda batch: batch.first), hits, rows):
                        self._files.write(part.hits, part.rows)
            for path in paths:
                path.unlink()
        for path, suffix in zip(self._scratch(), _SUFFIXES, strict=True):
            path.replace(self._path.with_name(self._path.name + suffix))

    def discard(self) -> None:
        self._files.close()
        for path in self._scratch():
            path.unlink(missing_ok=True)

    def _scratch(self) -> tuple[Path, Path]:
        hits, rows = (self._path.with_name(f"{self._path.name}{suffix}.{self._pass}") for suffix in _SUFFIXES)
        return hits, rows

    def _merged(
        self, batches: list[_Stored], hits: pa.ipc.RecordBatchFileReader, rows: pa.ipc.RecordBatchFileReader
    ) -> Iterator[_Open]:
        """Return the hits of these batches, by their first times, in order: a batch is read when its time has come."""
        unwritten: list[_Open] = []
        bounds = [*(batch.first[0] for batch in batches[1:]), None]
        for batch, bound in zip(batches, bounds, strict=True):
            tables = (pa.Table.from_batches([file.get_batch(batch.number)]) for file in (hits, rows))
            cuts = [one.cut(bound) for one in (*unwritten, _Open(*tables))]
            unwritten = [later for _, later in cuts if len(later.hits)]
            yield from self._in_order([now for now, _ in cuts if len(now.hits)])

    def _in_order(self, parts: list[_Open]) -> Iterator[_Open]:
        if not parts:
            return
        starts = np.cumsum([0, *(len(part.rows) for part in parts[:-1])])
        hits = pa.concat_tables(_moved(part.hits, int(start)) for part, start in zip(parts, starts, strict=True))
        rows = pa.concat_tables(part.rows for part in parts)
        hits = hits.take(self._order(hits)).combine_chunks()
        for start in range(0, len(hits), HIT_CAPACITY):
            yield _compact(hits.slice(start, HIT_CAPACITY), rows)

    def _order(self, hits: pa.Table) -> Integers:
        """Return the places of the hits by `backtest.simulate.trade_simulation.trading_order`."""
        pairs = hits["pair"].to_numpy()
        buy_ranks, sell_ranks = (ranks[pairs] for ranks in self._ranks)
        bases = np.unique(hits["base"].to_numpy().astype(str), return_inverse=True)[1]
        order: Integers = np.lexsort(
            (sell_ranks, buy_ranks, hits["offset"].to_numpy(), bases, hits["received_time"].to_numpy())
        )
        return order


class _Files:
    """The two files while they are written, batch by batch."""

    def __init__(self, paths: tuple[Path, Path]) -> None:
        self.runs: list[list[_Stored]] = []
        self._count = 0
        self._stack = ExitStack()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._hits, self._rows = (
            self._stack.enter_context(pa.ipc.new_file(str(path), schema, options=options))
            for path, schema in zip(paths, (HIT_SCHEMA, TEXT_SCHEMA), strict=True)
        )

    def begin_run(self) -> None:
        self.runs.append([])

    def write(self, hits: pa.Table, rows: pa.Table) -> None:
        """Write one batch; one that begins before the end of the newest run begins another."""
        first, last = (
            (hits["received_time"][place].as_py(), hits["base"][place].as_py()) for place in (0, len(hits) - 1)
        )
        stored = _Stored(self._count, first, last)
        if not self.runs or (self.runs[-1] and stored.first < self.runs[-1][-1].last):
            self.begin_run()
        self.runs[-1].append(stored)
        self._count += 1
        self._hits.write_batch(hits.combine_chunks().to_batches()[0])
        self._rows.write_batch(rows.combine_chunks().to_batches()[0])

    def close(self) -> None:
        self._stack.close()


def exchange_ranks(layout: Layout) -> tuple[Integers, Integers]:
    """Return the place of each pair's exchanges, where it buys and where it sells, among their names in order."""
    names = sorted({slot.exchange for slot in layout.slots})
    ranks = [names.index(slot.exchange) for slot in layout.slots]
    buys, sells = (np.array([ranks[pair[side]] for pair in layout.pairs], dtype=np.int64) for side in (0, 1))
    return buys, sells


def _moved(hits: pa.Table, start: int) -> pa.Table:
    """Return the hits with places after `start` other rows."""
    places = {name: hits[name].to_numpy() for name in PLACES}
    return _with_places(hits, {name: np.where(given == NONE, NONE, given + start) for name, given in places.items()})


def _compact(hits: pa.Table, rows: pa.Table) -> _Open:
    """Return the hits with those rows alone that they name."""
    places = {name: hits[name].to_numpy() for name in PLACES}
    named = np.unique(np.concatenate(list(places.values())))
    named = named[named != NONE]
    here = {name: np.where(given == NONE, NONE, np.searchsorted(named, given)) for name, given in places.items()}
    return _Open(_with_places(hits, here), rows.take(named).combine_chunks())


def _with_places(hits: pa.Table, places: Mapping[str, Integers]) -> pa.Table:
    columns = [pa.chunked_array([places[name]]) if name in places else hits[name] for name in HIT_SCHEMA.names]
    return pa.Table.from_arrays(columns, schema=HIT_SCHEMA)
