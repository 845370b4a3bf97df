"""The schedule of injected faults of a chaos run: a pure function of its seed.

The seed fixes which fault hits which process at which second. What the process is doing at that moment depends on the
machine, so the same schedule meets other interleavings each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from launch.chaos.regions.faults import ClockFault, LinkFault, RegionKill
from simulators.faults.fault_kinds import Fault, FaultKind
from simulators.faults.lies import LIES, lies_of

KillTarget = Literal["python", "jvm"]
KILL_TARGETS: tuple[KillTarget, ...] = ("python", "jvm")
ProcessRole = Literal["feed", "bot", "cep", "publisher", "ui", "kafka", "mongodb"]
PROCESS_ROLES: tuple[ProcessRole, ...] = ("feed", "bot", "cep", "publisher", "ui", "kafka", "mongodb")
"""Processes that are killed and paused: all but the simulated exchanges, which are the outside world."""

_PAUSE_SECONDS = (3.5, 8.0)
"""Longer than a lease, so that the standby takes over."""
_CHANGE_SECONDS = (2.0, 5.0)
"""How long changed settings stay in force."""


@dataclass(frozen=True, slots=True)
class Kill:
    """kill -9 of a process or, for Spark's driver, of its JVM, in `region` if the session has regions."""

    at: float
    process: str
    target: KillTarget = "python"
    region: str | None = None

    @property
    def kind(self) -> str:
        role = role_of(self.process)
        return f"kill {role} {self.target}" if role == "cep" else f"kill {role}"

    @property
    def description(self) -> str:
        return f"kill -9 {self.process}" + (" (JVM)" if self.target == "jvm" else "") + _where(self.region)


@dataclass(frozen=True, slots=True)
class KillAtOrder:
    """kill -9 of the bot that acts for `exchange`, at the moment when the exchange has its next order: after the post
    and before anything of it is in the store. A kill at a random moment seldom hits that one."""

    at: float
    exchange: str

    @property
    def kind(self) -> str:
        return "kill bot at order"

    @property
    def description(self) -> str:
        return f"kill -9 the bot of {self.exchange} at its next order"


@dataclass(frozen=True, slots=True)
class Pause:
    """SIGSTOP of a whole process group, and SIGCONT after `seconds`. `region` as in `Kill`."""

    at: float
    process: str
    seconds: float
    region: str | None = None

    @property
    def kind(self) -> str:
        return f"pause {role_of(self.process)}"

    @property
    def description(self) -> str:
        return f"pause {self.process}{_where(self.region)} for {self.seconds} s"


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault of a simulated exchange, switched on; it takes effect with the next request or message that it
    concerns."""

    at: float
    fault: Fault

    @property
    def kind(self) -> str:
        return self.fault.kind

    @property
    def description(self) -> str:
        often = "once" if self.fault.count == 1 else f"{self.fault.count} times"
        how_long = often if self.fault.seconds is None else f"{self.fault.seconds} s"
        skew = "" if self.fault.skew_seconds is None else f" of {self.fault.skew_seconds} s"
        lie = "" if self.fault.lie is None else f" ({self.fault.lie})"
        return f"{self.fault.exchange}: {self.fault.kind}{skew}{lie}, {how_long}"


@dataclass(frozen=True, slots=True)
class InjectedSetting:
    """Changed settings, restored after `seconds`."""

    at: float
    changes: tuple[tuple[str, str | int | float], ...]
    seconds: float

    @property
    def kind(self) -> str:
        return f"settings {self.changes[0][0]}"

    @property
    def description(self) -> str:
        changed = ", ".join(f"{name} = {value}" for name, value in self.changes)
        return f"settings for {self.seconds} s: {changed}"


Injection = Kill | KillAtOrder | Pause | InjectedFault | InjectedSetting | LinkFault | ClockFault | RegionKill
"""The last three only in sessions with regions (`region_schedule`)."""

KILL_EVERY: dict[ProcessRole, float] = {
    "bot": 20,
    "feed": 30,
    "mongodb": 60,
    "ui": 60,
    "publisher": 60,
    # without these two there are no prices until they are back
    "kafka": 170,
    "cep": 170,
}
PAUSE_EVERY: dict[ProcessRole, float] = {
    "bot": 10,
    "feed": 40,
    "mongodb": 80,
    "ui": 80,
    "publisher": 80,
    "kafka": 170,
    "cep": 170,
}
KILL_AT_ORDER_EVERY = 15.0
FAULT_EVERY: dict[FaultKind, float] = {
    "lost_acknowledgement": 5,
    "disconnect_during_order": 7,
    "rejected_order": 7,
    "partial_fill_then_nothing": 7,
    "duplicate_fill_report": 7,
    "latency": 15,
    "http_5xx": 25,
    "http_429": 30,
    "maintenance": 60,
    "silent_stream": 60,
    "dropped_message": 60,
    "clock_skew": 90,
}
"""Average seconds between two faults of a kind: there is one in every interval of that length."""
LOST_ACKNOWLEDGEMENT_EVERY = 15.0
"""On each exchange, besides those above: one lost acknowledgement per interval."""
SMALL_SKEW_EVERY = 20.0
"""On each exchange: clock skew of less than a second, which request signatures do not reveal."""
STORE_STEP_EVERY = 45.0
"""Skew of all exchanges' clocks by the same amount. Only root can set mongod's clock; for comparisons between times of
the store and times of an exchange, this equals a step of mongod's clock the other way."""
LIE_EVERY = 6.0
"""For a while, one exchange lies about orders; each kind once before any comes again."""
CHANGE_EVERY = 10.0

_LASTING: tuple[FaultKind, ...] = ("latency", "maintenance", "silent_stream", "clock_skew")
_LATENCY_MILLISECONDS = (200, 15_000)
"""From a slow response to one that comes long after the bot's timeout."""
_LIE_SECONDS = (1.0, 3.0)
"""Longer than the reads of one order, so that they agree in the lie."""
_SKEW_SECONDS = 120.0
_SMALL_SKEW_SECONDS = (0.1, 0.95)
_SMALL_SKEW_LASTS = (8.0, 18.0)
_STORE_STEP_SECONDS = (0.5, 8.0)
_STORE_STEP_LASTS = (3.0, 8.0)
_CHANGES: tuple[tuple[tuple[str, str | int | float], ...], ...] = (
    (("trading_state", "halted"),),
    (("trading_state", "reduce_only"),),
    (("min_net_bps", 15.0),),
    (("min_net_bps", 40.0),),
    (("max_notional", 60),),
    (("max_open_arbitrages", 1),),
    (("max_total_notional", 700),),
    (("max_exchange_notional", 400),),
    (("single_leg_policy", "reverse"),),
    (("single_leg_policy", "hold"),),
    (("single_leg_limit_bps", 1.0),),
    (("cool_down_ms", 3_000),),
)


def schedule_of(seed: int, seconds: float, exchanges: Sequence[str], bots: Sequence[str]) -> tuple[Injection, ...]:
    """Return all injected faults of a run of `seconds`, by time; `bots` and feeds (one per exchange) by process
    name."""
    victims: dict[ProcessRole, tuple[str, ...]] = {role: (role,) for role in PROCESS_ROLES}
    victims["feed"] = tuple(f"feed-{name}" for name in exchanges)
    victims["bot"] = tuple(bots)
    injections: list[Injection] = [
        *_kills(seed, seconds, victims),
        *_kills_at_orders(seed, seconds, exchanges),
        *_pauses(seed, seconds, victims),
        *_exchange_faults(seed, seconds, exchanges),
        *_faults_on_each_exchange(seed, seconds, exchanges),
        *_store_steps(seed, seconds, exchanges),
        *_lies(seed, seconds, exchanges),
        *_setting_changes(seed, seconds),
    ]
    return tuple(sorted(injections, key=lambda one: (one.at, one.description)))


def role_of(process: str) -> str:
    """Return the role: `bot-kraken-2` → `bot`."""
    return process.partition("-")[0]


def _where(region: str | None) -> str:
    return "" if region is None else f" of {region}"


def exchange_of(process: str) -> str:
    """Return the exchange of a feed or a bot: `bot-kraken-2` → `kraken`."""
    return process.split("-")[1]


def _kills(seed: int, seconds: float, victims: dict[ProcessRole, tuple[str, ...]]) -> Iterator[Kill]:
    for role, every in KILL_EVERY.items():
        random = seeded(seed, f"kill {role}")
        for at in moments(random, every, seconds):
            target: KillTarget = random.choice(KILL_TARGETS) if role == "cep" else "python"
            yield Kill(at, random.choice(victims[role]), target)


def _kills_at_orders(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[KillAtOrder]:
    random = seeded(seed, "kill at order")
    for at in moments(random, KILL_AT_ORDER_EVERY, seconds):
        yield KillAtOrder(at, random.choice(exchanges))


def _pauses(seed: int, seconds: float, victims: dict[ProcessRole, tuple[str, ...]]) -> Iterator[Pause]:
    for role, every in PAUSE_EVERY.items():
        random = seeded(seed, f"pause {role}")
        for at in moments(random, every, seconds):
            yield Pause(at, random.choice(victims[role]), drawn_between(random, _PAUSE_SECONDS))


def _exchange_faults(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    for kind, every in FAULT_EVERY.items():
        random = seeded(seed, kind)
        for at in moments(random, every, seconds):
            yield InjectedFault(at, _fault(random, kind, random.choice(exchanges)))


def _faults_on_each_exchange(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    for exchange in exchanges:
        random = seeded(seed, f"lost acknowledgement on {exchange}")
        for at in moments(random, LOST_ACKNOWLEDGEMENT_EVERY, seconds):
            yield InjectedFault(at, Fault(exchange, "lost_acknowledgement", count=1))
        random = seeded(seed, f"small skew of {exchange}")
        for at in moments(random, SMALL_SKEW_EVERY, seconds):
            skew = _either_way(random, _SMALL_SKEW_SECONDS)
            lasts = drawn_between(random, _SMALL_SKEW_LASTS)
            yield InjectedFault(at, Fault(exchange, "clock_skew", seconds=lasts, skew_seconds=skew))


def _store_steps(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    random = seeded(seed, "store step")
    for at in moments(random, STORE_STEP_EVERY, seconds):
        skew, lasts = _either_way(random, _STORE_STEP_SECONDS), drawn_between(random, _STORE_STEP_LASTS)
        for exchange in exchanges:
            yield InjectedFault(at, Fault(exchange, "clock_skew", seconds=lasts, skew_seconds=skew))


def _lies(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    liars = {lie: [name for name in exchanges if lie in lies_of(name)] for lie in LIES}
    known = [lie for lie, names in liars.items() if names]
    random, left = seeded(seed, "lies"), list[str]()
    for at in moments(random, LIE_EVERY, seconds) if known else ():
        if not left:
            left = random.sample(known, len(known))
        lie, lasts = left.pop(), drawn_between(random, _LIE_SECONDS)
        yield InjectedFault(at, Fault(random.choice(liars[lie]), "lie", seconds=lasts, lie=lie))


def _fault(random: Random, kind: FaultKind, exchange: str) -> Fault:
    if kind not in _LASTING:
        hold = random.choice((1.0, 7.0, 15.0)) if kind == "partial_fill_then_nothing" else None
        return Fault(exchange, kind, count=random.randint(1, 2), hold_seconds=hold)
    return Fault(
        exchange,
        kind,
        seconds=drawn_between(random, (2.0, 6.0)),
        milliseconds=random.randint(*_LATENCY_MILLISECONDS) if kind == "latency" else None,
        skew_seconds=random.choice((-_SKEW_SECONDS, _SKEW_SECONDS)) if kind == "clock_skew" else None,
    )


def _setting_changes(seed: int, seconds: float) -> Iterator[InjectedSetting]:
    """Return changes in random order; each comes once before any is repeated."""
    random, left = seeded(seed, "settings"), list[tuple[tuple[str, str | int | float], ...]]()
    for at in moments(random, CHANGE_EVERY, seconds):
        if not left:
            left = random.sample(_CHANGES, len(_CHANGES))
        yield InjectedSetting(at, left.pop(), drawn_between(random, _CHANGE_SECONDS))


def moments(random: Random, every: float, seconds: float) -> Iterator[float]:
    """Return one moment in each interval of `every` seconds."""
    for interval in range(int(seconds // every) + 1):
        at = round((interval + random.random()) * every, 2)
        if at < seconds:
            yield at


def drawn_between(random: Random, limits: tuple[float, float]) -> float:
    return round(random.uniform(*limits), 1)


def _either_way(random: Random, limits: tuple[float, float]) -> float:
    return round(random.choice((-1, 1)) * random.uniform(*limits), 2)


def seeded(seed: int, purpose: str) -> Random:
    """Return a separate generator for each kind of fault, so that a new kind changes none of the others."""
    return Random(f"{seed}:chaos:{purpose}")  # noqa: S311 – faults, not secrets
