"""The work of one worker on its pieces: the kernel over row groups; what it finds is stored, counted, or sent as hits
with their rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from backtest.detect.detection_counts import LogCounts, RunCounts
from backtest.detect.detection_pieces import Piece, SearchedGroup, searched_groups
from backtest.detect.detection_texts import RowTexts, rows_behind
from backtest.detect.found_files import FoundWriter
from cep.detection.kernel.log import KernelResult, SettingsInForce
from cep.detection.market_layout import Layout
from tick_sets.rows.arrow_columns import MarketKey

QUOTE_FIELDS = (
    "exchange",
    "symbol",
    "sequence",
    "bid",
    "bid_amount",
    "ask",
    "ask_amount",
    "bids",
    "asks",
    "exchange_time",
    "received_time",
)
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DetectionTask:
    """The same for every task; the task's number selects its piece."""

    pieces: tuple[Piece, ...]
    layout: Layout
    settings: SettingsInForce | None
    """None: those of the log."""
    trusted: frozenset[MarketKey] = frozenset()
    """Markets whose quotes' age counts from the exchange's time."""

    def hits(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return hits for `mapInArrow`: numbers of pieces in, `kernel_hits.HIT_TYPE` out, in the order of each base's
        log."""
        for batch in batches:
            for number in batch.column(0).to_numpy():
                yield from self._hits(self.pieces[int(number)])

    def counts(self, numbers: Iterable[int]) -> Iterator[RunCounts]:
        """Return the counts, one per base of each piece; text is not read."""
        for number in numbers:
            yield from self._counted(self.pieces[number])

    def stored(self, folder: Path, numbers: Iterable[int]) -> Iterator[RunCounts]:
        """Return the same counts; what was found is written to `folder`, for `found_opportunities`."""
        for number in numbers:
            with FoundWriter(folder, number, self.layout) as writer:
                yield from self._counted(self.pieces[number], writer)

    def _hits(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        texts: RowTexts | None = None
        for look in self._searched(piece):
            if texts is None or look.opening is not None:
                texts = RowTexts(look.opening if look.opening is not None else pa.table({}))
            texts.enter(look.place.ticks, look.number, look.first_row, look.rows)
            for found in look.found:
                yield _hit_rows(look, found, texts, self.layout)
            texts.leave(look.log.held_rows)

    def _counted(self, piece: Piece, writer: FoundWriter | None = None) -> Iterator[RunCounts]:
        counts: LogCounts | None = None
        for look in self._searched(piece):
            if look.opening is not None:
                if counts is not None:
                    yield counts.finished()
                counts = LogCounts(look.place.base, look.log, self.layout)
            if counts is not None:
                counts.add(look.rows, look.found if writer is None else writer.written(look))
        if counts is not None:
            yield counts.finished()

    def _searched(self, piece: Piece) -> Iterator[SearchedGroup]:
        return searched_groups(piece, self.layout, self.settings, self.trusted)


def _hit_rows(look: SearchedGroup, found: KernelResult, texts: RowTexts, layout: Layout) -> pa.RecordBatch:
    hits, count = found.hits, len(found.hits)
    wanted = rows_behind(hits)
    rows = texts.of(wanted)
    here = np.searchsorted(wanted, hits["row"])
    columns = {
        "base": pa.array([look.place.base], pa.string()).take(np.zeros(count, dtype=np.int32)),
        "offset": _column(rows, "offset", here),
        "received_time": _column(rows, "received_time", here),
        "pair": pa.array(hits["pair"].astype(np.int32)),
        "settings_version": pa.array(np.full(count, found.settings.version, dtype=np.int32)),
        "opportunity_lifetime": pa.array(np.full(count, found.settings.opportunity_lifetime, dtype=np.int64)),
        **{name: pa.array(hits[name]) for name in ("gross_bps", "fee_bps", "net_bps")},
        "buy": _leg("buy", found, wanted, rows, layout),
        "sell": _leg("sell", found, wanted, rows, layout),
    }
    return pa.RecordBatch.from_arrays([*columns.values()], [*columns])


def _leg(side: str, found: KernelResult, wanted: Numbers, rows: pa.Table, layout: Layout) -> pa.StructArray:
    hits = found.hits
    slots = np.array([pair[side == "sell"] for pair in layout.pairs], dtype=np.int32)[hits["pair"]]
    fees = np.array([found.settings.taker_fees.get(slot.exchange, np.nan) for slot in layout.slots])
    columns = {
        "slot": pa.array(slots),
        "age": pa.array(hits[f"{side}_age"]),
        "fee": pa.array(fees[slots]),
        "price": pa.array(hits[f"{side}_price"]),
        "quote": _rows_at(hits[f"{side}_quote_row"], wanted, rows),
        "rate": _rows_at(hits[f"{side}_rate_row"], wanted, rows),
    }
    return pa.StructArray.from_arrays([*columns.values()], [*columns])


def _rows_at(numbers: Numbers, wanted: Numbers, rows: pa.Table) -> pa.StructArray:
    """Return the rows at `numbers`; null if a number is NONE."""
    is_none = numbers < 0
    places = np.where(is_none, 0, np.searchsorted(wanted, numbers))
    columns = [_column(rows, name, places) for name in QUOTE_FIELDS]
    return pa.StructArray.from_arrays(columns, list(QUOTE_FIELDS), mask=pa.array(is_none))


def _column(rows: pa.Table, name: str, places: Numbers) -> "pa.Array[pa.Scalar[pa.DataType]]":
    return rows[name].combine_chunks().take(places)
