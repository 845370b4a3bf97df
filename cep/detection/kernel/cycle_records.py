"""The data of the kernel for cycles as numpy types: markets, the cycles that they are in, and what is found."""

from typing import NamedTuple

import numpy as np

from cep.detection.kernel.records import Codes, Numbers, Records

MOST_LEGS = 5
CYCLE_MARKET = np.dtype(
    [
        # of the settings in force: what a unit becomes at a price of 1, after the fee; NaN without one
        ("is_enabled", "?"),
        ("kept_buying", "f8"),
        ("kept_selling", "f8"),
        # of the newest quote; `row` is NONE without one, `seen`: when it was last confirmed
        ("row", "i8"),
        ("seen", "i8"),
        ("sequence", "i8"),
        ("bid", "f8"),
        ("ask", "f8"),
        # what one unit given brings, and its logarithm: minus infinity without a quote
        ("buy_rate", "f8"),
        ("sell_rate", "f8"),
        ("buy_log", "f8"),
        ("sell_log", "f8"),
    ]
)
CYCLE_HIT = np.dtype([("row", "i8"), ("time", "i8"), ("cycle", "i8"), ("net_bps", "f8")])
"""A cycle that pays at `row`."""
CYCLE_RULES = np.dtype([("emit_net_bps", "f8"), ("least_log", "f8"), ("max_quote_age", "i8")])
"""`least_log`: the logarithm that the rates of a cycle must reach together to be looked at, slightly lowered."""


class CycleState(NamedTuple):
    """The kernel's state. The legs of cycle n are from `first_leg[n]` up to `first_leg[n + 1]`, the cycles of market m
    from `first_cycle[m]` up to `first_cycle[m + 1]` of `cycles`."""

    markets: Records
    first_leg: Codes
    leg_market: Codes
    leg_sells: Codes
    """1 if the leg sells."""
    first_cycle: Codes
    cycles: Codes
    rules: Records
    """One record."""


class CycleHits(NamedTuple):
    """What is found, and for each leg the row and the sequence of its quote."""

    found: Records
    rows: Numbers
    """(hit, leg)."""
    sequences: Numbers


def room_for(hits: int) -> CycleHits:
    """Return room for so many hits."""
    return CycleHits(
        np.empty(hits, CYCLE_HIT), np.empty((hits, MOST_LEGS), np.int64), np.empty((hits, MOST_LEGS), np.int64)
    )
