"""Schedules of injected faults, from a seed or from a file; deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import orjson

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.faults.fault_kinds import FAULT_KINDS, Fault, FaultKind, FaultRejectedError, Faults, Symbols
from simulators.faults.requests import fault_from

FAULTS_PER_MINUTE = 2.0
_MOST_PER_MINUTE = 6_000
_BY_COUNT: tuple[FaultKind, ...] = (
    "http_429",
    "http_5xx",
    "garbage_frame",
    "truncated_frame",
    "dropped_message",
    "duplicated_message",
    "reordered_message",
    "socket_ended",
    "crossed_book",
    "lost_acknowledgement",
    "duplicate_fill_report",
    "rejected_order",
    "partial_fill_then_nothing",
    "disconnect_during_order",
    "lie",
)
"""Kinds that a seeded schedule injects by count; the others have a duration."""
_MOST_TIMES = 3
_SECONDS = (1.0, 8.0)


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """`at`: seconds after the start."""

    at: float
    fault: Fault


class FaultSchedule:
    """Injects faults when they are due; time starts when the schedule is created."""

    def __init__(self, faults: Faults, clock: Clock, entries: Iterable[ScheduledFault]) -> None:
        """Take `entries` by time; they may have no end."""
        self._faults = faults
        self._clock = clock
        self._start = clock.now()
        self._entries = iter(entries)
        self._next = next(self._entries, None)

    def advance(self) -> None:
        """Inject what is due. Raises FaultRejectedError if an entry is invalid."""
        while self._next is not None and self._start + self._next.at * MICROSECONDS <= self._clock.now():
            self._faults.switch_on(self._next.fault)
            self._next = next(self._entries, None)


def seeded_faults(seed: int, per_minute: float, exchanges: Sequence[str]) -> Iterator[ScheduledFault]:
    """Return random faults of all kinds on all exchanges, determined by the seed; without end."""
    random = Random(f"{seed}:schedule")  # noqa: S311 – faults, not secrets
    at = 0.0
    while True:
        at += random.expovariate(per_minute / 60)
        exchange, kind = random.choice(exchanges), random.choice(FAULT_KINDS)
        times, seconds = random.randint(1, _MOST_TIMES), round(random.uniform(*_SECONDS), 1)
        lasts = Fault(exchange, kind, seconds=seconds)
        yield ScheduledFault(at, Fault(exchange, kind, count=times) if kind in _BY_COUNT else lasts)


def schedule_of(text: str, symbols: Symbols) -> Iterable[ScheduledFault]:
    """Return the schedule of `SEED`, `SEED:PER_MINUTE`, or a JSON file's name. Raises FaultRejectedError with one
    sentence."""
    seed, _, rate = text.partition(":")
    if not seed.lstrip("-").isdecimal():
        return read_schedule(Path(text), symbols)
    try:
        per_minute = float(rate) if rate else FAULTS_PER_MINUTE
    except ValueError:
        per_minute = 0.0
    if not 0 < per_minute <= _MOST_PER_MINUTE:
        raise FaultRejectedError(f"{rate!r} is not a number of faults a minute between 0 and {_MOST_PER_MINUTE}.")
    return seeded_faults(int(seed), per_minute, tuple(symbols))


def read_schedule(path: Path, symbols: Symbols) -> list[ScheduledFault]:
    """Return a JSON list of faults, each with `at`, seconds after the start. Raises FaultRejectedError."""
    try:
        rows = orjson.loads(path.read_bytes())
    except OSError as error:
        raise FaultRejectedError(f"{path} cannot be read ({error.strerror}).") from None
    except orjson.JSONDecodeError as error:
        raise FaultRejectedError(f"{path} is not JSON ({error}).") from None
    if not isinstance(rows, list):
        raise FaultRejectedError(f"{path} is not a JSON list of faults.")
    entries = []
    for number, row in enumerate(rows, 1):
        try:
            entries.append(_entry(row, symbols))
        except FaultRejectedError as error:
            raise FaultRejectedError(f"{path}, fault {number}: {error}") from None
    return sorted(entries, key=lambda entry: entry.at)


def _entry(row: object, symbols: Symbols) -> ScheduledFault:
    at = row.pop("at", None) if isinstance(row, dict) else None
    if not isinstance(at, int | float) or isinstance(at, bool) or at < 0:
        raise FaultRejectedError('it needs "at", the seconds after the start.')
    fault = fault_from(row)
    fault.check(symbols)
    return ScheduledFault(float(at), fault)
