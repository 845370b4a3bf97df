"""One feed under a fault, through the watch loop of the feeders: what it published, and what was true meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from market.prices.feed_state import FeedState, FeedStatus
from market.prices.quotes import FeedMark
from market.time_units import MICROSECONDS
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row
from pricefeeds.recording.feed_recording import RecordedEventKind
from runtime.clock import SystemClock, wall_now
from tests.fault_matrix.orders import order_under
from tests.fault_matrix.trials import FeedTrial, OrderShows, OrderTrial, Withdrawal
from tests.fault_matrix.truth import oldest_belief
from tests.fault_matrix.world import MARKETS, World
from tests.pricefeeds.watched import Watched, watching

PATIENCE = FeedTimeouts(stale_after=1.2, first_book=2.0, compare_every=1.2, rest_lag=0.4, first_retry=0.05)
"""Four tenths of a session's own."""
WITHOUT_COMPARISON = replace(PATIENCE, compare_every=600)
"""For streams that show lost messages; the others are compared as often as ever."""
LIMIT_FAR = FeedTimeouts(stale_after=9, first_book=9, compare_every=1.2, rest_lag=0.4, first_retry=0.05)
"""For what is told at once: a quote that is withdrawn was not withdrawn because this machine is slow."""
_QUOTES = 5
"""So many in a row, and it is well."""
_COUNTERS = (
    "gaps",
    "checksums",
    "malformed",
    "resyncs",
    "reconnects",
    "rest_mismatches",
    "rest_failures",
)


@dataclass(frozen=True, slots=True)
class FeedSeen:
    """`oldest`, `stalled` in microseconds: how old the oldest quote was that was believed, and how long this machine
    stood still at most."""

    withdrawn: Withdrawal
    status: FeedStatus | None
    """What the feed was when its quote was first withdrawn: what comes later is no longer the fault's first sign."""
    counted: frozenset[str]
    rows: tuple[Row, ...]
    oldest: int
    stalled: int
    withdrawn_after: int | None
    """Microseconds from the switching on of the fault."""


@dataclass(slots=True)
class _Notes:
    """What the recorder of a session would keep."""

    arrivals: set[int] = field(default_factory=set)
    """When frames and snapshots came."""
    losses: list[tuple[int, FeedStatus]] = field(default_factory=list)

    def record(self, symbol: str, kind: RecordedEventKind, now: int, data: str | bytes = b"") -> None:
        if kind in ("frame", "snapshot"):
            self.arrivals.add(now)
        elif kind == "lost":
            self.losses.append((now, data))  # type: ignore[arg-type]  # a status, by the recorder's contract

    def record_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        pass

    def status_at(self, withdrawn_at: int) -> FeedStatus:
        """Return a feed that rejects a book withdraws its quote by itself; otherwise the loop said why at that
        moment."""
        return next((status for at, status in self.losses if at == withdrawn_at), "resyncing")


def patience_under(trial: FeedTrial) -> FeedTimeouts:
    if trial.is_told_at_once:
        return LIMIT_FAR
    return WITHOUT_COMPARISON if trial.is_for_stream else PATIENCE


async def feed_under(world: World, exchange: str, trial: FeedTrial) -> FeedSeen:
    """Return a feed that is well, then the fault for its time, then a feed that is well again."""
    notes = _Notes()
    async with watching(world.session, exchange, MARKETS[exchange].symbol, patience_under(trial), notes) as watched:
        await watched.until_quotes(_QUOTES)
        if watched.source.streams and not (trial.is_for_stream and watched.source.wire.detects_loss):
            await watched.until(lambda: watched.state.rest_checks > 0)
        started_at, before, published = wall_now(), watched.state, len(watched.rows)
        await _suffer(world, exchange, trial, watched)
        world.clear(exchange)
        await watched.until_quotes(_QUOTES)
        await watched.until(lambda: watched.is_in_force)
        now, rows = wall_now(), watched.rows[published:]
        withdrawals = [row for row in rows if isinstance(row, FeedMark) and row.kind == "withdrawn"]
        first = withdrawals[0].received_time if withdrawals else None
        status = None if first is None else notes.status_at(first)
        return FeedSeen(
            withdrawn=_withdrawal(first, status, notes),
            status=status,
            counted=_grown(before, watched.state),
            rows=tuple(watched.rows),
            oldest=oldest_belief(watched.rows, world.truths[exchange].books(), now),
            stalled=world.longest_stall(started_at),
            withdrawn_after=None if first is None else first - started_at,
        )


async def _suffer(world: World, exchange: str, trial: FeedTrial, watched: Watched) -> None:
    options = trial.options_of.get(exchange, trial.options)
    count = options.get("count", 0)
    assert isinstance(count, int)
    wanted, ends_at = world.strikes(exchange, trial.kind) + count, wall_now() + int(trial.seconds * MICROSECONDS)
    if trial.orders:
        await order_under(world, exchange, OrderTrial(trial.name, trial.kind, options, OrderShows("unknown", "none")))
        return
    world.fault(exchange, trial.kind, options)
    if trial.stills:
        rows = len(watched.rows)
        await world.stand_still()
        world.clear(exchange)
        await watched.until(lambda: "withdrawn" in watched.kinds[rows:])
        await world.move()
    if trial.cuts:
        await SystemClock().sleep(trial.seconds / 2)
        world.cut_streams(exchange)
    await watched.until(lambda: wall_now() >= ends_at and world.strikes(exchange, trial.kind) >= wanted)


def _withdrawal(first: int | None, status: FeedStatus | None, notes: _Notes) -> Withdrawal:
    if first is None:
        return "never"
    return "at once" if first in notes.arrivals or status == "down" else "within the limit"


def _grown(before: FeedState, after: FeedState) -> frozenset[str]:
    counted = {name for name in _COUNTERS if getattr(after, name) > getattr(before, name)}
    return frozenset(
        counted | {name for name, number in after.rejected.items() if number > before.rejected.get(name, 0)}
    )
