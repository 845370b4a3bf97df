"""What is counted over all arbitrages of a database, on the one row that every reservation counts on."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO
from store.errors import StoreError
from store.server.client import Database, Document, translated_errors
from store.server.documents import CLAIMS, SESSION_CLAIM, amount_of, amounts_of, date_of, integer_of, microseconds_of

COUNTER_FIELDS: Document = {"now": "$$NOW", "open_arbitrages": 1, "notional": 1, "day": 1, "day_net": 1, "stopped": 1}


@dataclass(frozen=True, slots=True)
class RiskCounters:
    """As of `now`, the server's, microseconds; money in the settlement currency."""

    now: int
    reservations_open: bool
    open_arbitrages: int
    notional: Mapping[str, Decimal]
    """`notional_keys` → of the open arbitrages; none if it is 0."""
    day_net: Decimal
    """Realised on the server's day, UTC."""


def counters_of(counter: Document | None, now: int, session_id: str) -> RiskCounters:
    """Raise StoreError in a database never prepared."""
    if counter is None:
        raise StoreError("The database was not prepared: the session's counter is missing.")
    return RiskCounters(
        now=now,
        reservations_open=counter.get("stopped") != session_id,
        open_arbitrages=integer_of(counter.get("open_arbitrages")),
        notional=amounts_of(counter.get("notional")),
        day_net=amount_of(counter["day_net"]) if counter.get("day") == day_of(now) else ZERO,
    )


def day_of(now: int) -> str:
    """UTC, by the server's clock."""
    return date_of(now).date().isoformat()


async def read_counters(database: Database, session_id: str) -> RiskCounters:
    """Raise StoreUnavailableError."""
    with translated_errors():
        counter = await database[CLAIMS].find_one({"_id": SESSION_CLAIM}, COUNTER_FIELDS)
        return counters_of(counter, 0 if counter is None else microseconds_of(counter["now"]), session_id)
