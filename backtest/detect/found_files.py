"""What detection found, on disk until it is traded: found once, in the order of trading, and read many times.

    piece-00003.hits.arrow   a row per pair that qualified, in the order of trading
    piece-00003.rows.arrow   the rows of the log that these were made from; batch n belongs to batch n of the hits

A hit names its rows by their places in the batch, so that a quote that makes many hits stands there once. A piece has
one such pair of files, whatever the order of its log (`found_runs`), so that a reader opens few of them.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from backtest.detect.detection_pieces import SearchedGroup
from backtest.detect.detection_texts import RowTexts, rows_behind
from backtest.detect.found_runs import HIT_SCHEMA, PLACES, FoundRuns, Integers, exchange_ranks
from cep.detection.kernel.log import KernelResult, SettingsInForce
from cep.detection.kernel.records import NONE, Records
from cep.detection.market_layout import Layout


class FoundWriter:
    """Writes what is found in one piece. Use as a context; memory: one batch of hits with its rows, and at the end, if
    the piece is not in order by itself, `found_runs.AT_ONCE` of them."""

    def __init__(self, folder: Path, piece: int, layout: Layout) -> None:
        self._path = folder / f"piece-{piece:05}"
        self._layout = layout
        self._ranks = exchange_ranks(layout)
        self._texts: RowTexts | None = None
        self._runs: FoundRuns | None = None

    def __enter__(self) -> "FoundWriter":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runs is None:
            return
        if error is None:
            self._runs.finish()
        else:
            self._runs.discard()

    def written(self, look: SearchedGroup) -> Iterator[KernelResult]:
        """Return what is found in the row group, each part once it is written."""
        if self._texts is None or look.opening is not None:
            self._texts = RowTexts(look.opening if look.opening is not None else pa.table({}))
        self._texts.enter(look.place.ticks, look.number, look.first_row, look.rows)
        for found in look.found:
            self._write(look.place.base, found, self._texts)
            yield found
        self._texts.leave(look.log.held_rows)

    def _write(self, base: str, found: KernelResult, texts: RowTexts) -> None:
        wanted = rows_behind(found.hits)
        rows = texts.of(wanted)
        if self._runs is None:
            self._runs = FoundRuns(self._path, self._layout)
        hits = self._in_order(found.hits, wanted, rows)
        self._runs.add(_hit_table(base, hits, wanted, rows, found.settings, self._layout), rows)

    def _in_order(self, hits: Records, wanted: Integers, rows: pa.Table) -> Records:
        """Return the hits by time, row, and names of exchanges."""
        times = rows["received_time"].to_numpy()[np.searchsorted(wanted, hits["row"])]
        buy_ranks, sell_ranks = self._ranks
        pairs = hits["pair"]
        return hits[np.lexsort((sell_ranks[pairs], buy_ranks[pairs], hits["row"], times))]


def _hit_table(
    base: str, hits: Records, wanted: Integers, rows: pa.Table, settings: SettingsInForce, layout: Layout
) -> pa.Table:
    count, here = len(hits), np.searchsorted(wanted, hits["row"])
    fees = np.array([settings.taker_fees.get(slot.exchange, np.nan) for slot in layout.slots])
    sides = np.array(layout.pairs, dtype=np.int64)[hits["pair"]]
    columns = {
        "base": pa.repeat(base, count),
        "offset": rows["offset"].to_numpy()[here],
        "received_time": rows["received_time"].to_numpy()[here],
        "settings_version": np.full(count, settings.version, dtype=np.int64),
        "opportunity_lifetime": np.full(count, settings.opportunity_lifetime, dtype=np.int64),
        "buy_fee": fees[sides[:, 0]],
        "sell_fee": fees[sides[:, 1]],
        **{name: _places(hits[f"{name}_row"], wanted) for name in PLACES},
    }
    known = {name: hits[name] for name in HIT_SCHEMA.names if name not in columns}
    return pa.Table.from_pydict({**columns, **known}, schema=HIT_SCHEMA)


def _places(numbers: Integers, wanted: Integers) -> Integers:
    return np.where(numbers == NONE, NONE, np.searchsorted(wanted, numbers))
