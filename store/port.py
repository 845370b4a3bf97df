"""The port of the store, as bots, feeds and replays use it. Both adapters pass the same contract test.

Every write is idempotent by its id. Changes arrive at least once, in the order of one document's changes; after a lost
connection the newest state is delivered again, states in between may be skipped.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, Protocol

from market.accounting.differences import PersonsVerdict, RowCorrection, StoredDifference
from market.decide.circuit_breaker import Failure, Health
from market.decide.settings import Settings
from market.instruments.orders import Fill
from market.prices.episodes import Episode
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole, Rejection
from market.trade.grants import Grant
from market.trade.leases import Actor, Lease, Veto
from market.trade.leg_lifecycle import Advance
from market.trade.moving_average import AverageOrder, AverageRule, AverageTrade, Close
from market.trade.order_results import OrderResult
from market.trade.reservation_state import BalanceRow
from market.trade.reservations import Reservation, ReservationResult
from session.audit_entry import AuditEntry
from session.backtest_requests import (
    BacktestFigures,
    BacktestJob,
    BacktestRequest,
    BacktestState,
    BacktestTrade,
    TickSetSummary,
)

__all__ = ["BalanceRow", "Balances", "Overview", "Reservation", "ReservationResult", "TradeStore"]

Balances = dict[str, dict[str, Decimal]]
"""Exchange → currency → amount."""


class Averages(Protocol):
    """The moving average strategy's state of one session, so that bots keep none."""

    async def record_close(
        self, close: Close, rule: AverageRule, *, with_order: bool, by: Actor
    ) -> AverageTrade | None:
        """Take the close into its market's average, once a period, and write the signal that `rule` gives, if any, in
        the same transaction, which may ask it again. None if there is no signal, or its period was recorded before.
        `with_order`: the signal's order is `wanted`.
        """
        ...

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor) -> None:
        """Record what became of a signal's order; no effect once it is settled."""
        ...

    async def unsettled(self, exchange: str) -> list[AverageTrade]:
        """Signals whose order is wanted or open, of any session, oldest first."""
        ...

    async def trades(self) -> list[AverageTrade]:
        """All signals of this session, oldest first."""
        ...


class Differences(Protocol):
    """Reconciliation's differences, of all sessions, since all use the same accounts."""

    async def store(self, difference: StoredDifference) -> bool:
        """Store it unless its id is known, or `is_found_again`; True if it was new. An open one makes its exchange
        reduce-only (`Health.unexplained_since`) in the same transaction."""
        ...

    async def settle(self, difference_id: str, verdict: PersonsVerdict, who: str) -> StoredDifference | None:
        """Return what a person says of a difference; None if there is none of that id. Idempotent.

        In one transaction: what is unexplained in the row of its currency is booked to what is free, and to the
        session's opening balances, from which exposure is measured; every other open difference of that balance is
        settled with it; the exchange trades again if that was the last. Raises CannotSettleError.
        """
        ...

    async def take_back(self, found: StoredDifference, row: BalanceRow, by: Actor) -> bool:
        """Store that a settlement had late fills in it, and book what is unexplained in `row` to it and to the
        session's opening balances, in one transaction; False if the row has changed since. Raises FencedOutError."""
        ...

    async def open_at(self, exchange: str) -> list[StoredDifference]:
        """Those that keep an exchange reduce-only, in no order."""
        ...

    async def explain(self, exchange: str, difference_ids: Collection[str], at: int) -> None:
        """Settle what a comparison at the server's time `at` no longer finds at an exchange; nothing is booked."""
        ...

    async def stored(self) -> list[StoredDifference]:
        """All of them, newest first."""
        ...

    async def compared_until(self, exchange: str) -> int | None:
        """Return the server's time of the last complete comparison; None if there was none."""
        ...

    async def record_compared(self, exchange: str, until: int) -> None:
        """Record a complete comparison; the time never goes back."""
        ...

    async def arbitrages_since(self, exchange: str, since: int) -> list[Arbitrage]:
        """With a leg on `exchange`: those open, and those that ended, for the first time or again, at or after `since`:
        whatever was sent since then is among their legs. Their history and the levels of their quotes may be left
        out."""
        ...

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        """Our id of an order → the exchange's, of all legs of `arbitrages_since` on `exchange` that have one."""
        ...

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        """Correct a balance row from the value that was compared; False if it has changed since. Raises
        FencedOutError."""
        ...


SILENT_RUNNER_SECONDS = 15
"""A backtest whose runner sent no heartbeat for so long, by the server's clock, has lost its runner."""


class Backtests(Protocol):
    """Requested backtests of all sessions. A job belongs to the runner that claimed it until its heartbeats stop; calls
    of other runners have no effect."""

    async def ask(self, job_id: str, request: BacktestRequest, who: str) -> BacktestJob:
        """Queue a job, once per id; returns the job as it is now."""
        ...

    async def jobs(self) -> list[BacktestJob]:
        """Newest first, without the equity of their figures."""
        ...

    async def job(self, job_id: str) -> BacktestJob | None: ...

    async def claim_next(self, runner: str) -> BacktestJob | None:
        """Claim the oldest queued job, which is `running` from now on; one whose runner vanished is queued again,
        until that happened `MAX_ATTEMPTS` times: then it has `failed`."""
        ...

    async def record_progress(self, job_id: str, runner: str, stage: str, share: float) -> BacktestJob | None:
        """Record progress and heartbeat. None if the job is no longer this runner's: stop."""
        ...

    async def finish(
        self, job_id: str, runner: str, figures: BacktestFigures, report: str, trades: Sequence[BacktestTrade] = ()
    ) -> bool:
        """`done`, with its report as HTML of at most 15 MB and all its trades by their numbers; False if it is not
        this runner's any more."""
        ...

    async def abort(self, job_id: str, runner: str, state: BacktestState, reason: str) -> bool:
        """`failed` or `cancelled`; False if it is not this runner's any more."""
        ...

    async def requeue(self, job_id: str, runner: str) -> bool:
        """Queue it again, like one whose runner vanished, if it has an attempt left."""
        ...

    async def cancel(self, job_id: str) -> BacktestJob | None:
        """Cancel a queued job at once; a running one is ended by its runner. None if there is no such job."""
        ...

    async def remove(self, job_id: str) -> bool:
        """With its report and trades; False if there is none, or it has not ended."""
        ...

    async def report(self, job_id: str) -> str | None:
        """HTML."""
        ...

    async def trades(self, job_id: str, before: int | None, limit: int) -> list[BacktestTrade]:
        """Newest first: at most `limit` of those with a number below `before` (None: of all)."""
        ...

    async def report_tick_sets(self, tick_sets: Sequence[TickSetSummary]) -> None:
        """Replace the list of tick sets."""
        ...

    async def tick_sets(self) -> list[TickSetSummary]:
        """By name."""
        ...


class LeaseStore(Protocol):
    """The right to act for an exchange."""

    def may_decide(self) -> bool:
        """Whether this process may hold the right to decide. In a session of several regions only in the region of the
        store's primary, since a decision is several commands to it; always if there are no regions."""
        ...

    async def acquire(self, exchange: str, holder: str) -> Lease | None:
        """With what its last holder had used of the rate limits; None while another holder's runs."""
        ...

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        """Renew it and store `used` for the next holder. None if another holder has taken it: stop."""
        ...

    async def release(self, lease: Lease, used: str | None = None) -> None:
        """Free for the next holder at once, which gets `used`."""
        ...

    async def set_veto(self, by: Actor, veto: Veto | None) -> None:
        """Whether new trades may have a leg at the actor's exchange. A reservation under way sees it, or is seen by
        whoever reads the open arbitrages afterwards. Raises FencedOutError."""
        ...

    async def all(self) -> list[Lease]:
        """By exchange, those that ran out among them."""
        ...


class SettingsStore(Protocol):
    """The settings in force, and every version of them."""

    async def current(self) -> Settings | None:
        """Those in force."""
        ...

    async def create(self, settings: Settings) -> Settings:
        """Store `settings` as version 1 unless there are any; returns those in force."""
        ...

    async def change(self, changed: Settings, expected_version: int, who: str) -> Settings:
        """Replace them and increment the version; who, when, before and after are stored. Raises
        VersionConflictError."""
        ...

    async def amend(self, amendment: Callable[[Settings], Settings], who: str) -> Settings | None:
        """Change whatever version is in force, in one transaction that may ask `amendment` again; None if there are
        none. An amendment that changes nothing stores nothing."""
        ...

    async def halt_exchange(self, exchange: str, entry: AuditEntry, age: int) -> Settings | None:
        """Take the exchange off `enabled_exchanges`, whatever else is changed at the same time, and keep the entry in
        the audit log, at the store's time: both in one transaction, once for the entry's id. `age`: how long ago that
        was wanted, microseconds.

        The new version. None if nothing is changed, and no entry kept: the exchange is off already, it was switched
        on after that was wanted, or the entry's id is there already.
        """
        ...

    def watch(self) -> AsyncIterator[Settings]:
        """Return the settings in force, then each later version, in version order."""
        ...


class BalanceStore(Protocol):
    """Balance rows, and what the exchanges reported before and after a session."""

    async def replace(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor,
    ) -> None:
        """Replace balances by what the exchange itself reported while no order was open there; holds of open legs stay
        held (`now` alone keeps none of it in the session's record; `before` only once a session; `after` changes no
        row, since a fill that is found later may be in it). Raises FencedOutError."""
        ...

    async def rows(self) -> list[BalanceRow]:
        """By exchange and currency."""
        ...

    async def of_session(self) -> tuple[Balances, Balances]:
        """Return what was recorded `before` and `after` this session."""
        ...


class HealthStore(Protocol):
    """Failures of exchanges, and their pauses."""

    async def record(self, exchange: str, failure: Failure) -> Health:
        """Return the exchange failed once more, counted once by its id; too many within the settings' window pause
        it."""
        ...

    async def all(self) -> list[Health]:
        """Return the health of each exchange that ever failed, by name."""
        ...


@dataclass(frozen=True, slots=True)
class Overview:
    """What a bot looks at in each round, read at once."""

    now: int
    """The server's time, microseconds."""
    reservations_open: bool
    open_arbitrages: tuple[Arbitrage, ...] = ()
    resumable: tuple[Arbitrage, ...] = ()
    """The oldest of those that `TradeStore.resumable_arbitrages` has."""
    results: tuple[OrderResult, ...] = ()
    """As `TradeStore.order_results` has them."""
    balances: tuple[BalanceRow, ...] = ()
    opening: Balances = field(default_factory=dict)
    """What the exchanges reported before the session."""
    health: tuple[Health, ...] = ()
    """The health of each exchange that ever failed."""
    leases: tuple[Lease, ...] = ()


class TradeStore(Protocol):
    """Shared state of all bots of one session."""

    @property
    def leases(self) -> LeaseStore: ...

    @property
    def settings(self) -> SettingsStore: ...

    @property
    def balances(self) -> BalanceStore: ...

    @property
    def health(self) -> HealthStore: ...

    @property
    def averages(self) -> Averages: ...

    @property
    def differences(self) -> Differences: ...

    @property
    def backtests(self) -> Backtests: ...

    async def server_now(self) -> int:
        """Return the store's own clock, microseconds; the only one for leases, holds and deadlines."""
        ...

    async def overview(self) -> Overview:
        """All of it in one read; what is booked meanwhile may be in one part of it and not in another."""
        ...

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        """Store those whose id is not known."""
        ...

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        """Store the first of each (pair, exchange, reason) per second in full, count the rest; each id once."""
        ...

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        """Each as a whole, as it is now; an episode is its session's, its pair's and its start's. No field of one goes
        back (`market.prices.episodes.merged`), so that a repeat, or an older state, changes nothing."""
        ...

    async def running_episodes(self, now: int) -> list[Episode]:
        """Those of this session that a sighting at `now` (event time) could belong to."""
        ...

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        """All legs in one transaction, or none, over balances, liquidity, counters, the open pair and the leases of
        their exchanges: each must have a bot without a veto.

        This and every later step raises FencedOutError if another process acts for the exchange of `by`.
        """
        ...

    async def grant(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        """Return the step reserved → granted, for a leg that was not granted when it was reserved. None if it was
        before, cannot be yet, is too late (`send_by`) or trading is halted: then the leg is `not_sent` and `book`
        follows."""
        ...

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        """Record what became of an order, by the bot of its exchange; `book` books it. Idempotent."""
        ...

    async def order_results(self, arbitrage_id: str | None = None) -> list[OrderResult]:
        """Those not booked yet, as they were reported; of one arbitrage or of all."""
        ...

    def watch_order_results(self) -> AsyncIterator[OrderResult]:
        """First those not booked yet, then each new one."""
        ...

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        """Book in one transaction whatever was reported of its orders: fills (by fill id, once), balances and ledger;
        if no leg is open any more, `advance`. Legs that were too late to be granted end as well. A fill that is new
        to the books after the end opens the arbitrage again. Idempotent."""
        ...

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor) -> bool:
        """Resume a single leg that was stopped by a halt or whose order was not posted; False if there is none, or
        trading is still halted."""
        ...

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        """Residual arbitrages that `resume` can continue: halted, or with an order not posted."""
        ...

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        """Legs of `exchange` whose order was unknown to it at or after `since` (the server's time), with their
        arbitrage's id: the order may still appear."""
        ...

    async def open_arbitrages(self) -> list[Arbitrage]: ...

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None: ...

    async def traded(self, opportunity_ids: Collection[str]) -> frozenset[str]:
        """Those of which there is an arbitrage, open or ended."""
        ...

    def watch_grants(self, exchange: str) -> AsyncIterator[Grant]:
        """Follow the grants of legs at `exchange`: first those granted in open arbitrages, then each as it is granted.
        Only what the store will not lose."""
        ...

    async def stop_reservations(self) -> None:
        """No new arbitrage in this session from now on (`stopping`); open ones continue."""
        ...

    async def reservations_open(self) -> bool: ...

    async def fills(self) -> list[Fill]:
        """Return the ledger of this session."""
        ...

    async def save_feed_state(self, state: FeedState) -> None: ...

    async def close(self) -> None: ...
