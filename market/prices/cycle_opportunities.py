"""A cycle that pays at one row of the log: for each leg the quote that an order of it meets."""

from dataclasses import dataclass

from market.instruments.orders import Side
from market.prices.opportunities import OpportunityLeg


@dataclass(frozen=True, slots=True)
class CycleOpportunityLeg:
    """One leg as quoted: `quote` has asks if it buys, and bids if it sells."""

    side: Side
    quote: OpportunityLeg


@dataclass(frozen=True, slots=True)
class CycleOpportunity:
    """What detection says of a cycle. `opportunity_id` hashes the cycle and the quote ids of its legs: the same log
    gives the same ids. Times in microseconds UTC; `net_bps` at the best prices, all fees paid, as IEEE doubles give it.
    """

    opportunity_id: str
    cycle_id: str
    """Of `market.instruments.cycles.Cycle`."""
    legs: tuple[CycleOpportunityLeg, ...]
    settings_version: int
    net_bps: float
    event_time: int
    detected_time: int
    expires_at: int
    offset: int
    """Position in the log of the row that made it."""
