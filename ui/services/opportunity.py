"""Opportunities for REST and pages: lists, single ones, and the statistics of a time span."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO, text_of, total
from market.prices.episodes import MarketPair
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from store.aggregates.episode_sums import (
    BINS_PER_BPS,
    EpisodeSum,
    episodes_by_outcome,
    missed_episodes,
    missed_profit,
)
from store.aggregates.opportunity_sums import OutcomeSum
from store.queries.episode_pages import EpisodeFilter
from store.queries.opportunity_outcomes import OpportunityOutcome
from store.queries.opportunity_pages import OpportunityFilter, StoredOpportunity
from store.server.page_reader import Page
from ui.rows.episode import EpisodeCountsRow, EpisodeRow, episode_row
from ui.rows.opportunity import (
    BinRow,
    LedgerRow,
    Span,
    StatisticsRow,
    StoredOpportunityRow,
    stored_opportunity_row,
)
from ui.services.dashboard import Dashboard
from ui.services.opportunity_lifetimes import lifetimes_row
from ui.services.session_markets import is_of_market

SPAN_SECONDS: dict[Span, int | None] = {"10m": 600, "hour": 3_600, "session": None}
WIDTHS = (1, 2, 4, 10, 20, 40, 100, 200, 400, 1_000, 2_000)
"""Width of a histogram's bars, in half basis points."""
MAX_BARS = 40


def span_start(span: Span) -> int | None:
    """Return since when an episode could still go on to be of the span, by the machine's time; None: whenever."""
    seconds = SPAN_SECONDS[span]
    return None if seconds is None else wall_now() - seconds * MICROSECONDS


async def opportunity_page(
    dashboard: Dashboard, wanted: OpportunityFilter, cursor: str | None, limit: int
) -> Page[StoredOpportunityRow]:
    """Return stored opportunities, newest first. There may be more even if the page is not full.

    Raises CursorError, StoreUnavailableError.
    """
    page = await dashboard.reader.kept_opportunities.page(wanted, cursor, limit)
    rows = tuple(stored_opportunity_row(one, dashboard.hub.settings) for one in page.items)
    return Page(rows, page.next_cursor)


async def opportunity_by_id(dashboard: Dashboard, opportunity_id: str) -> StoredOpportunityRow | None:
    """Return a stored one, else one of the newest of the stream. Raises StoreUnavailableError."""
    kept = await dashboard.reader.kept_opportunities.one(opportunity_id)
    live_state = dashboard.hub.live_state
    if kept is not None:
        return stored_opportunity_row(kept, live_state.settings)
    found = next((one for one in live_state.opportunities() if one.opportunity_id == opportunity_id), None)
    if found is None:
        return None
    outcome = await dashboard.reader.kept_opportunities.outcome(opportunity_id)
    settings = live_state.settings
    if (
        outcome.name == "expired"
        and settings is not None
        and found.net_bps < settings.threshold(found.base, found.buy.exchange, found.sell.exchange)
    ):
        # bots reject thousands of these and store the first of each second
        outcome = OpportunityOutcome("rejected", reason="below_threshold")
    return stored_opportunity_row(StoredOpportunity(found, outcome), settings)


async def opportunity_statistics(
    dashboard: Dashboard, span: Span, base: str | None = None, exchange: str | None = None
) -> StatisticsRow:
    """Return the statistics of a time span; `exchange` on either side. Raises StoreUnavailableError."""
    seconds, live_state = SPAN_SECONDS[span], dashboard.hub.live_state
    sums = dashboard.reader.opportunity_sums
    read = await (sums.of_session() if seconds is None else sums.recent(seconds))
    outcomes = [one for one in read if _is_of(base, exchange, one)]
    read_episodes = await (sums.episodes.of_session() if seconds is None else sums.episodes.recent(seconds))
    episodes = [one for one in read_episodes if _is_of(base, exchange, one)]
    now = dashboard.session.clock().now()
    census = live_state.census.counted(now, None if seconds is None else now - seconds * MICROSECONDS)
    seen: Counter[int] = Counter()
    for pair, counts in census.bins.items():
        if _fits_pair(base, exchange, pair):
            seen.update(counts)
    runs = [run for run in census.runs if _fits_pair(base, exchange, run.pair)]
    taken, rejected = ([one for one in outcomes if one.outcome == kind] for kind in ("taken", "rejected"))
    answered = (sum(one.count for one in taken), sum(one.count for one in rejected))
    return StatisticsRow(
        span=span,
        seen_since=census.since,
        until=now,
        min_net_bps=live_state.settings.min_net_bps if live_state.settings else None,
        emit_net_bps=live_state.settings.emit_net_bps if live_state.settings else None,
        currency=dashboard.session.settlement_currency,
        seen=seen.total(),
        taken=answered[0],
        rejected=answered[1],
        expired=max(0, seen.total() - sum(answered)),
        taken_expected=text_of(total(one.expected for one in taken)),
        taken_net=text_of(total(one.net for one in taken)),
        rejected_expected=text_of(total(one.missed for one in episodes)),
        missed_episodes=sum(one.episodes for one in episodes if one.reason),
        episodes=episode_counts_row(episodes),
        histogram=histogram(seen, taken, rejected),
        ledger=ledger(rejected, episodes),
        lifetimes=lifetimes_row(census, runs),
    )


def episode_counts_row(sums: Iterable[EpisodeSum]) -> EpisodeCountsRow:
    known = list(sums)
    counts = episodes_by_outcome(known)
    return EpisodeCountsRow(
        seen=sum(counts.values()),
        sightings=sum(one.samples for one in known),
        taken=counts["taken"],
        rejected=counts["rejected"],
        expired=counts["expired"],
        undecided=counts["undecided"],
    )


@dataclass(frozen=True, slots=True)
class RejectionSums:
    """Sums by reason."""

    counts: dict[str, int]
    episodes: dict[str, int]
    missed_profit: dict[str, Decimal]


async def rejection_sums(dashboard: Dashboard, base: str | None, exchange: str | None) -> RejectionSums:
    """Return the sums; `exchange` on either side. Raises StoreUnavailableError."""
    counts = await dashboard.reader.rejection_counts(base, exchange)
    read = await dashboard.reader.opportunity_sums.episodes.of_session()
    sums = [one for one in read if _is_of(base, exchange, one)]
    return RejectionSums(counts, missed_episodes(sums), missed_profit(sums))


async def episode_page(dashboard: Dashboard, wanted: EpisodeFilter, cursor: str | None, limit: int) -> Page[EpisodeRow]:
    """Return a page, newest first. Raises CursorError, StoreUnavailableError."""
    page = await dashboard.reader.episodes(wanted, cursor, limit)
    currency = dashboard.session.settlement_currency
    return Page(tuple(episode_row(one, currency) for one in page.items), page.next_cursor)


def histogram(seen: Counter[int], taken: Iterable[OutcomeSum], rejected: Iterable[OutcomeSum]) -> list[BinRow]:
    """Return at most 40 bars of one width, from the narrowest spread to the widest; `seen` by half basis points."""
    counts = (seen, _by_bin(taken), _by_bin(rejected))
    known = set().union(*counts)
    if not known:
        return []
    lowest, highest = min(known), max(known)
    # a wild price must not make millions of bars
    widest = -(-(highest - lowest) // (MAX_BARS - 1))
    width = next((width for width in WIDTHS if highest // width - lowest // width < MAX_BARS), widest)
    wide = [Counter[int]() for _ in counts]
    for narrow, sums in zip(counts, wide, strict=True):
        for number, count in narrow.items():
            sums[number // width] += count
    return [
        BinRow(
            from_bps=number * width / BINS_PER_BPS,
            to_bps=(number + 1) * width / BINS_PER_BPS,
            seen=wide[0][number],
            taken=wide[1][number],
            rejected=wide[2][number],
        )
        for number in range(lowest // width, highest // width + 1)
    ]


def ledger(rejected: Iterable[OutcomeSum], missed: Iterable[EpisodeSum]) -> list[LedgerRow]:
    """Return the reasons for rejections, the one with the largest missed profit first."""
    counts, episodes = Counter[str](), Counter[str]()
    missed_profit: dict[str, Decimal] = {}
    for one in rejected:
        counts[one.why] += one.count
    for each in missed:
        if each.reason:
            episodes[each.reason] += each.episodes
            missed_profit[each.reason] = missed_profit.get(each.reason, ZERO) + each.missed
    reasons = counts.keys() | episodes.keys()
    ordered = sorted(reasons, key=lambda reason: (-missed_profit.get(reason, ZERO), -counts[reason], reason))
    return [
        LedgerRow(
            reason=reason,
            count=counts[reason],
            episodes=episodes[reason],
            missed_profit=text_of(missed_profit.get(reason, ZERO)),
        )
        for reason in ordered
    ]


def _by_bin(sums: Iterable[OutcomeSum]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for one in sums:
        counts[one.bin] += one.count
    return counts


def _is_of(base: str | None, exchange: str | None, one: OutcomeSum | EpisodeSum) -> bool:
    return is_of_market(base, exchange, one.base, one.buy_exchange, one.sell_exchange)


def _fits_pair(base: str | None, exchange: str | None, pair: MarketPair) -> bool:
    its_base, buy_exchange, _, sell_exchange, _ = pair
    return is_of_market(base, exchange, its_base, buy_exchange, sell_exchange)
