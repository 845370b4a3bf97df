"""The kernel's data as numpy types: records of the state, columns of rows, and hits."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Records = npt.NDArray[np.void]

PASSED_OVER, QUOTE, ALIVE, WITHDRAWN, FX, FX_ALIVE, FX_WITHDRAWN, SETTINGS = range(8)
NONE = -1
"""No slot, route or row; the row of a quote or rate that is missing or withdrawn."""
SLOT = np.dtype(
    [
        # of the layout
        ("route", "i8"),
        # of the settings in force; a missing fee is NaN
        ("is_enabled", "?"),
        ("fee", "f8"),
        # of the newest quote; `seen`: when it was last confirmed
        ("row", "i8"),
        ("seen", "i8"),
        ("sequence", "i8"),
        ("first_sequence", "i8"),
        ("bid", "f8"),
        ("ask", "f8"),
        # in the settlement currency, at the sides of the rate that one would trade
        ("buy_price", "f8"),
        ("sell_price", "f8"),
        # sell price after fee, and the bar it must reach for buying here to qualify, slightly lowered
        ("gain", "f8"),
        ("bar", "f8"),
    ]
)
ROUTE = np.dtype(
    [
        ("is_inverted", "?"),
        ("row", "i8"),
        ("seen", "i8"),
        ("sequence", "i8"),
        ("first_sequence", "i8"),
        ("source", "i8"),
        ("bid", "f8"),
        ("ask", "f8"),
    ]
)
PAIR = np.dtype([("buy", "i8"), ("sell", "i8")])
TICK = np.dtype(
    [
        *[(name, "i8") for name in ("kind", "row", "time", "seen", "slot", "route", "source", "sequence")],
        ("bid", "f8"),
        ("ask", "f8"),
    ]
)
RULES = np.dtype([("emit_net_bps", "f8"), ("max_quote_age", "i8"), ("irregular", "i8")])
"""`irregular`: how often a sequence was below an earlier one, so that equal ids may not be adjacent."""
HIT = np.dtype(
    [
        ("row", "i8"),
        ("pair", "i8"),
        *[(f"{side}_{part}_{what}", "i8") for what in ("row", "sequence") for part in ("quote", "rate")
          for side in ("buy", "sell")],
        ("buy_age", "i8"),
        ("sell_age", "i8"),
        ("buy_price", "f8"),
        ("sell_price", "f8"),
        ("gross_bps", "f8"),
        ("fee_bps", "f8"),
        ("net_bps", "f8"),
    ]
)  # fmt: skip
"""A pair that qualifies at `row`; rows as numbered by `KernelRows.first`; NONE if there is no rate."""


class KernelRows(NamedTuple):
    """Columns of consecutive rows of one base's log; dictionary columns as codes. `first` numbers its first row."""

    first: int
    kinds: Codes
    exchanges: Codes
    symbols: Codes
    times: Numbers
    seen: Numbers
    """When each row was known to be true: at its time, or earlier if a log says so."""
    sequences: Numbers
    bids: Doubles
    asks: Doubles


class Words(NamedTuple):
    """The values of those columns' codes."""

    kind: Codes
    slot: npt.NDArray[np.int32]
    """(exchange code, symbol code) → slot, or NONE."""
    route: Codes
    """Symbol code → route, or NONE."""
    source: Codes
    """Exchange code → a number that is the same in every dictionary."""


class KernelState(NamedTuple):
    """The kernel's state. Groups of pairs: one per slot with its pairs, then one with all."""

    slots: Records
    routes: Records
    pairs: Records
    grouped: Codes
    """Numbers of pairs, group after group."""
    first: Codes
    """Group n is from `first[n]` up to `first[n + 1]`."""
    rules: Records
    """One record."""
    tick: Records
    """One record: the current row."""
