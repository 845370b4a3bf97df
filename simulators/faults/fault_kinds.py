"""Injected faults: which are active on an exchange, for how long or how often. No I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, get_args

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.faults.lies import LIES

FaultKind = Literal[
    "latency",
    "http_429",
    "http_418",
    "http_5xx",
    "ban",
    "maintenance",
    "garbage_frame",
    "truncated_frame",
    "dropped_message",
    "duplicated_message",
    "reordered_message",
    "silent_stream",
    "no_pongs",
    "socket_ended",
    "crossed_book",
    "clock_skew",
    "lost_acknowledgement",
    "duplicate_fill_report",
    "rejected_order",
    "partial_fill_then_nothing",
    "disconnect_during_order",
    "lie",
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

HTTP_FAULTS: tuple[FaultKind, ...] = ("maintenance", "ban", "http_418", "http_429", "http_5xx")
"""Faults that replace the exchange's answer; if several are active, the first one counts."""
FRAME_FAULTS: tuple[FaultKind, ...] = (
    "silent_stream",
    "dropped_message",
    "reordered_message",
    "truncated_frame",
    "garbage_frame",
    "duplicated_message",
)
"""Faults of messages of a channel, in order of precedence."""

_OF_A_MARKET: tuple[FaultKind, ...] = (
    *FRAME_FAULTS,
    "crossed_book",
    "rejected_order",
    "lost_acknowledgement",
    "partial_fill_then_nothing",
    "disconnect_during_order",
)
_OF_A_CHANNEL: tuple[FaultKind, ...] = (*FRAME_FAULTS, *HTTP_FAULTS, "latency")
_OPTIONS: dict[str, tuple[FaultKind, ...]] = {
    "symbol": _OF_A_MARKET,
    "channel": _OF_A_CHANNEL,
    "milliseconds": ("latency",),
    "status": ("http_429", "http_5xx"),
    "skew_seconds": ("clock_skew",),
    "manner": ("lost_acknowledgement",),
    "taken": ("disconnect_during_order",),
    "share": ("partial_fill_then_nothing",),
    "hold_seconds": ("partial_fill_then_nothing",),
    "lie": ("lie",),
}
"""The kinds that have an option; all others reject it."""
_LONGEST_SECONDS = 86_400
_OUTLASTING: tuple[FaultKind, ...] = ("silent_stream", "partial_fill_then_nothing")
"""Kinds whose effect stays when their count is used up."""
_BY_TIME_ONLY: tuple[FaultKind, ...] = ("clock_skew",)


Symbols = Mapping[str, tuple[str, ...]]
"""Symbols listed by each exchange."""


class FaultRejectedError(Exception):
    """An invalid fault; the text gives the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One requested fault: `count` times, or for `seconds`; with both, until the first of the two is over.

    `symbol` (as in BTC/USD) limits it to one market. `channel` limits it to HTTP paths below the exchange's own that
    begin so ("/orders", "/ws"), or to stream channels that begin so. `probability`: of being injected at each
    opportunity. The rest are options of single kinds; None is the kind's own default.
    """

    exchange: str
    kind: FaultKind
    count: int | None = None
    seconds: float | None = None
    symbol: str | None = None
    channel: str | None = None
    probability: float = 1.0
    milliseconds: int | None = None
    """Latency there and back together; default 500."""
    status: int | None = None
    """HTTP status of the answer; default the exchange's own, or 503."""
    skew_seconds: float | None = None
    """How far the exchange's clock is ahead (negative: behind); default 300."""
    manner: Literal["dropped", "timeout"] | None = None
    """The connection is cut, or stays open without an answer; by default a seeded random choice."""
    taken: bool | None = None
    """Whether the order arrived before the disconnect; by default a seeded random choice."""
    share: float | None = None
    """Maximum share of the order's amount that fills at once; default a half."""
    hold_seconds: float | None = None
    """How long the rest is stuck; default until the fault is over, or 10 s if that is not known."""
    lie: str | None = None
    """One of `simulators.faults.lies.LIES`; by default a seeded random choice of the exchange's."""

    def check(self, symbols: Symbols) -> None:
        """Raise FaultRejectedError if it is invalid."""
        if self.exchange not in symbols:
            raise _no_exchange(self.exchange, symbols)
        if self.count is None and self.seconds is None:
            raise FaultRejectedError("A fault needs a count or a number of seconds.")
        if self.seconds is None and self.kind in _BY_TIME_ONLY:
            raise FaultRejectedError(f"{self.kind} lasts: give it seconds, not a count.")
        if self.count is not None and self.count < 1:
            raise FaultRejectedError(f"A count of {self.count} is no fault: give at least 1.")
        listed = symbols[self.exchange]
        if self.symbol is not None and self.symbol not in listed:
            raise FaultRejectedError(f"{self.exchange} does not list {self.symbol}, only {', '.join(listed)}.")
        self._check_options()
        self._check_ranges()

    def applies_to(self, symbol: str | None, channel: str | None) -> bool:
        """Return whether it applies there."""
        if self.symbol is not None and self.symbol != symbol:
            return False
        return self.channel is None or (channel is not None and channel.startswith(self.channel))

    def _check_options(self) -> None:
        for name, kinds in _OPTIONS.items():
            if getattr(self, name) is not None and self.kind not in kinds:
                raise FaultRejectedError(f"{self.kind} takes no {name}; that is for {', '.join(kinds)}.")
        if self.lie is not None and self.lie not in LIES:
            raise FaultRejectedError(f"There is no lie {self.lie!r}; there are {', '.join(LIES)}.")

    def _check_ranges(self) -> None:
        ranges: tuple[tuple[str, float | None, float, float], ...] = (
            ("seconds", self.seconds, 0.001, _LONGEST_SECONDS),
            ("probability", self.probability, 0.000001, 1),
            ("milliseconds", self.milliseconds, 1, 600_000),
            ("status", self.status, 400, 599),
            ("skew_seconds", self.skew_seconds, -_LONGEST_SECONDS, _LONGEST_SECONDS),
            ("share", self.share, 0, 0.99),
            ("hold_seconds", self.hold_seconds, 0.001, _LONGEST_SECONDS),
        )
        for name, number, least, most in ranges:
            # NaN is in no range
            if number is not None and not least <= number <= most:
                raise FaultRejectedError(f"{name} must be between {least} and {most}, not {number}.")


@dataclass(slots=True)
class ActiveFault:
    """A fault that was switched on; times in microseconds."""

    number: int
    fault: Fault
    started_at: int
    ends_at: int | None
    left: int | None
    injected: int = 0
    is_cleared: bool = False
    """It was switched off."""

    def is_over(self, now: int) -> bool:
        return self.left == 0 or (self.ends_at is not None and now >= self.ends_at)

    def seconds_left(self, now: int) -> float | None:
        return None if self.ends_at is None else max(0, self.ends_at - now) / MICROSECONDS


@dataclass(slots=True)
class ExchangeFaults:
    """The faults of one exchange. `is_quiet` is a quick check for a healthy exchange."""

    exchange: str
    clock: Clock
    random: Random
    is_quiet: bool = True
    counts: dict[FaultKind, int] = field(default_factory=dict)
    """How often each kind was injected so far."""
    _active: dict[FaultKind, list[ActiveFault]] = field(default_factory=dict)
    _spent: dict[FaultKind, list[ActiveFault]] = field(default_factory=dict)

    def add(self, active: ActiveFault) -> None:
        self._active.setdefault(active.fault.kind, []).append(active)
        self.is_quiet = False

    def clear(self, kind: FaultKind | None = None) -> None:
        """Switch off all active faults and their lasting effects, of one kind or of all."""
        for cleared in FAULT_KINDS if kind is None else (kind,):
            for active in self._active.pop(cleared, []) + self._spent.pop(cleared, []):
                active.is_cleared = True
        self.is_quiet = not self._active

    def active(self) -> Iterator[ActiveFault]:
        """Return the faults that are not over yet."""
        for kind in FAULT_KINDS:
            yield from self._current(kind)

    def inject(self, kind: FaultKind, symbol: str | None = None, channel: str | None = None) -> ActiveFault | None:
        """Return the fault to inject here and now, which is then counted. Both arguments give the place."""
        for active in self._current(kind):
            fault = active.fault
            if not fault.applies_to(symbol, channel):
                continue
            if fault.probability < 1 and self.random.random() >= fault.probability:
                continue
            active.injected += 1
            if active.left is not None:
                active.left -= 1
            self.counts[kind] = self.counts.get(kind, 0) + 1
            return active
        return None

    def newest(self, kind: FaultKind) -> ActiveFault | None:
        """Return the newest fault of a kind with a duration, without counting it."""
        found = self._current(kind)
        return found[-1] if found else None

    def flip_coin(self) -> bool:
        return self.random.random() < 0.5

    def _current(self, kind: FaultKind) -> list[ActiveFault]:
        found = self._active.get(kind)
        if not found:
            return []
        now = self.clock.now()
        left = [active for active in found if not active.is_over(now)]
        if len(left) < len(found):
            if kind in _OUTLASTING:
                self._spent.setdefault(kind, []).extend(active for active in found if active.left == 0)
            self._active[kind] = left
            if not left:
                del self._active[kind]
                self.is_quiet = not self._active
        return left


class Faults:
    """All faults of all exchanges; deterministic for the same seed and calls."""

    def __init__(self, clock: Clock, symbols: Symbols, seed: int = 0) -> None:
        self._clock = clock
        self._symbols = symbols
        self._numbers = 0
        self._of = {
            name: ExchangeFaults(name, clock, Random(f"{seed}:{name}:faults"))  # noqa: S311 – faults, not secrets
            for name in symbols
        }

    @property
    def exchanges(self) -> tuple[str, ...]:
        return tuple(self._of)

    def of(self, exchange: str) -> ExchangeFaults:
        """Return the exchange's faults. Raises FaultRejectedError if there is no such exchange."""
        if exchange not in self._of:
            raise _no_exchange(exchange, self._symbols)
        return self._of[exchange]

    def switch_on(self, fault: Fault) -> ActiveFault:
        """Activate a fault. Raises FaultRejectedError if it is invalid."""
        fault.check(self._symbols)
        now = self._clock.now()
        ends_at = None if fault.seconds is None else now + round(fault.seconds * MICROSECONDS)
        self._numbers += 1
        active = ActiveFault(self._numbers, fault, now, ends_at, fault.count)
        self._of[fault.exchange].add(active)
        return active

    def active(self) -> list[ActiveFault]:
        """Return active faults, in the order in which they were switched on."""
        found = [active for faults in self._of.values() for active in faults.active()]
        return sorted(found, key=lambda active: active.number)

    def injected_counts(self) -> dict[str, dict[FaultKind, int]]:
        """Return exchange → kind → how often it was injected since the start."""
        return {name: dict(faults.counts) for name, faults in self._of.items() if faults.counts}

    def clear(self, exchange: str | None = None, kind: FaultKind | None = None) -> None:
        """Clear all faults, or those of one exchange or kind. Raises FaultRejectedError if there is no such
        exchange."""
        for faults in self._of.values() if exchange is None else (self.of(exchange),):
            faults.clear(kind)


def _no_exchange(exchange: str, symbols: Symbols) -> FaultRejectedError:
    return FaultRejectedError(f"There is no exchange {exchange!r} here; there are {', '.join(symbols)}.")
