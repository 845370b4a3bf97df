"""What detection found, on disk until it is traded: found once, in the order of trading, and read many times.

    piece-00003-0000.hits.arrow   a row per pair that qualified, in the order of trading
    piece-00003-0000.rows.arrow   the rows of the log that these were made from; batch n belongs to batch n of the hits

A hit names its rows by their places in the batch, so that a quote that makes many hits stands there once. Each file is
of one base and in order by itself; another one begins if a log goes back in time.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from backtest.detect.detection_pieces import SearchedGroup
from backtest.detect.detection_texts import TEXT_SCHEMA, RowTexts, rows_behind
from cep.detection.kernel.log import KernelResult, SettingsInForce
from cep.detection.kernel.records import NONE, Records
from cep.detection.market_layout import Layout

HITS, ROWS = ".hits.arrow", ".rows.arrow"
BASE = b"base"
PLACES = ("buy_quote", "sell_quote", "buy_rate", "sell_rate")
"""Places in the batch of rows; NONE if there is no rate."""
_COLUMNS: list[tuple[str, pa.DataType]] = [
    *[(name, pa.int64()) for name in ("offset", "received_time", "pair", "buy_age", "sell_age", *PLACES)],
    *[(name, pa.int64()) for name in ("settings_version", "opportunity_lifetime")],
    *[(name, pa.float64()) for name in ("gross_bps", "fee_bps", "net_bps")],
    *[(name, pa.float64()) for name in ("buy_price", "sell_price", "buy_fee", "sell_fee")],
]
HIT_SCHEMA = pa.schema(_COLUMNS)
"""`price` in the settlement currency, to buy or to sell; `fee` as a fraction; `pair` by its place in the layout."""
Integers = npt.NDArray[np.int64]


class FoundWriter:
    """Writes what is found in one piece. Use as a context; memory: one batch of hits with its rows."""

    def __init__(self, folder: Path, piece: int, layout: Layout) -> None:
        self._path = folder / f"piece-{piece:05}"
        self._layout = layout
        names = sorted({slot.exchange for slot in layout.slots})
        ranks = [names.index(slot.exchange) for slot in layout.slots]
        self._buy_ranks = np.array([ranks[buy] for buy, _ in layout.pairs], dtype=np.int64)
        self._sell_ranks = np.array([ranks[sell] for _, sell in layout.pairs], dtype=np.int64)
        self._texts: RowTexts | None = None
        self._count = 0
        self._open: _Files | None = None

    def __enter__(self) -> "FoundWriter":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def written(self, look: SearchedGroup) -> Iterator[KernelResult]:
        """Return what is found in the row group, each part once it is written."""
        if self._texts is None or look.opening is not None:
            self._close()
            self._texts = RowTexts(look.opening if look.opening is not None else pa.table({}))
        self._texts.enter(look.place.ticks, look.number, look.first_row, look.rows)
        for found in look.found:
            self._write(look.place.base, found, self._texts)
            yield found
        self._texts.leave(look.log.held_rows)

    def _write(self, base: str, found: KernelResult, texts: RowTexts) -> None:
        wanted = rows_behind(found.hits)
        rows = texts.of(wanted)
        table = _hit_table(self._in_order(found.hits, wanted, rows), wanted, rows, found.settings, self._layout)
        first, last = (int(table["received_time"][place].as_py()) for place in (0, len(table) - 1))
        if self._open is not None and first < self._open.last:
            self._close()
        if self._open is None:
            self._open = _Files(f"{self._path}-{self._count:04}", base)
            self._count += 1
        self._open.write(table, rows, last)

    def _in_order(self, hits: Records, wanted: Integers, rows: pa.Table) -> Records:
        """Return the hits by time, row, and names of exchanges."""
        times = rows["received_time"].to_numpy()[np.searchsorted(wanted, hits["row"])]
        pairs = hits["pair"]
        return hits[np.lexsort((self._sell_ranks[pairs], self._buy_ranks[pairs], hits["row"], times))]

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class _Files:
    """The two files of one run of hits."""

    def __init__(self, path: str, base: str) -> None:
        self.last = 0
        """Time of the newest hit."""
        self._stack = ExitStack()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        of_base = HIT_SCHEMA.with_metadata({BASE: base.encode()})
        self._hits = self._stack.enter_context(pa.ipc.new_file(path + HITS, of_base, options=options))
        self._rows = self._stack.enter_context(pa.ipc.new_file(path + ROWS, TEXT_SCHEMA, options=options))

    def write(self, hits: pa.Table, rows: pa.Table, last: int) -> None:
        self.last = last
        self._hits.write_batch(hits.combine_chunks().to_batches()[0])
        self._rows.write_batch(rows.combine_chunks().to_batches()[0])

    def close(self) -> None:
        self._stack.close()


def _hit_table(hits: Records, wanted: Integers, rows: pa.Table, settings: SettingsInForce, layout: Layout) -> pa.Table:
    count, here = len(hits), np.searchsorted(wanted, hits["row"])
    fees = np.array([settings.taker_fees.get(slot.exchange, np.nan) for slot in layout.slots])
    sides = np.array(layout.pairs, dtype=np.int64)[hits["pair"]]
    columns = {
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
