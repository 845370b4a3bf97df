"""The schema of `cycle_opportunities`: cycles that pay, and the markers that passed their detection. JSON.

`cycle_opportunity`: kind, opportunity_id, cycle_id, legs, settings_version, net_bps, event_time, expires_at, offset. A
leg has `side` and what a leg of an opportunity has: of its quote the side that an order meets. Markers are as in
`opportunities`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from market.instruments.orders import Side
from market.prices.cycle_opportunities import CycleOpportunity, CycleOpportunityLeg
from market.prices.opportunities import MARKER_KINDS, LogMarker
from streams.message_format import WireError, finite_of, leg_of

FOUND = "cycle_opportunity"


def cycle_opportunity_message(
    opportunity_id: str, cycle_id: str, legs: Sequence[Mapping[str, object]], found: Mapping[str, object]
) -> bytes:
    """Return a message. `legs`: as `cycle_leg_row` makes them; `found`: the fields after `legs`."""
    return orjson.dumps(
        {"kind": FOUND, "opportunity_id": opportunity_id, "cycle_id": cycle_id, "legs": list(legs), **found}
    )


def cycle_leg_row(quote: Mapping[str, Any], side: Side, age: int) -> dict[str, object]:
    """Return a leg that meets this `quote` or `fx` row of the log, whose levels go through as they stand there. `age`:
    microseconds since it was last confirmed."""
    shown = "ask" if side == "buy" else "bid"
    return {
        "side": side,
        "exchange": quote["exchange"],
        "symbol": quote["symbol"],
        "quote_currency": quote["quote_currency"],
        "price": quote[shown],
        "amount": quote[f"{shown}_amount"],
        "levels": quote[f"{shown}s"],
        "quote_id": f"{quote['exchange']}:{quote['symbol']}:{quote['sequence']}",
        "age": age,
        "exchange_time": quote.get("exchange_time"),
        "received_time": quote["received_time"],
    }


def marker_message(marker: Mapping[str, Any], offset: int) -> bytes:
    """Return a `probe` or `end` row of the log as it passes through."""
    return orjson.dumps({**{name: marker[name] for name in ("kind", "base", "marker_id")}, "offset": offset})


def cycle_opportunity_of(
    row: Mapping[str, Any], detected_time: int, *, with_levels: bool = True
) -> CycleOpportunity | LogMarker:
    """Return a message as `message_format.row_of` gives it. `detected_time`: of its record, microseconds;
    `with_levels`: as `message_format.opportunity_of`. Raises WireError."""
    try:
        if row["kind"] in MARKER_KINDS:
            return LogMarker(row["kind"], row["base"], row["marker_id"], int(row["offset"]))
        if row["kind"] != FOUND:
            raise ValueError(f"no kind of this topic: {row['kind']!r}")
        return CycleOpportunity(
            opportunity_id=row["opportunity_id"],
            cycle_id=row["cycle_id"],
            legs=tuple(CycleOpportunityLeg(_side_of(leg), leg_of(leg, with_levels)) for leg in row["legs"]),
            settings_version=int(row["settings_version"]),
            net_bps=finite_of(row["net_bps"]),
            event_time=int(row["event_time"]),
            detected_time=detected_time,
            expires_at=int(row["expires_at"]),
            offset=int(row["offset"]),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise WireError(f"not a cycle that pays: {error!r}") from error


def _side_of(leg: Mapping[str, Any]) -> Side:
    if leg["side"] not in ("buy", "sell"):
        raise ValueError(f"no side: {leg['side']!r}")
    side: Side = leg["side"]
    return side
