"""The circuit breaker: how many failures of one exchange, how close together, pause it, and for how long. Pure."""

from dataclasses import dataclass, replace
from typing import Literal

from market.decide.settings import Settings

FailureKind = Literal[
    "order_rejected",
    "outcome_unknown",
    "look_up_unanswered",
    "account_rejected",
    "order_not_final",
    "implausible_report",
]

MAX_FAILURES = 1_000
"""Failures kept per exchange; no setting needs more."""
REJECTED_PAUSE_MS = 15_000
"""How long a rejected account pauses its exchange. The bot checks the account more often than that, so the pause ends
shortly after the rejection."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Counted once per `failure_id`, however often it is reported; `at` by the store's clock, microseconds."""

    failure_id: str
    kind: FailureKind
    at: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """What one exchange failed at lately. Times by the store's clock, microseconds."""

    exchange: str
    failures: tuple[Failure, ...] = ()
    """Those of the last window, oldest first."""
    paused_until: int = 0
    """No new arbitrage with a leg there before this time; 0: never paused."""
    pauses: int = 0
    """How often it was paused; an extended pause counts once."""
    unexplained_since: int = 0
    """Since when a difference that nobody explained makes it reduce-only; 0: there is none."""

    def is_paused(self, now: int) -> bool:
        return now < self.paused_until


def with_failure(health: Health, failure: Failure, settings: Settings, now: int) -> Health:
    """Return the health after one more failure at `now`; unchanged if the failure is known.

    Failures keep counting after a pause until their window is over, so an exchange that still fails is paused again by
    its first failure. A failure during a pause extends it. A rejected account pauses at
    once, and counts once for as long as it stays rejected.
    """
    if any(known.failure_id == failure.failure_id for known in health.failures):
        return health
    if failure.kind == "account_rejected":
        if health.is_paused(now):
            return _paused(health, REJECTED_PAUSE_MS, now)
        health = _paused(health, REJECTED_PAUSE_MS if settings.breaker_failures else 0, now)
    recent = (*recent_failures(health, settings, now), replace(failure, at=now))[-MAX_FAILURES:]
    counted = replace(health, failures=recent)
    if settings.breaker_failures == 0 or len(recent) < settings.breaker_failures:
        return counted
    return _paused(counted, settings.breaker_pause_ms, now)


def _paused(health: Health, milliseconds: int, now: int) -> Health:
    """Until then, or longer if it is paused for longer already."""
    return replace(
        health,
        paused_until=max(health.paused_until, now + milliseconds * 1_000),
        pauses=health.pauses + (0 if health.is_paused(now) or not milliseconds else 1),
    )


def recent_failures(health: Health, settings: Settings, now: int) -> tuple[Failure, ...]:
    """Those that still count at `now`."""
    since = now - settings.breaker_window_ms * 1_000
    return tuple(failure for failure in health.failures if failure.at > since)
