"""What is wrong now and was: when each alert began and ended, who acknowledged it, and what is muted. No I/O."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from market.time_units import MICROSECONDS

AlertSeverity = Literal["failing", "warning"]

QUIET = 15 * MICROSECONDS
"""An alert is over once it was not seen for so long: what comes and goes is one alert."""
KEPT_ENDED = 500
KEPT_FOR = 30 * 86_400 * MICROSECONDS
_figures = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that is wrong at one moment, in words whose figures may change.

    `rule_id`: of the alert rule that says so, "" if none does. `subject`: what it is about, if its words cannot tell it
    from others: a series of a metric, whose labels may be figures and whose value may be written in any way.
    """

    severity: AlertSeverity
    part: str
    what: str
    todo: str
    rule_id: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class KeptAlert:
    """Times in microseconds UTC; `ended_at` None while it is open. `acknowledged_by` "" until somebody has."""

    alert_id: str
    kind: str
    """The same for every alert of one part and words, whatever their figures; of a rule: of one rule and series."""
    severity: AlertSeverity
    part: str
    what: str
    todo: str
    since: int
    seen_at: int
    ended_at: int | None = None
    acknowledged_by: str = ""
    acknowledged_at: int | None = None
    note: str = ""
    rule_id: str = ""
    """Of the rule that said so, or ""."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Until when alerts of one kind are nobody's concern, and by whom."""

    until: int
    who: str


@dataclass(frozen=True, slots=True)
class AlertBook:
    """All of them, by id, oldest first."""

    alerts: Mapping[str, KeptAlert]
    mutes: Mapping[str, Mute]
    """By kind."""

    def observed(
        self, seen: Iterable[Seen], now: int, is_undecided: Callable[[KeptAlert], bool] = lambda _: False
    ) -> "AlertBook":
        """Return the book after a look at what is wrong at `now`. Open alerts that `is_undecided` picks do not end for
        not being seen: nobody has looked long enough to say so."""
        found = {kind_of(one): one for one in seen}
        alerts: dict[str, KeptAlert] = {}
        for alert in self.alerts.values():
            current = found.pop(alert.kind, None) if alert.ended_at is None else None
            is_kept = alert.ended_at is not None or (current is None and is_undecided(alert))
            alerts[alert.alert_id] = alert if is_kept else _after(alert, current, now)
        for kind, one in found.items():
            begun = KeptAlert(
                _id_of(kind, now), kind, one.severity, one.part, one.what, one.todo, now, now, rule_id=one.rule_id
            )
            alerts[begun.alert_id] = begun
        mutes = {kind: mute for kind, mute in self.mutes.items() if mute.until > now}
        return AlertBook(_kept(alerts, now), mutes)

    def acknowledged(self, alert_id: str, who: str, note: str, now: int) -> "AlertBook":
        """Return the book with it acknowledged. Raises KeyError if there is no such alert."""
        alert = self.alerts[alert_id]
        changed = replace(alert, acknowledged_by=who, acknowledged_at=now, note=note)
        return replace(self, alerts={**self.alerts, alert_id: changed})

    def muted(self, alert_id: str, who: str, until: int) -> "AlertBook":
        """Mute every alert of its kind. Raises KeyError if there is no such alert."""
        return replace(self, mutes={**self.mutes, self.alerts[alert_id].kind: Mute(until, who)})

    def unmuted(self, alert_id: str) -> "AlertBook":
        """Return the book with its kind counted again. Raises KeyError if there is no such alert."""
        kind = self.alerts[alert_id].kind
        return replace(self, mutes={name: mute for name, mute in self.mutes.items() if name != kind})

    def mute_of(self, alert: KeptAlert, now: int) -> Mute | None:
        mute = self.mutes.get(alert.kind)
        return mute if mute is not None and mute.until > now else None


EMPTY = AlertBook({}, {})


def kind_of(seen: Seen) -> str:
    """Return the kind: rule and series, or part and words with a mark for each figure."""
    if seen.rule_id:
        return f"{seen.rule_id}: {seen.subject}"
    return f"{seen.part}: {_figures.sub('#', seen.what)}"


def _id_of(kind: str, since: int) -> str:
    return sha256(f"{kind} {since}".encode()).hexdigest()[:16]


def _after(alert: KeptAlert, current: Seen | None, now: int) -> KeptAlert:
    """Return an open alert after a look."""
    if current is not None:
        return replace(
            alert, severity=current.severity, part=current.part, what=current.what, todo=current.todo, seen_at=now
        )
    return alert if now - alert.seen_at < QUIET else replace(alert, ended_at=alert.seen_at)


def _kept(alerts: Mapping[str, KeptAlert], now: int) -> dict[str, KeptAlert]:
    """Return all that are open, and of the others the newest that are not too old."""
    ended = sorted((one for one in alerts.values() if one.ended_at is not None), key=lambda one: one.ended_at or 0)
    dropped = {one.alert_id for one in ended[: max(0, len(ended) - KEPT_ENDED)]}
    dropped |= {one.alert_id for one in ended if now - (one.ended_at or 0) > KEPT_FOR}
    return {alert_id: one for alert_id, one in alerts.items() if alert_id not in dropped}
