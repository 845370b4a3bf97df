"""The session's bots: their activity, what is open at their exchange, whether they should run, and the differences that
keep it reduce-only. For REST and page."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from market.accounting.differences import PersonsVerdict, StoredDifference
from market.decide.circuit_breaker import Health
from market.decide.settings import Settings
from market.money import text_of
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage
from market.trade.leases import LEASE_SECONDS, Lease, decided_partition
from session.session import Session
from store.records.processes import Process, ProcessOrder
from ui.auth.callers import Caller
from ui.rows.attribute import row_from
from ui.rows.risk import BreakerRow, breaker_row
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard
from ui.services.process import NoSuchProcessError, ProcessRow

MAX_OPEN = 500
"""Open arbitrages that are read; the settings allow as many at once, and few sessions have ten."""
MAX_DIFFERENCES = 100
"""Open differences that the page shows at once; the rest follow once these are settled."""
RUNNING = ("starting", "ready", "stopping")


class LeaseRow(TypedDict):
    """Who may act for an exchange; `until` in microseconds of the server's clock."""

    holder: str
    token: int
    until: int
    is_held: bool


class BotRow(TypedDict):
    """One bot process. Times in microseconds of the server's clock.

    `activity`: what it does as a whole: `trading` (it holds its exchange's lease), `standby` (another does), or its
    state. `state` is `unknown` if its supervisor was not heard of for a while. `wanted_by`: null if nobody ever stopped
    or started it. Open arbitrages and legs are those of its exchange, whoever watches them; `is_unwatched`: orders may
    be in flight there and no process has the lease. `decides_on`: the partitions of opportunities that this process
    decides on and books, for all exchanges.
    """

    name: str
    exchange: str
    region: str
    state: str
    activity: str
    wanted: str
    wanted_by: str | None
    wanted_at: int | None
    pid: int | None
    since: int
    restarts: int
    last_end: str | None
    last_seen: int
    lease: LeaseRow | None
    decides_on: list[int]
    open_arbitrages: int
    open_legs: int
    is_unwatched: bool
    is_enabled: bool
    breaker: BreakerRow


@dataclass(frozen=True, slots=True)
class _BotInputs:
    """Input of all rows of bots; `now` by the server's clock."""

    now: int
    settings: Settings | None
    leases: dict[str, Lease]
    healths: dict[str, Health]
    open_arbitrages: Sequence[Arbitrage]
    regions: dict[str, str]


async def bots_now(dashboard: Dashboard) -> list[BotRow]:
    """Return the bots by name. Raises StoreError."""
    processes, inputs = await asyncio.gather(dashboard.reader.processes.all(), _bot_inputs(dashboard))
    return [_bot_row(process, inputs) for process in processes if process.kind == "bot"]


def with_starting_bots(bots: Sequence[BotRow], processes: Sequence[ProcessRow], session: Session) -> list[BotRow]:
    """Return `bots`, and a starting one for each exchange that is traded from here and has no bot yet. None are added
    until a supervisor has reported."""
    if not processes:
        return list(bots)
    lacking = set(session.exchanges_here) - {bot["exchange"] for bot in bots}
    regions = {market.exchange: market.region for market in session.traded if market.exchange in lacking}
    inputs = _BotInputs(now=0, settings=None, leases={}, healths={}, open_arbitrages=(), regions=regions)
    coming = [_bot_row(_starting_bot(exchange), inputs) for exchange in regions]
    for bot in coming:
        bot["is_enabled"] = True
    return sorted([*bots, *coming], key=lambda bot: bot["name"])


def _starting_bot(exchange: str) -> Process:
    name, order = f"bot-{exchange}", ProcessOrder()
    return Process(name, "bot", exchange, "starting", "starting", None, 0, 0, None, order, updated=0)


async def bot_now(dashboard: Dashboard, name: str) -> BotRow:
    """Return a bot by the name of its process, or by its exchange if that has no other bot.

    Raises NoSuchProcessError, StoreError.
    """
    rows = await bots_now(dashboard)
    found = [row for row in rows if row["name"] == name] or [row for row in rows if row["exchange"] == name]
    if len(found) != 1:
        raise NoSuchProcessError(name, tuple(row["name"] for row in rows))
    return found[0]


async def _bot_inputs(dashboard: Dashboard) -> _BotInputs:
    reader, session = dashboard.reader, dashboard.session
    counters, page, leases, healths = await asyncio.gather(
        reader.counters(), reader.arbitrages(OPEN_STATES, None, MAX_OPEN), reader.leases.all(), reader.health.all()
    )
    return _BotInputs(
        now=counters.now,
        settings=dashboard.hub.settings,
        leases={lease.exchange: lease for lease in leases},
        healths={health.exchange: health for health in healths},
        open_arbitrages=page.items,
        regions={market.exchange: market.region for market in session.markets},
    )


def _bot_row(bot: Process, inputs: _BotInputs) -> BotRow:
    exchange = bot.exchange or ""
    lease = inputs.leases.get(exchange)
    is_held = lease is not None and inputs.now < lease.until
    is_holder = is_held and lease is not None and _pid_of(lease) == bot.pid
    legs = [leg for one in inputs.open_arbitrages for leg in one.legs if leg.exchange == exchange]
    open_legs = sum(not leg.is_final for leg in legs)
    return row_from(
        BotRow,
        bot,
        exchange=exchange,
        region=inputs.regions.get(exchange, ""),
        activity=_activity(bot, is_holder=is_holder),
        wanted=bot.order.wanted,
        wanted_by=bot.order.by,
        wanted_at=bot.order.at or None,
        last_seen=_last_seen(bot, lease if is_holder else None),
        lease=None if lease is None else row_from(LeaseRow, lease, is_held=is_held),
        decides_on=_decided_by(bot, inputs),
        open_arbitrages=sum(any(leg.exchange == exchange for leg in one.legs) for one in inputs.open_arbitrages),
        open_legs=open_legs,
        is_unwatched=open_legs > 0 and not is_held,
        is_enabled=inputs.settings is not None and exchange in inputs.settings.enabled_exchanges,
        breaker=breaker_row(inputs.healths.get(exchange) or Health(exchange), inputs.settings, inputs.now),
    )


def _decided_by(bot: Process, inputs: _BotInputs) -> list[int]:
    held = [lease for lease in inputs.leases.values() if inputs.now < lease.until and _pid_of(lease) == bot.pid]
    partitions = (decided_partition(lease.exchange) for lease in held)
    return sorted(partition for partition in partitions if partition is not None)


def _activity(bot: Process, *, is_holder: bool) -> str:
    if bot.state != "ready":
        return bot.state
    return "trading" if is_holder else "standby"


def _last_seen(bot: Process, held: Lease | None) -> int:
    """Return the time of its lease if it holds one, else of its supervisor's heartbeat; for an ended process the time
    of its end."""
    if held is not None:
        return held.until - int(LEASE_SECONDS * MICROSECONDS)
    return bot.updated if bot.state in RUNNING else bot.since


def _pid_of(lease: Lease) -> int | None:
    """Return the pid in a holder `exchange@host:pid:chance`."""
    parts = lease.holder.rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None


@dataclass(slots=True)
class NoSuchDifferenceError(Exception):
    """There is no difference with that id."""

    difference_id: str


async def settle_difference(
    dashboard: Dashboard, difference_id: str, verdict: PersonsVerdict, caller: Caller
) -> StoredDifference:
    """Acknowledge a difference, or adopt it as a deposit or a withdrawal. Repeating it changes nothing.

    Raises NoSuchDifferenceError, CannotSettleError, StoreError.
    """
    async with auditing(dashboard, caller, "difference.settle", difference_id) as note:
        note.after = {"settled": verdict}
        settled = await dashboard.reader.difference_book.settle(difference_id, verdict, caller.name)
        if settled is None:
            raise NoSuchDifferenceError(difference_id)
        note.before = {
            "exchange": settled.exchange,
            "kind": settled.kind,
            "subject": settled.subject,
            "ours": settled.ours,
            "theirs": settled.theirs,
        }
        note.after = {"settled": settled.settled, "booked": text_of(settled.booked)}
    return settled


async def open_differences(dashboard: Dashboard) -> list[StoredDifference]:
    """Return the differences that keep an exchange reduce-only, oldest first. Raises StoreError."""
    page = await dashboard.reader.differences((), None, MAX_DIFFERENCES, open_only=True)
    return list(reversed(page.items))
