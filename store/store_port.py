"""The port of the store: what bots, feeders and replays need of it. Two adapters pass one contract test.

Every write is idempotent by its id. Changes arrive at least once, in the order of one document's changes; after a lost
connection the newest state is delivered again, states in between may be skipped.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from decimal import Decimal
from typing import Literal, Protocol

from market.accounting.differences import RowCorrection, StoredDifference
from market.decide.circuit_breaker import Failure, Health
from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole, Rejection
from market.trade.leases import UNFENCED, Actor, Lease
from market.trade.moving_average import AverageOrder, AverageTrade, Close
from market.trade.reservation_state import BalanceRow
from market.trade.reservations import Reservation, ReservationResult
from session.backtest_requests import (
    BacktestFigures,
    BacktestJob,
    BacktestRequest,
    BacktestState,
    BacktestTrade,
    TickSetSummary,
)

__all__ = ["Advance", "BalanceRow", "Balances", "Reservation", "ReservationResult", "TradeStore"]

Balances = dict[str, dict[str, Decimal]]
"""Exchange → currency → amount."""

Advance = Callable[[Arbitrage, Settings, int], Arbitrage]
"""(arbitrage whose legs are all final, settings, server time) → what follows: a final state with its profit, or one
more leg to send. Pure; `store` holds the balance for a leg that was added; where it is lacking, the leg becomes
`not_sent` and the next step is asked for."""


class Averages(Protocol):
    """What the moving average strategy keeps of one session, so that a bot keeps none of it."""

    async def record_close(self, close: Close, *, with_order: bool, by: Actor = UNFENCED) -> AverageTrade | None:
        """Take the close into its market's average, once a period, and write the signal that it gives, if any, in the
        same transaction. None where there is no signal, or its period was noted before. `with_order`: the signal's
        order is `wanted`."""
        ...

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor = UNFENCED) -> None:
        """What became of a signal's order; nothing where that is settled."""
        ...

    async def unsettled(self, exchange: str) -> list[AverageTrade]:
        """Signals whose order is wanted or open, of any session, oldest first."""
        ...

    async def trades(self) -> list[AverageTrade]:
        """All signals of this session, oldest first."""
        ...


class Differences(Protocol):
    """What reconciliation reads and keeps, of all sessions: the accounts are the same in each."""

    async def store(self, difference: StoredDifference) -> bool:
        """Unless one of its id is kept; True where it was new."""
        ...

    async def stored(self) -> list[StoredDifference]:
        """All of them, newest first."""
        ...

    async def compared_until(self, exchange: str) -> int | None:
        """The server's time of the last whole comparison; None where there was none."""
        ...

    async def record_compared(self, exchange: str, until: int) -> None:
        """Never goes back."""
        ...

    async def arbitrages_since(self, exchange: str, since: int) -> list[Arbitrage]:
        """With a leg on `exchange`: those open, and those that ended, for the first time or again, at or after `since`:
        whatever was sent since then is among their legs."""
        ...

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        """Our id of an order → the exchange's, of all legs of `arbitrages_since` on `exchange` that have one."""
        ...

    async def foreign_currencies(self, exchange: str) -> frozenset[str]:
        """Currencies that may hold what orders of ours moved which no leg has, or orders of others: those of the
        differences found since the exchange's balances were taken at the beginning of a session."""
        ...

    async def correct(self, correction: RowCorrection, by: Actor = UNFENCED) -> bool:
        """Change a balance row from what was compared; False where it is another by now. Raises FencedOutError."""
        ...


SILENT_RUNNER_SECONDS = 15
"""A backtest whose runner told nothing for so long, by the server's clock, has lost it."""


class Backtests(Protocol):
    """Backtests that were asked for, of all sessions. A job belongs to the runner that took it until that one is
    silent; what another says of it then changes nothing."""

    async def ask(self, job_id: str, request: BacktestRequest, who: str) -> BacktestJob:
        """Queue it, once by its id; the job as it stands."""
        ...

    async def jobs(self) -> list[BacktestJob]:
        """Newest first, without the equity of their figures."""
        ...

    async def job(self, job_id: str) -> BacktestJob | None: ...

    async def claim_next(self, runner: str) -> BacktestJob | None:
        """The oldest that waits, `running` from now on; one that vanished with its runner waits again, until it has
        done so `MOST_ATTEMPTS` times: then it has `failed`."""
        ...

    async def record_progress(self, job_id: str, runner: str, stage: str, share: float) -> BacktestJob | None:
        """A sign of life, too. None where it is not this runner's any more: stop."""
        ...

    async def finish(
        self, job_id: str, runner: str, figures: BacktestFigures, report: str, trades: Sequence[BacktestTrade] = ()
    ) -> bool:
        """`done`, with its report as HTML of at most 15 MB and all its trades by their numbers; False where it is not
        this runner's any more."""
        ...

    async def give_up(self, job_id: str, runner: str, state: BacktestState, reason: str) -> bool:
        """`failed` or `cancelled`; False where it is not this runner's any more."""
        ...

    async def requeue(self, job_id: str, runner: str) -> bool:
        """As one whose runner vanished: the next one takes it, if it has an attempt left."""
        ...

    async def cancel(self, job_id: str) -> BacktestJob | None:
        """At once where it waits; where it runs, its runner ends it. None where there is none."""
        ...

    async def remove(self, job_id: str) -> bool:
        """With its report and trades; False where there is none, or it has not ended."""
        ...

    async def report(self, job_id: str) -> str | None:
        """HTML."""
        ...

    async def trades(self, job_id: str, before: int | None, limit: int) -> list[BacktestTrade]:
        """Newest first: at most `limit` of those with a number below `before` (None: of all)."""
        ...

    async def report_tick_sets(self, tick_sets: Sequence[TickSetSummary]) -> None:
        """All that there are, in place of those told before."""
        ...

    async def tick_sets(self) -> list[TickSetSummary]:
        """By name."""
        ...


class TradeStore(Protocol):
    """Shared state of all bots of one session."""

    @property
    def averages(self) -> Averages: ...

    @property
    def differences(self) -> Differences: ...

    @property
    def backtests(self) -> Backtests: ...

    async def server_now(self) -> int:
        """The store's own clock, microseconds; the only one for leases, holds and deadlines."""
        ...

    async def save_opportunity(self, opportunity: Opportunity) -> bool:
        """Keep it unless its id is known; True where it was new."""
        ...

    async def reject(self, rejection: Rejection) -> None:
        """Keep the first of each (pair, exchange, reason) per second whole, count the rest."""
        ...

    async def acquire_lease(self, exchange: str, holder: str) -> Lease | None:
        """The right to act for `exchange`, with what its last holder had used of the rate limits; None while another
        holder's runs."""
        ...

    async def renew_lease(self, lease: Lease, used: str | None = None) -> Lease | None:
        """`used` is kept with it for the next holder. None where another holder has taken it: stop."""
        ...

    async def release_lease(self, lease: Lease, used: str | None = None) -> None:
        """Free for the next at once, which is told what was `used`."""
        ...

    async def reserve(self, reservation: Reservation, by: Actor = UNFENCED) -> ReservationResult:
        """One transaction over arbitrage, balance, liquidity, counters and open pair (design: the two-leg protocol).

        This and every later step raises FencedOutError where another process acts for the exchange of `by`.
        """
        ...

    async def expire(self, arbitrage_id: str, by: Actor = UNFENCED) -> bool:
        """End a half reservation that is past `reserve_by` and give its hold back; False where there was none."""
        ...

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor = UNFENCED) -> Leg | None:
        """The step reserved → sending, allowed once ever. None where it was taken before, is too late (`send_by`) or
        trading is halted: then the leg is `not_sent` and `finish_leg` follows."""
        ...

    async def record_sent(self, arbitrage_id: str, role: LegRole, exchange_order_id: str, by: Actor = UNFENCED) -> None:
        """The exchange acknowledged the order."""
        ...

    async def finish_leg(
        self,
        arbitrage_id: str,
        role: LegRole,
        report: OrderReport | None,
        advance: Advance,
        by: Actor = UNFENCED,
    ) -> Arbitrage:
        """Nothing more can fill: book fills (by fill id, once), balances and ledger; where no leg is open any more,
        `advance`. `report` None: the order never reached the exchange (`not_sent`). A fill that is new to the books
        after the end opens the arbitrage again. Idempotent."""
        ...

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor = UNFENCED) -> bool:
        """Go on with a single leg that a halt left as it was, or whose order never left; False where there is none, or
        trading is still halted."""
        ...

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        """Held since nothing might be sent; `resume` goes on with them."""
        ...

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        """Legs of `exchange` whose order it denied at or after `since` (the server's time), with their arbitrage's id:
        it may turn up yet."""
        ...

    async def open_arbitrages(self) -> list[Arbitrage]: ...

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None: ...

    def watch_arbitrages(self) -> AsyncIterator[Arbitrage]:
        """Those open at first, then each change of any arbitrage, whole; the states of one never go back."""
        ...

    async def settings(self) -> Settings | None: ...

    async def create_settings(self, settings: Settings) -> Settings:
        """Keep `settings` as version 1 unless there are any; the ones in force."""
        ...

    async def change_settings(self, changed: Settings, expected_version: int, who: str) -> Settings:
        """Replace them; the version grows by one; who, when, before and after are kept. Raises VersionConflictError."""
        ...

    def watch_settings(self) -> AsyncIterator[Settings]:
        """The settings in force, then each later version, in version order."""
        ...

    async def stop_reservations(self) -> None:
        """No new arbitrage in this session from now on (`stopping`); open ones go on."""
        ...

    async def reservations_open(self) -> bool: ...

    async def set_balances(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor = UNFENCED,
    ) -> None:
        """What the exchange itself reported while no order was open there; replaces the balance rows (`now` alone keeps
        none of it in the session's record; `before` only once a session)."""
        ...

    async def balance_rows(self) -> list[BalanceRow]: ...

    async def session_balances(self) -> tuple[Balances, Balances]:
        """What was recorded `before` and `after` this session."""
        ...

    async def fills(self) -> list[Fill]:
        """The ledger of this session."""
        ...

    async def record_failure(self, exchange: str, failure: Failure) -> Health:
        """The exchange failed once more, counted once by its id; too many within the settings' window pause it."""
        ...

    async def health(self) -> list[Health]:
        """Of each exchange that ever failed, by name."""
        ...

    async def save_feed_state(self, state: FeedState) -> None: ...

    async def close(self) -> None: ...
