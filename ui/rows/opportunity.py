"""The rows of opportunities: outcomes, counts, spreads and durations. Money as decimal strings."""

from typing import Literal

from typing_extensions import TypedDict

from market.decide.settings import Settings
from market.instruments.orders import Side
from market.prices.cycle_opportunities import CycleOpportunity
from store.queries.opportunity_outcomes import OutcomeName
from store.queries.opportunity_pages import StoredOpportunity
from ui.rows.attribute import row_from
from ui.rows.episode import EpisodeCountsRow
from ui.rows.market import OpportunityRow, opportunity_row

Span = Literal["10m", "hour", "session"]


class StoredOpportunityRow(OpportunityRow):
    """`outcome`: taken (both legs were reserved), rejected (`reason`: the first check that failed), expired (nobody had
    decided in time). `arbitrage_state` if an arbitrage was begun; `net_profit` once it has ended, settled."""

    outcome: OutcomeName
    reason: str | None
    arbitrage_state: str | None
    net_profit: str | None


class CycleLegRow(TypedDict):
    """One order of a cycle: `price` and `amount` of the best level that it meets; `age` of its quote, microseconds."""

    side: Side
    exchange: str
    symbol: str
    price: str
    amount: str
    quote_id: str
    age: int


class CycleOpportunityRow(TypedDict):
    """`net_bps` at the best prices, all fees paid; legs in their order."""

    opportunity_id: str
    cycle_id: str
    legs: list[CycleLegRow]
    net_bps: float
    settings_version: int
    event_time: int
    detected_time: int
    expires_at: int


class BinRow(TypedDict):
    """`from_bps` ≤ net bps < `to_bps`."""

    from_bps: float
    to_bps: float
    seen: int
    taken: int
    rejected: int


class LedgerRow(TypedDict):
    """`count` sightings were rejected for it; `missed_profit`: that of the `episodes` whose best sighting was, within
    what one trade may use. An episode counts once, and not at all if any of it was traded."""

    reason: str
    count: int
    episodes: int
    missed_profit: str


class LifeBinRow(TypedDict):
    """`from_ms` ≤ duration < `to_ms`; the last bin has no end."""

    from_ms: float
    to_ms: float | None
    runs: int


class LifeRow(TypedDict):
    """Runs that have ended; `once`: runs of one sighting, with a duration of 0 ms."""

    runs: int
    once: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    longest_ms: float | None


class PairLifeRow(LifeRow):
    """Runs of one directed pair of markets."""

    base: str
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    best_bps: float


class LifetimesRow(TypedDict):
    """Durations of runs; `alive` runs have not ended."""

    definition: str
    alive: int
    all: LifeRow
    histogram: list[LifeBinRow]
    pairs: list[PairLifeRow]


class StatisticsRow(TypedDict):
    """`seen` counts opportunities of the stream since `seen_since`, by this process; `taken` and `rejected` are from
    the store. `taken_expected`: of what was reserved, at the best levels; `rejected_expected`: the missed profit of
    `missed_episodes`. `expired`: seen, but neither; they expired before a bot came to them. Rejections that the store
    counted without their spread are in the bin of the first of their pair, reason and second.

    These count single opportunities; `episodes` counts each episode once, all from the store.
    """

    span: Span
    seen_since: int
    until: int
    min_net_bps: float | None
    emit_net_bps: float | None
    currency: str
    seen: int
    taken: int
    rejected: int
    expired: int
    taken_expected: str
    taken_net: str
    rejected_expected: str
    missed_episodes: int
    episodes: EpisodeCountsRow
    histogram: list[BinRow]
    ledger: list[LedgerRow]
    lifetimes: LifetimesRow


def cycle_opportunity_row(found: CycleOpportunity) -> CycleOpportunityRow:
    legs = [row_from(CycleLegRow, leg.quote, side=leg.side) for leg in found.legs]
    return row_from(CycleOpportunityRow, found, legs=legs)


def stored_opportunity_row(kept: StoredOpportunity, settings: Settings | None) -> StoredOpportunityRow:
    outcome, row = kept.outcome, opportunity_row(kept.opportunity, settings)
    return row_from(
        StoredOpportunityRow,
        outcome,
        **row,
        outcome=outcome.name,
        arbitrage_state=outcome.state,
        net_profit=outcome.net,
    )
