"""The parts of the store in memory; every method runs without waiting, so each is one transaction."""

from asyncio import Queue
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from market.decide.circuit_breaker import Failure, Health, with_failure
from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange, changed_entries
from market.money import ZERO
from market.trade.leases import Actor, Lease, Veto, acquired, released, renewed
from market.trade.lifecycle import Moment
from market.trade.moving_average import (
    AverageOrder,
    AverageRule,
    AverageState,
    AverageTrade,
    Close,
    after_close,
    with_order,
)
from market.trade.reservation_state import BalanceRow, reported_rows
from runtime.clock import Clock
from store.app_actions import (
    ACTIONS,
    MINUTE,
    ActionFacts,
    AppAction,
    AppActionOutcome,
    EntryAuthor,
    StandingEntry,
    action_entry,
    next_version,
    refusal,
    standing_entries,
)
from store.ports.parts import Balances
from store.preconditions import check_lease, in_force
from store.records.audit_entry import AuditEntry
from store.settings_versions import Following, SettingsVersions, halt_entry, is_enabling, without_exchange


class MemoryLeases:
    """`store.ports.parts.LeaseStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.kept: dict[str, Lease] = {}
        self.is_beside_primary = True

    def may_decide(self) -> bool:
        return self.is_beside_primary

    async def acquire(self, exchange: str, holder: str) -> Lease | None:
        return self._keep(acquired(self.kept.get(exchange), exchange, holder, self._clock.now()))

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        return self._keep(renewed(self.kept.get(lease.exchange), lease, self._clock.now(), used))

    async def release(self, lease: Lease, used: str | None = None) -> None:
        self._keep(released(self.kept.get(lease.exchange), lease, self._clock.now(), used))

    async def set_veto(self, by: Actor, veto: Veto | None) -> None:
        self.check(by)
        if by.exchange is not None and by.exchange in self.kept:
            self.kept[by.exchange] = replace(self.kept[by.exchange], veto=veto)

    async def all(self) -> list[Lease]:
        return [self.kept[exchange] for exchange in sorted(self.kept)]

    def check(self, by: Actor) -> None:
        """Raise FencedOutError if another process acts for the actor's exchange."""
        if by.exchange is not None:
            check_lease(self.kept.get(by.exchange), by)

    def _keep(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            self.kept[lease.exchange] = lease
        return lease


class MemorySettings(SettingsVersions):
    """`store.ports.parts.SettingsStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.versions: list[tuple[Settings, str]] = []
        """Every version with who made it, oldest first."""
        self.audited: dict[str, AuditEntry] = {}
        """By id, what was kept of changes in the audit log."""
        self._times: list[int] = []
        """When each version was made."""
        self._enabled_at: dict[str, int] = {}
        """When an exchange was last switched on."""
        self._watching: set[Queue[Settings]] = set()

    @property
    def newest(self) -> Settings | None:
        return self.versions[-1][0] if self.versions else None

    def in_force(self) -> Settings:
        """Raise StoreError if there are none yet."""
        return in_force(self.newest)

    async def current(self) -> Settings | None:
        return self.newest

    async def put(self, following: Following, who: str) -> Settings | None:
        after = following(self.newest)
        if after is not None and after is not self.newest:
            self._store(after, who)
        return after

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        before, now = self.newest, self._clock.now()
        if before is None:
            return AppActionOutcome("unchanged")
        refused = refusal(action, before, entry.who, self._facts(action, entry, now))
        if refused is not None:
            return AppActionOutcome(refused)
        after = next_version(action, before)
        self.audited[entry.entry_id] = action_entry(entry, action, before, after, now)
        if after is before:
            return AppActionOutcome()
        self._store(after, entry.who)
        return AppActionOutcome(settings=after)

    def _facts(self, action: AppAction, entry: AuditEntry, now: int) -> ActionFacts:
        mine = [one for one in self.audited.values() if one.who == entry.who and one.action in ACTIONS]
        on_this = [one for one in mine if one.target == entry.target]
        return ActionFacts(
            now=now,
            is_repeated=entry.entry_id in self.audited,
            since_minute=sum(
                one.at > now - MINUTE or _is_beside(action, one, now) for one in mine if _counts(one, entry)
            ),
            last_row_time=int(str(on_this[-1].after["row_time"])) if on_this and action.change else None,
            last=None if action.change is None else self._last_author(action.change),
        )

    async def entries_of_apps(self) -> tuple[StandingEntry, ...]:
        return standing_entries(self.newest, self._last_author)

    def _last_author(self, change: EntryChange) -> EntryAuthor | None:
        befores = (None, *(settings for settings, _ in self.versions))
        for before, (after, who), at in reversed(list(zip(befores, self.versions, self._times, strict=False))):
            if any(one.name == change.name for one in changed_entries(before, after)):
                return EntryAuthor(who, at)
        return None

    async def halt_exchange(self, exchange: str, entry: AuditEntry, age: int) -> Settings | None:
        before, after, now = self.newest, without_exchange(self.newest, exchange), self._clock.now()
        if before is None or after is None:
            return None
        if entry.entry_id in self.audited or self._enabled_at.get(exchange, now - age) > now - age:
            return None
        self.audited[entry.entry_id] = halt_entry(entry, before, after, now)
        self._store(after, entry.who)
        return after

    def _store(self, after: Settings, who: str) -> None:
        enabled = [name for name in after.enabled_exchanges if is_enabling(self.newest, after, name)]
        self._enabled_at |= dict.fromkeys(enabled, self._clock.now())
        self.versions.append((after, who))
        self._times.append(self._clock.now())
        for queue in self._watching:
            queue.put_nowait(after)

    async def watch(self) -> AsyncGenerator[Settings]:
        queue: Queue[Settings] = Queue()
        self._watching.add(queue)
        try:
            if self.newest is not None:
                yield self.newest
            while True:
                yield await queue.get()
        finally:
            self._watching.discard(queue)


class MemoryBalances:
    """`store.ports.parts.BalanceStore`."""

    def __init__(self, moment: Callable[[Actor], Moment]) -> None:
        """`moment`: the server's time, for an actor that is not fenced out."""
        self._moment = moment
        self.kept: dict[tuple[str, str], BalanceRow] = {}
        self._ordered_places: list[tuple[str, str]] = []  # sorted once: a backtest asks for the rows after every step
        self._before: Balances = {}
        self._after: Balances = {}

    async def replace(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor,
    ) -> None:
        now = self._moment(by).now
        if moment == "after":
            self._after[exchange] = dict(balances)
            return
        for row in reported_rows(self.kept.values(), exchange, balances, now if moment == "before" else None):
            self.kept[exchange, row.currency] = row
        if moment == "before":
            self._before.setdefault(exchange, dict(balances))

    def book(self, row: BalanceRow, settled_at: int | None = None) -> None:
        """Book what is unexplained in `row`, to it and to the opening balances; `settled_at`: if a person settled
        it."""
        self.kept[row.exchange, row.currency] = row.explained(settled_at)
        opening = self._before.get(row.exchange)
        if opening is not None:
            opening[row.currency] = opening.get(row.currency, ZERO) + row.unexplained

    def of(self, places: Iterable[tuple[str, str]]) -> list[BalanceRow]:
        """Return the rows of these (exchange, currency) that are there."""
        return [self.kept[place] for place in places if place in self.kept]

    async def rows(self) -> list[BalanceRow]:
        if len(self._ordered_places) != len(self.kept):
            self._ordered_places = sorted(self.kept)
        return [self.kept[place] for place in self._ordered_places]

    async def of_session(self) -> tuple[Balances, Balances]:
        return dict(self._before), dict(self._after)


class MemoryHealth:
    """`store.ports.parts.HealthStore`."""

    def __init__(self, clock: Clock, settings: MemorySettings) -> None:
        self._clock = clock
        self._settings = settings
        self.kept: dict[str, Health] = {}

    async def record(self, exchange: str, failure: Failure) -> Health:
        before = self.kept.get(exchange, Health(exchange))
        self.kept[exchange] = with_failure(before, failure, self._settings.in_force(), self._clock.now())
        return self.kept[exchange]

    async def all(self) -> list[Health]:
        return [self.kept[exchange] for exchange in sorted(self.kept)]


class MemoryAverages:
    """`store.ports.parts.Averages`."""

    def __init__(self, moment: Callable[[Actor], Moment]) -> None:
        """`moment`: the server's time, for an actor that is not fenced out."""
        self._moment = moment
        self._states: dict[tuple[str, str], AverageState] = {}
        self._trades: dict[str, AverageTrade] = {}

    async def record_closes(
        self, closes: Sequence[Close], rule: AverageRule, *, with_order: bool, by: Actor
    ) -> list[AverageTrade]:
        now, trades = self._moment(by).now, list[AverageTrade]()
        for close in closes:
            key = (close.exchange, close.symbol)
            before = self._states.get(key, AverageState())
            self._states[key], trade = after_close(before, close, rule, now, with_order=with_order)
            trades += [] if trade is None else [trade]
        self._trades |= {trade.trade_id: trade for trade in trades}
        return trades

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor) -> None:
        self._moment(by)
        trade = self._trades.get(trade_id)
        if trade is not None:
            self._trades[trade_id] = with_order(trade, order)

    def keep_order(self, trade_id: str, order: AverageOrder | None) -> None:
        """Set what the order's arbitrage says of it, whatever was kept; nothing without an order."""
        trade = self._trades.get(trade_id)
        if order is not None and trade is not None and trade.order is not None:
            self._trades[trade_id] = replace(trade, order=order)

    async def unsettled(self, exchange: str) -> list[AverageTrade]:
        return [
            trade
            for trade in self._trades.values()
            if trade.exchange == exchange and trade.order is not None and not trade.order.is_settled
        ]

    async def trades(self) -> list[AverageTrade]:
        return list(self._trades.values())


def _counts(done: AuditEntry, entry: AuditEntry) -> bool:
    """Return whether it is of the entry's kind, and took nothing back."""
    return done.action == entry.action and done.after.get("value", "a notice has none") is not None


def _is_beside(action: AppAction, done: AuditEntry, now: int) -> bool:
    is_near = abs(int(str(done.after["row_time"])) - action.row_time) < MINUTE
    return is_near and done.at > now - 2 * MINUTE
