"""Rows of apps that acted on nothing, by app and reason: for the log at once, and for the app's status and page."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS

SAID_EVERY = 60 * MICROSECONDS
MOST_REASONS = 20
"""Of one app; a reason may name what the row had."""
OTHER_REASONS = "other reasons: see the log of the part ui"

log = logging.getLogger("ui")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many of one app's rows were left out for one reason since this process began. `last`: what the newest asked
    for, and when it was left out, microseconds by the session's clock."""

    reason: str
    actions: int
    last: str
    last_at: int


@dataclass(slots=True)
class LeftOutActions:
    """Of all apps. The log says a reason at once, then once a minute with its number."""

    _unsaid: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Since when, microseconds, and how many were not said yet."""
    _counted: dict[str, dict[str, LeftOut]] = field(default_factory=dict)

    def add(self, app: str, what: Mapping[str, str], reason: str, now: int) -> None:
        """Count one. `what`: what else to say of the first."""
        counted = self._counted.setdefault(app, {})
        shown = reason if reason in counted or len(counted) < MOST_REASONS else OTHER_REASONS
        before = counted.get(shown)
        counted[shown] = LeftOut(shown, 1 + (before.actions if before else 0), " ".join(what.values()), now)
        key = (app, reason)
        if key in self._unsaid:
            since, count = self._unsaid[key]
            self._unsaid[key] = (since, count + 1)
        else:
            self._unsaid[key] = (now, 0)
            log.warning("action of an app left out", extra={"app": app, **what, "reason": reason})

    def tell(self, now: int) -> None:
        """Say what a minute has collected."""
        for (app, reason), (since, count) in list(self._unsaid.items()):
            if now - since < SAID_EVERY:
                continue
            del self._unsaid[app, reason]
            if count:
                log.warning("more actions of an app left out", extra={"app": app, "reason": reason, "actions": count})

    def of(self, app: str) -> tuple[LeftOut, ...]:
        """Return what was left out of one app, the newest first."""
        return tuple(sorted(self._counted.get(app, {}).values(), key=lambda one: -one.last_at))
