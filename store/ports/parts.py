"""The store's parts: leases, settings, balances, health, moving averages, differences, backtests, stream apps."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from decimal import Decimal
from typing import Literal, Protocol

from market.accounting.differences import PersonsVerdict, RowCorrection, StoredDifference
from market.decide.circuit_breaker import Failure, Health
from market.decide.settings import Settings
from market.trade.arbitrages import TradeOfLegs
from market.trade.leases import Actor, Lease, Veto
from market.trade.moving_average import AverageOrder, AverageRule, AverageTrade, Close
from market.trade.reservation_state import BalanceRow
from store.app_actions import AppAction, AppActionOutcome, StandingEntry
from store.ports.apps import FailedRows, StoredApps
from store.ports.backtests import Backtests
from store.ports.transfers import Transfers
from store.records.audit_entry import AuditEntry

Balances = dict[str, dict[str, Decimal]]
"""Exchange → currency → amount."""


class Averages(Protocol):
    """The moving average strategy's state of one session, so that bots keep none."""

    async def record_closes(
        self, closes: Sequence[Close], rule: AverageRule, *, with_order: bool, by: Actor
    ) -> list[AverageTrade]:
        """Take each close into its market's average, once a period, and write the signals that `rule` gives, in one
        transaction, which may ask it again. Returns those signals; a period that was recorded before gives none.
        `with_order`: a signal's order is `wanted`.
        """
        ...

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor) -> None:
        """Record what became of a signal's order; no effect once it is settled. Once it has an arbitrage each step of
        that writes it too, in the step's transaction, also where it was settled: a fill may come late or be restated.
        """
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

    async def trades_since(self, exchange: str, since: int) -> list[TradeOfLegs]:
        """Arbitrages and trades of cycles with a leg on `exchange`: those open, and those that ended, for the first
        time or again, at or after `since`: whatever was sent since then is among their legs. The history of arbitrages
        and the levels of their quotes may be left out."""
        ...

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        """Our id of an order → the exchange's, of all legs of `trades_since` on `exchange` that have one."""
        ...

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        """Correct a balance row from the value that was compared; False if it has changed since. Raises
        FencedOutError."""
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

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        """Do what a row of an app asks for, on whatever settings are in force, and keep `entry` of it in the audit log,
        at the store's time: both in one transaction, once for the entry's id. `entry.who`: the app; `entry.target`: the
        entry of the settings.

        What is refused (`store.app_actions.Refusal`) changes nothing. Raises ValueError if the settings do not allow
        the change.
        """
        ...

    async def entries_of_apps(self) -> tuple[StandingEntry, ...]:
        """Return the entries in force that apps made, of apps that do not run any more too."""
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


class StoreParts(Protocol):
    """Whoever keeps one of these, whatever is traded meanwhile."""

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
    def transfers(self) -> Transfers: ...

    @property
    def backtests(self) -> Backtests: ...
    @property
    def apps(self) -> StoredApps: ...

    @property
    def failed_rows(self) -> FailedRows: ...
