"""What goes wrong when in one run of the crash fuzzer: a pure function of its seed.

The seed fixes who is struck, by what, at which second. What the struck processes are doing just then is up to the
machine, so that the same schedule meets other interleavings each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from simulators.faults.faults import Fault, FaultKind

Half = Literal["python", "jvm"]
HALVES: tuple[Half, ...] = ("python", "jvm")
Room = Literal["feed", "bot", "cep", "publisher", "ui", "kafka", "mongodb"]
ROOMS: tuple[Room, ...] = ("feed", "bot", "cep", "publisher", "ui", "kafka", "mongodb")
"""Whose processes are killed and paused: all but the exchanges, which are the outside world."""

_PAUSE_SECONDS = (3.5, 8.0)
"""Longer than a lease, so that somebody else takes over."""
_CHANGE_SECONDS = (2.0, 5.0)
"""How long changed settings stay."""


@dataclass(frozen=True, slots=True)
class Kill:
    """kill -9 of a part's own process or, of Spark's driver, of its JVM."""

    at: float
    part: str
    half: Half = "python"

    @property
    def kind(self) -> str:
        room = room_of(self.part)
        return f"kill {room} {self.half}" if room == "cep" else f"kill {room}"

    @property
    def told(self) -> str:
        return f"kill -9 {self.part}" + (" (JVM)" if self.half == "jvm" else "")


@dataclass(frozen=True, slots=True)
class Pause:
    """SIGSTOP of all processes of a part, and SIGCONT after `seconds`."""

    at: float
    part: str
    seconds: float

    @property
    def kind(self) -> str:
        return f"pause {room_of(self.part)}"

    @property
    def told(self) -> str:
        return f"stop {self.part} for {self.seconds} s"


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault of a simulated exchange, switched on; it strikes once something happens there that it is about."""

    at: float
    fault: Fault

    @property
    def kind(self) -> str:
        return self.fault.kind

    @property
    def told(self) -> str:
        how_long = f"{self.fault.count} times" if self.fault.seconds is None else f"{self.fault.seconds} s"
        skew = "" if self.fault.skew_seconds is None else f" of {self.fault.skew_seconds} s"
        return f"{self.fault.exchange}: {self.fault.kind}{skew}, {how_long}"


@dataclass(frozen=True, slots=True)
class InjectedSetting:
    """Other settings, and the first ones again after `seconds`."""

    at: float
    changes: tuple[tuple[str, str | int | float], ...]
    seconds: float

    @property
    def kind(self) -> str:
        return f"settings {self.changes[0][0]}"

    @property
    def told(self) -> str:
        changed = ", ".join(f"{name} = {value}" for name, value in self.changes)
        return f"settings for {self.seconds} s: {changed}"


Blow = Kill | Pause | InjectedFault | InjectedSetting

KILL_EVERY: dict[Room, float] = {
    "bot": 10,
    "feed": 30,
    "mongodb": 60,
    "ui": 60,
    "publisher": 60,
    # these two take all prices with them until they are back
    "kafka": 170,
    "cep": 170,
}
PAUSE_EVERY: dict[Room, float] = {
    "bot": 10,
    "feed": 40,
    "mongodb": 80,
    "ui": 80,
    "publisher": 80,
    "kafka": 170,
    "cep": 170,
}
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
"""Seconds between two of a kind, on average: in every stretch so long there is one, somewhere in it."""
LOST_EVERY = 15.0
"""On each exchange, besides those that may strike any: one order a stretch whose acknowledgement is lost."""
SMALL_SKEW_EVERY = 20.0
"""On each exchange: its clock is off by less than a second, which no signature shows."""
STORE_STEP_EVERY = 45.0
"""All exchanges' clocks are off alike. Nobody but root can set mongod's clock; where what the store dated is compared
with what an exchange dated, this is the same as if mongod's had been set the other way."""
RETUNE_EVERY = 10.0

_LASTING: tuple[FaultKind, ...] = ("latency", "maintenance", "silent_stream", "clock_skew")
_LATENCY_MILLISECONDS = (200, 15_000)
"""From a slow answer to one that comes long after the bot has given up waiting for it."""
_SKEW_SECONDS = 120.0
_SMALL_SKEW_SECONDS = (0.1, 0.95)
_SMALL_SKEW_LASTS = (8.0, 18.0)
_STORE_STEP_SECONDS = (0.5, 8.0)
_STORE_STEP_LASTS = (3.0, 8.0)
_RETUNINGS: tuple[tuple[tuple[str, str | int | float], ...], ...] = (
    (("trading_state", "halted"),),
    (("trading_state", "reducing"),),
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


def schedule_of(seed: int, seconds: float, exchanges: Sequence[str], bots: Sequence[str]) -> tuple[Blow, ...]:
    """All blows of a run of `seconds`, by time; `bots` and feeders (one per exchange) by the names of their parts."""
    victims: dict[Room, tuple[str, ...]] = {room: (room,) for room in ROOMS}
    victims["feed"] = tuple(f"feed-{name}" for name in exchanges)
    victims["bot"] = tuple(bots)
    blows: list[Blow] = [
        *_kills(seed, seconds, victims),
        *_pauses(seed, seconds, victims),
        *_misbehaviours(seed, seconds, exchanges),
        *_on_each_exchange(seed, seconds, exchanges),
        *_store_steps(seed, seconds, exchanges),
        *_retunings(seed, seconds),
    ]
    return tuple(sorted(blows, key=lambda blow: (blow.at, blow.told)))


def room_of(part: str) -> str:
    """`bot-kraken-2` → `bot`."""
    return part.partition("-")[0]


def _kills(seed: int, seconds: float, victims: dict[Room, tuple[str, ...]]) -> Iterator[Kill]:
    for room, every in KILL_EVERY.items():
        random = _random(seed, f"kill {room}")
        for at in _times(random, every, seconds):
            half: Half = random.choice(HALVES) if room == "cep" else "python"
            yield Kill(at, random.choice(victims[room]), half)


def _pauses(seed: int, seconds: float, victims: dict[Room, tuple[str, ...]]) -> Iterator[Pause]:
    for room, every in PAUSE_EVERY.items():
        random = _random(seed, f"pause {room}")
        for at in _times(random, every, seconds):
            yield Pause(at, random.choice(victims[room]), _between(random, _PAUSE_SECONDS))


def _misbehaviours(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    for kind, every in FAULT_EVERY.items():
        random = _random(seed, kind)
        for at in _times(random, every, seconds):
            yield InjectedFault(at, _fault(random, kind, random.choice(exchanges)))


def _on_each_exchange(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    for exchange in exchanges:
        random = _random(seed, f"lost acknowledgement on {exchange}")
        for at in _times(random, LOST_EVERY, seconds):
            yield InjectedFault(at, Fault(exchange, "lost_acknowledgement", count=1))
        random = _random(seed, f"small skew of {exchange}")
        for at in _times(random, SMALL_SKEW_EVERY, seconds):
            skew = _either_way(random, _SMALL_SKEW_SECONDS)
            lasts = _between(random, _SMALL_SKEW_LASTS)
            yield InjectedFault(at, Fault(exchange, "clock_skew", seconds=lasts, skew_seconds=skew))


def _store_steps(seed: int, seconds: float, exchanges: Sequence[str]) -> Iterator[InjectedFault]:
    random = _random(seed, "store step")
    for at in _times(random, STORE_STEP_EVERY, seconds):
        skew, lasts = _either_way(random, _STORE_STEP_SECONDS), _between(random, _STORE_STEP_LASTS)
        for exchange in exchanges:
            yield InjectedFault(at, Fault(exchange, "clock_skew", seconds=lasts, skew_seconds=skew))


def _fault(random: Random, kind: FaultKind, exchange: str) -> Fault:
    if kind not in _LASTING:
        hold = random.choice((1.0, 7.0, 15.0)) if kind == "partial_fill_then_nothing" else None
        return Fault(exchange, kind, count=random.randint(1, 2), hold_seconds=hold)
    return Fault(
        exchange,
        kind,
        seconds=_between(random, (2.0, 6.0)),
        milliseconds=random.randint(*_LATENCY_MILLISECONDS) if kind == "latency" else None,
        skew_seconds=random.choice((-_SKEW_SECONDS, _SKEW_SECONDS)) if kind == "clock_skew" else None,
    )


def _retunings(seed: int, seconds: float) -> Iterator[InjectedSetting]:
    """Each of the changes before any comes again."""
    random, left = _random(seed, "settings"), list[tuple[tuple[str, str | int | float], ...]]()
    for at in _times(random, RETUNE_EVERY, seconds):
        if not left:
            left = random.sample(_RETUNINGS, len(_RETUNINGS))
        yield InjectedSetting(at, left.pop(), _between(random, _CHANGE_SECONDS))


def _times(random: Random, every: float, seconds: float) -> Iterator[float]:
    """One moment in each stretch of `every` seconds."""
    for stretch in range(int(seconds // every) + 1):
        at = round((stretch + random.random()) * every, 2)
        if at < seconds:
            yield at


def _between(random: Random, limits: tuple[float, float]) -> float:
    return round(random.uniform(*limits), 1)


def _either_way(random: Random, limits: tuple[float, float]) -> float:
    return round(random.choice((-1, 1)) * random.uniform(*limits), 2)


def _random(seed: int, purpose: str) -> Random:
    """Of its own for each kind of blow, so that a new kind moves none of the others."""
    return Random(f"{seed}:chaos:{purpose}")  # noqa: S311 – faults, not secrets
