"""Runs one base's log through the kernel: tables to arrays, settings rows parsed, hits back to arrays."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cep.detection.kernel import records as kernel_records
from cep.detection.kernel.records import NONE, Codes, Flags, KernelRows, KernelState, Numbers, Records, Words
from cep.detection.market_layout import Layout

COLUMNS = ["kind", "exchange", "symbol", "received_time", "sequence", "bid_price", "ask_price"]
"""The columns that detection needs."""
DOCUMENT = "document"
SEEN = "seen"
"""A column that may be given: when each row was known to be true, microseconds. Without it at its `received_time`."""
KERNEL = "cep.detection.kernel.detection_kernel"
"""Imported on use: the compiler takes half a second to import, which a driver of tasks need not spend."""
_WORD = pa.dictionary(pa.int32(), pa.string())
_TYPES: list[tuple[str, pa.DataType]] = [
    *[(name, _WORD) for name in COLUMNS[:3]],
    *[(name, pa.int64()) for name in COLUMNS[3:5]],
    *[(name, pa.float64()) for name in COLUMNS[5:]],
]
TICK_ROWS = pa.schema(_TYPES)
HIT_CAPACITY = 16_384
"""Capacity of the hits buffer."""
KINDS = {
    "quote": kernel_records.QUOTE,
    "alive": kernel_records.ALIVE,
    "withdrawn": kernel_records.WITHDRAWN,
    "fx": kernel_records.FX,
    "fx_alive": kernel_records.FX_ALIVE,
    "fx_withdrawn": kernel_records.FX_WITHDRAWN,
    "settings": kernel_records.SETTINGS,
}


@dataclass(frozen=True, slots=True)
class SettingsInForce:
    """The values of a settings row that detection and its messages use; times in microseconds."""

    version: int
    opportunity_lifetime: int
    max_quote_age: int
    emit_net_bps: float
    enabled_exchanges: tuple[str, ...]
    taker_fees: dict[str, float]


NO_SETTINGS = SettingsInForce(0, 0, 0, float("nan"), (), {})
"""Without settings nothing qualifies."""


@dataclass(frozen=True, slots=True)
class KernelResult:
    """Hits (records of `kernel_records.HIT`), and the settings in force.

    The hits stand in a buffer that is used again: take what is needed of them before asking for the next result.
    """

    hits: Records
    settings: SettingsInForce


def settings_in_force(document: str | bytes) -> SettingsInForce:
    """From a `settings` row of the log, JSON."""
    row = json.loads(document)
    return SettingsInForce(
        version=row["settings_version"],
        opportunity_lifetime=row["opportunity_lifetime"],
        max_quote_age=row["max_quote_age"],
        emit_net_bps=row["emit_net_bps"],
        enabled_exchanges=tuple(row["enabled_exchanges"]),
        taker_fees={exchange: float(rate) for exchange, rate in row["taker_fees"].items()},
    )


def load_kernel() -> None:
    """Load the kernel's machine code, or compile it if it is not cached yet (about five seconds)."""
    blank = pa.Table.from_pylist([{}], schema=TICK_ROWS)
    KernelLog(Layout((), (), ""), "", None).learn(blank)
    new_ids(np.empty(0, kernel_records.HIT), np.empty((0, 4), np.int64))


def new_ids(hits: Records, last: Numbers) -> Flags:
    """Whether each hit has another id than the hit of its pair before it, as long as no sequence goes back.

    `last`: (pair, 4) sequences of the pair's previous hit, updated here.
    """
    is_new = np.empty(len(hits), dtype=np.bool_)
    import_module(KERNEL).mark_new_ids(hits, last, is_new)
    return is_new


class KernelLog:
    """Processes one base's log from any row, after `learn` has loaded the state there.

    `settings`: apply to all rows, and settings rows are ignored; None: settings rows apply. Rows are numbered from 0
    in the order in which they are given.
    """

    def __init__(self, layout: Layout, base: str, settings: SettingsInForce | None) -> None:
        self._layout = layout
        self._base = base
        self._follows = settings is None
        self._settings = settings or NO_SETTINGS
        self.book = _empty_book(layout)
        self._scan: Callable[[KernelRows, int, int, Words, KernelState, Records], tuple[int, int]] = import_module(
            KERNEL
        ).scan
        self._capacity = np.empty(max(HIT_CAPACITY, 2 * len(layout.pairs)), dtype=kernel_records.HIT)
        self._sources: dict[str | None, int] = {}
        self._next = 0

    @property
    def held_rows(self) -> Numbers:
        """Numbers of the rows that later hits may refer to, ascending."""
        rows = np.concatenate([self.book.slots["row"], self.book.routes["row"]])
        return np.unique(rows[rows != NONE])

    @property
    def sources(self) -> tuple[str | None, ...]:
        """The exchange of each route's rate."""
        names = {number: name for name, number in self._sources.items()}
        return tuple(names.get(int(number)) for number in self.book.routes["source"])

    def has_settings(self, rows: pa.Table) -> bool:
        """Whether the column `document` is needed."""
        return self._follows and len(self._settings_rows(rows, encoded(rows, "kind"))) > 0

    def learn(self, rows: pa.Table) -> None:
        """Apply rows before the first one to check; they give no hits."""
        for _ in self._scanned(rows, silent=True):
            pass

    def found(self, rows: pa.Table) -> Iterator[KernelResult]:
        """Hits at rows with COLUMNS (and DOCUMENT, if it `has_settings`), in the order of rows and pairs."""
        return self._scanned(rows, silent=False)

    def _scanned(self, table: pa.Table, silent: bool) -> Iterator[KernelResult]:
        kinds, exchanges, symbols = (encoded(table, name) for name in ("kind", "exchange", "symbol"))
        rows = kernel_rows(self._next, table, kinds[0], exchanges[0], symbols[0])
        words = self._words(kinds[1], exchanges[1], symbols[1])
        self._next += len(table)
        changes = self._settings_rows(table, kinds) if self._follows else ()
        start = 0
        for change in (*changes, len(table)):
            yield from self._stretch(rows, start, change, words, silent)
            if change < len(table):
                self._settings = settings_in_force(table[DOCUMENT][int(change)].as_py())
            start = change

    def _stretch(self, rows: KernelRows, start: int, end: int, words: Words, silent: bool) -> Iterator[KernelResult]:
        """Process rows under the same settings."""
        settings = NO_SETTINGS if silent else self._settings
        self._put_in_force(settings)
        while start < end:
            count, start = self._scan(rows, start, end, words, self.book, self._capacity)
            if count:
                yield KernelResult(self._capacity[:count], settings)

    def _put_in_force(self, settings: SettingsInForce) -> None:
        slots, rules = self.book.slots, self.book.rules
        rules["emit_net_bps"], rules["max_quote_age"] = settings.emit_net_bps, settings.max_quote_age
        for number, slot in enumerate(self._layout.slots):
            slots["is_enabled"][number] = slot.exchange in settings.enabled_exchanges
            slots["fee"][number] = settings.taker_fees.get(slot.exchange, float("nan"))

    def _settings_rows(self, table: pa.Table, kinds: "tuple[Codes, list[str | None]]") -> Numbers:
        if "settings" not in kinds[1]:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(kinds[0] == kinds[1].index("settings"))

    def _words(self, kinds: list[str | None], exchanges: list[str | None], symbols: list[str | None]) -> Words:
        slots = self._layout.slot_numbers(self._base)
        routes = {route.symbol: n for n, route in enumerate(self._layout.routes)}
        passed_over = () if self._follows else ("settings",)
        numbers = [
            kernel_records.PASSED_OVER
            if kind is None or kind in passed_over
            else KINDS.get(kind, kernel_records.PASSED_OVER)
            for kind in kinds
        ]
        places = [[slots.get((exchange or "", symbol or ""), NONE) for symbol in symbols] for exchange in exchanges]
        return Words(
            kind=codes_of(numbers),
            slot=np.array(places, dtype=np.int32).reshape(len(exchanges), len(symbols)),
            route=codes_of([routes.get(symbol or "", NONE) for symbol in symbols]),
            source=codes_of([self._sources.setdefault(exchange, len(self._sources)) for exchange in exchanges]),
        )


def kernel_rows(first: int, table: pa.Table, kinds: Codes, exchanges: Codes, symbols: Codes) -> KernelRows:
    return KernelRows(
        first=first,
        kinds=kinds,
        exchanges=exchanges,
        symbols=symbols,
        times=_values(table, "received_time", np.int64),
        seen=_values(table, SEEN if SEEN in table.column_names else "received_time", np.int64),
        sequences=_values(table, "sequence", np.int64),
        bids=_values(table, "bid_price", np.float64),
        asks=_values(table, "ask_price", np.float64),
    )


def encoded(table: pa.Table, column: str) -> "tuple[Codes, list[str | None]]":
    """Codes of a dictionary column and their values; null is the last one."""
    words: Any = table[column].combine_chunks()
    if isinstance(words, pa.ChunkedArray):  # a table without rows
        words = pa.array([], pa.dictionary(pa.int32(), pa.string()))
    names: list[str | None] = words.dictionary.to_pylist()
    indices = words.indices
    if indices.null_count:
        indices = indices.fill_null(len(names))
    return np.asarray(indices, dtype=np.int32), [*names, None]


def _values(table: pa.Table, column: str, dtype: "type[np.int64] | type[np.float64]") -> npt.NDArray[Any]:
    """Null as 0, or NaN if they are doubles."""
    values: Any = table[column].combine_chunks()
    if values.null_count:
        values = values.fill_null(0 if dtype is np.int64 else float("nan"))
    return np.asarray(values, dtype=dtype)


def codes_of(numbers: list[int]) -> Codes:
    return np.array(numbers, dtype=np.int32)


def _empty_book(layout: Layout) -> KernelState:
    numbers = {pair: number for number, pair in enumerate(layout.pairs)}
    groups = [*(layout.pairs_with(slot) for slot in range(len(layout.slots))), layout.pairs]
    slots, routes = np.zeros(len(layout.slots), kernel_records.SLOT), np.zeros(len(layout.routes), kernel_records.ROUTE)
    slots["route"] = [NONE if slot.fx is None else slot.fx for slot in layout.slots]
    routes["is_inverted"] = [route.inverted for route in layout.routes]
    for name in ("row", "sequence", "first_sequence"):
        slots[name] = routes[name] = NONE
    routes["source"] = NONE
    for name in ("bid", "ask"):
        slots[name] = routes[name] = np.nan
    return KernelState(
        slots=slots,
        routes=routes,
        pairs=np.array(list(layout.pairs), dtype=kernel_records.PAIR),
        grouped=codes_of([numbers[pair] for group in groups for pair in group]),
        first=codes_of([0, *np.cumsum([len(group) for group in groups])]),
        rules=np.zeros(1, kernel_records.RULES),
        tick=np.zeros(1, kernel_records.TICK),
    )
