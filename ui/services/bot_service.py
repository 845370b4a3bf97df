"""The bots of the session: what each does, what is open at its exchange, whether it is to run. For REST and page."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from market.decide.circuit_breaker import Health, recent_failures
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage
from market.trade.leases import LEASE_SECONDS, Lease
from session.processes import Process
from session.session import Session
from ui.services.dashboard import Dashboard
from ui.services.process_service import NoSuchProcessError, ProcessRow

MAX_OPEN = 500
"""Open arbitrages that are read; the settings allow as many at once, and few sessions have ten."""
RUNNING = ("starting", "ready", "stopping")


class LeaseRow(TypedDict):
    """Who may act for an exchange; `until` in microseconds of the server's clock."""

    holder: str
    token: int
    until: int
    is_held: bool


class BreakerRow(TypedDict):
    """How the exchange does; failures by kind, those that still count."""

    is_paused: bool
    paused_until: int | None
    failures: dict[str, int]
    pauses: int


class BotRow(TypedDict):
    """One bot process. Times in microseconds of the server's clock.

    `activity`: what it does as a whole: `trading` (it holds its exchange's lease), `standby` (another does), or its
    state. `state` is `unknown` where its supervisor was not heard of for a while. `wanted_by`: null where nobody ever
    stopped or started it. Open arbitrages and legs are those of its exchange, whoever watches them; `is_unwatched`:
    orders may be in flight there and no process has the lease.
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
    open_arbitrages: int
    open_legs: int
    is_unwatched: bool
    is_enabled: bool
    breaker: BreakerRow


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the rows of all bots are made from; `now` by the server's clock."""

    now: int
    settings: Settings | None
    leases: dict[str, Lease]
    healths: dict[str, Health]
    open_arbitrages: Sequence[Arbitrage]
    regions: dict[str, str]


async def bots_now(dashboard: Dashboard) -> list[BotRow]:
    """By name. Raises StoreError."""
    processes, scene = await asyncio.gather(dashboard.reader.processes.all(), _scene(dashboard))
    return [_bot_row(process, scene) for process in processes if process.kind == "bot"]


def with_those_to_come(bots: Sequence[BotRow], processes: Sequence[ProcessRow], session: Session) -> list[BotRow]:
    """`bots`, and one that starts of each exchange that is traded and has none yet: where there is a supervisor, it
    will tell of it."""
    if not processes:
        return list(bots)
    told = {bot["exchange"] for bot in bots}
    regions = {market.exchange: market.region for market in session.traded if market.exchange not in told}
    coming = [
        BotRow(
            name=f"bot-{exchange}",
            exchange=exchange,
            region=region,
            state="starting",
            activity="starting",
            wanted="running",
            wanted_by=None,
            wanted_at=None,
            pid=None,
            since=0,
            restarts=0,
            last_end=None,
            last_seen=0,
            lease=None,
            open_arbitrages=0,
            open_legs=0,
            is_unwatched=False,
            is_enabled=True,
            breaker=BreakerRow(is_paused=False, paused_until=None, failures={}, pauses=0),
        )
        for exchange, region in regions.items()
    ]
    return sorted([*bots, *coming], key=lambda bot: bot["name"])


async def bot_now(dashboard: Dashboard, name: str) -> BotRow:
    """By the name of its process, or by its exchange where that has no other bot.

    Raises NoSuchProcessError, StoreError.
    """
    rows = await bots_now(dashboard)
    found = [row for row in rows if row["name"] == name] or [row for row in rows if row["exchange"] == name]
    if len(found) != 1:
        raise NoSuchProcessError(name, tuple(row["name"] for row in rows))
    return found[0]


async def _scene(dashboard: Dashboard) -> _Scene:
    reader, session = dashboard.reader, dashboard.session
    counters, page, leases, healths = await asyncio.gather(
        reader.counters(), reader.arbitrages(OPEN_STATES, None, MAX_OPEN), reader.leases.all(), reader.health()
    )
    return _Scene(
        now=counters.now,
        settings=dashboard.hub.settings,
        leases={lease.exchange: lease for lease in leases},
        healths={health.exchange: health for health in healths},
        open_arbitrages=page.items,
        regions={market.exchange: market.region for market in session.markets},
    )


def _bot_row(bot: Process, scene: _Scene) -> BotRow:
    exchange = bot.exchange or ""
    lease = scene.leases.get(exchange)
    is_held = lease is not None and scene.now < lease.until
    is_holder = is_held and lease is not None and _pid_of(lease) == bot.pid
    legs = [leg for one in scene.open_arbitrages for leg in one.legs if leg.exchange == exchange]
    open_legs = sum(not leg.is_final for leg in legs)
    return BotRow(
        name=bot.name,
        exchange=exchange,
        region=scene.regions.get(exchange, ""),
        state=bot.state,
        activity=_activity(bot, is_holder=is_holder),
        wanted=bot.order.wanted,
        wanted_by=bot.order.by,
        wanted_at=bot.order.at or None,
        pid=bot.pid,
        since=bot.since,
        restarts=bot.restarts,
        last_end=bot.last_end,
        last_seen=_last_seen(bot, lease if is_holder else None),
        lease=None if lease is None else _lease_row(lease, is_held=is_held),
        open_arbitrages=sum(any(leg.exchange == exchange for leg in one.legs) for one in scene.open_arbitrages),
        open_legs=open_legs,
        is_unwatched=open_legs > 0 and not is_held,
        is_enabled=scene.settings is not None and exchange in scene.settings.enabled_exchanges,
        breaker=_breaker_row(scene.healths.get(exchange) or Health(exchange), scene),
    )


def _activity(bot: Process, *, is_holder: bool) -> str:
    if bot.state != "ready":
        return bot.state
    return "trading" if is_holder else "standby"


def _last_seen(bot: Process, held: Lease | None) -> int:
    """By its own sign of life where it holds a lease, else by its supervisor's; of one that is gone when it went."""
    if held is not None:
        return held.until - int(LEASE_SECONDS * MICROSECONDS)
    return bot.updated if bot.state in RUNNING else bot.since


def _pid_of(lease: Lease) -> int | None:
    """Of a holder `exchange@host:pid:chance`."""
    parts = lease.holder.rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None


def _lease_row(lease: Lease, *, is_held: bool) -> LeaseRow:
    return LeaseRow(holder=lease.holder, token=lease.token, until=lease.until, is_held=is_held)


def _breaker_row(health: Health, scene: _Scene) -> BreakerRow:
    settings = scene.settings
    is_paused = settings is not None and settings.breaker_failures > 0 and health.is_paused(scene.now)
    recent = recent_failures(health, settings, scene.now) if settings is not None else ()
    return BreakerRow(
        is_paused=is_paused,
        paused_until=health.paused_until if is_paused else None,
        failures=dict(Counter(failure.kind for failure in recent)),
        pauses=health.pauses,
    )
