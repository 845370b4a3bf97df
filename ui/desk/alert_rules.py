"""Alert rules of a user's own: a metric, over a window, beyond a threshold, for so long. Pure.

What a rule says now and what it would have said on a day gone by are one function, over one history of looks.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ui.desk.alert_book import AlertSeverity, Seen

LOOK_SECONDS = 15
"""Between two looks at the metrics."""
MOST_SECONDS = 3_600
"""Longest window, and longest time that a rule waits."""
MOST_RULES = 50

How = Literal["now", "mean", "lowest", "highest", "change", "increase"]
"""What is compared: the value, its mean, lowest or highest in the window, by how much it changed since the window's
beginning, or what a counter gained in it, whose restarts lose nothing."""
Direction = Literal["above", "below"]
Samples = Sequence[float | None]
"""Of one series, one for each look, oldest first; None: not known at that look."""
SeriesKey = tuple[str, tuple[tuple[str, str], ...]]
"""Name of a metric, and its labels by name."""

Label = Annotated[str, StringConstraints(max_length=100)]
Seconds = Annotated[int, Field(ge=0, le=MOST_SECONDS)]


class WantedRule(BaseModel):
    """A rule as somebody writes it. `labels`: those that a series must have; every series that has them counts alone.
    `destinations`: names of `[[notices]]`; none: all that get alerts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
    metric: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,99}$")]
    labels: dict[Label, Label] = Field(default_factory=dict, max_length=6)
    how: How = "now"
    window_seconds: Seconds = 60
    direction: Direction = "above"
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    for_seconds: Seconds = 0
    severity: AlertSeverity = "warning"
    destinations: tuple[Label, ...] = Field(default=(), max_length=20)


class AlertRule(WantedRule):
    """One that is kept. `made_at` in microseconds UTC."""

    rule_id: str
    made_by: str
    made_at: int


@dataclass(frozen=True, slots=True)
class Firing:
    """Looks `first` to `last` at which a rule said that something is wrong, both included."""

    first: int
    last: int


def is_of_rule(rule: WantedRule, key: SeriesKey) -> bool:
    name, labels = key
    return name == rule.metric and rule.labels.items() <= dict(labels).items()


def looks_of(seconds: int) -> int:
    """Return how many looks further on so much time is over."""
    return -(-seconds // LOOK_SECONDS)


def looks_needed(rule: WantedRule) -> int:
    """Return how many looks decide whether it fires now."""
    return looks_of(rule.window_seconds) + looks_of(rule.for_seconds) + 1


def firings(rule: WantedRule, samples: Samples) -> list[Firing]:
    """Return when it would have fired, oldest first. What is not known ends a firing, and begins none."""
    waited, needed = 0, looks_of(rule.for_seconds) + 1
    found: list[Firing] = []
    for look, value in enumerate(windowed(rule.how, samples, looks_of(rule.window_seconds))):
        waited = waited + 1 if value is not None and is_beyond(rule, value) else 0
        if waited < needed:
            continue
        first = found.pop().first if waited > needed else look
        found.append(Firing(first, look))
    return found


def is_beyond(rule: WantedRule, value: float) -> bool:
    return value > rule.threshold if rule.direction == "above" else value < rule.threshold


def windowed(how: How, samples: Samples, width: int) -> list[float | None]:
    """Return the figure at each look, over it and the `width` looks before."""
    match how:
        case "now":
            return list(samples)
        case "mean":
            return list(_means(samples, width))
        case "highest":
            return list(_highest(samples, width))
        case "lowest":
            return [None if one is None else -one for one in _highest([_negative(one) for one in samples], width)]
        case "change":
            return list(_changes(samples, width))
        case "increase":
            # a window counts what came after its first look
            return list(_changes(_rising(samples), width))


def seen_by(rule: AlertRule, history: Mapping[SeriesKey, Samples]) -> Iterator[Seen]:
    """Yield what is wrong at the last look, by series."""
    for key, samples in history.items():
        found = firings(rule, samples)
        if not found or found[-1].last != len(samples) - 1:
            continue
        value = windowed(rule.how, samples, looks_of(rule.window_seconds))[-1]
        what = f"{series_words(key)} {value_words(value)}: {condition(rule)}."
        yield Seen(rule.severity, part_of(rule), what, TODO, rule.rule_id, subject_of(key))


def part_of(rule: WantedRule) -> str:
    """Return where its alerts stand among those of parts."""
    return f"rule {rule.name}"


TODO = "An alert rule says so: it is below the alerts."
_HOW_WORDS: dict[How, str] = {
    "now": "",
    "mean": "mean of {} ",
    "lowest": "lowest of {} ",
    "highest": "highest of {} ",
    "change": "change over {} ",
    "increase": "increase over {} ",
}


def condition(rule: WantedRule) -> str:
    """Return it in words: `mean of 1 min above 10 for 5 min`."""
    how = _HOW_WORDS[rule.how].format(duration_words(rule.window_seconds))
    lasting = f" for {duration_words(rule.for_seconds)}" if rule.for_seconds else ""
    return f"{how}{rule.direction} {rule.threshold:,.12g}{lasting}"


def value_words(value: float | None) -> str:
    """Return it rounded, without an exponent where people would write none."""
    if value is None:
        return "unknown"
    return f"{value:,.6g}" if abs(value) < 100_000 else f"{value:,.0f}"


def series_words(key: SeriesKey) -> str:
    name, labels = key
    words = " ".join(value for _, value in labels)
    return f"{name} of {words}:" if words else f"{name}:"


def subject_of(key: SeriesKey) -> str:
    """Return what tells the series from every other, whatever its labels are."""
    name, labels = key
    return f"{name}{dict(labels)}"


def duration_words(seconds: int) -> str:
    """Return such as `90 s`, `5 min` or `1 h`."""
    for unit, length in (("h", 3_600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _means(samples: Samples, width: int) -> Iterator[float | None]:
    total, known = 0.0, 0
    for look, value in enumerate(samples):
        gone = samples[look - width - 1] if look > width else None
        for one, sign in ((value, 1), (gone, -1)):
            if one is not None:
                total, known = total + sign * one, known + sign
        yield total / known if known else None


def _highest(samples: Samples, width: int) -> Iterator[float | None]:
    falling: deque[tuple[int, float]] = deque()
    for look, value in enumerate(samples):
        while falling and falling[0][0] < look - width:
            falling.popleft()
        if value is not None:
            while falling and falling[-1][1] <= value:
                falling.pop()
            falling.append((look, value))
        yield falling[0][1] if falling else None


def _changes(samples: Samples, width: int) -> Iterator[float | None]:
    """Yield the value less the oldest that is known in the window; None without two."""
    known: deque[tuple[int, float]] = deque()
    for look, value in enumerate(samples):
        while known and known[0][0] < look - width:
            known.popleft()
        if value is not None:
            known.append((look, value))
        yield value - known[0][1] if value is not None and len(known) > 1 else None


def _rising(samples: Samples) -> list[float | None]:
    """Return a counter that never starts again: after a restart it goes on from what it had."""
    known = [value for value in samples if value is not None]
    gained = [0.0]
    for before, after in pairwise(known):
        gained.append(gained[-1] + (after - before if after >= before else after))
    rising = iter(gained)
    return [None if value is None else next(rising) for value in samples]
