"""What other settings would have decided of opportunities that were decided on: the same risk checks, on what was
known then. Pure.

Only the checks are repeated. What would have followed is not: another trade's limits, cool-down and balances, another
size but for a smaller maximum, fills and latency.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

from market.decide.decision_context import DecisionContext
from market.decide.risk_checks import CHECKS, first_rejection
from market.decide.settings import Settings
from market.money import ZERO

SIZE = "max_notional"
"""The one setting that sizes a trade and rejects none; a lower one is reckoned in proportion."""
NEARLY = Decimal("0.98")
"""Of the maximum: amounts are cut to an exchange's steps."""
UNREAD = frozenset(
    ("breaker_failures", "breaker_window_ms", "breaker_pause_ms", "place_value_share", "rebalancing_bps")
)
"""Their checks read what followed from them: until when an exchange is paused, what a place has to bring, and what a
trade would bring back."""
JUDGED = (
    frozenset({SIZE, *(name for check in CHECKS for name in check.settings)})
    - UNREAD
    - {"trading_state", "market_rules"}
)
"""Settings whose change can be judged here; of the others a backtest knows more."""


@dataclass(frozen=True, slots=True)
class PastDecision:
    """An opportunity with what was known when it was decided on, at `at` (microseconds UTC). `settings` of the context
    are replaced by those that are tried.

    `reason` that it was rejected for, "" if it was taken. `worth`: the net of one that was taken (0 before it ended),
    else what it would have earned at most. `notional` that was reserved; 0 for a rejected one.
    """

    context: DecisionContext
    at: int
    reason: str = ""
    worth: Decimal = ZERO
    notional: Decimal = ZERO

    @property
    def pair(self) -> tuple[str, str, str]:
        opportunity = self.context.opportunity
        return opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange

    def rejection(self, settings: Settings) -> str | None:
        return first_rejection(replace(self.context, settings=settings))


@dataclass(frozen=True, slots=True)
class CountedMoney:
    """How many, and their money in the settlement currency."""

    count: int = 0
    money: Decimal = ZERO

    def plus(self, count: int, money: Decimal) -> Self:
        return replace(self, count=self.count + count, money=self.money + money)


@dataclass(frozen=True, slots=True)
class WhatIfEffect:
    """What changed settings would have done.

    `refused`: reason → taken ones that they reject, with the net that those made. `allowed`: reason → rejected ones
    that they let through, each episode once with the most that one of it would have earned. `smaller`: taken ones that
    would have been smaller, and by how much less they would have made. `at_most`: those that the maximum cut, of
    which nobody knows what a larger size would have earned.
    """

    refused: dict[str, CountedMoney]
    allowed: dict[str, CountedMoney]
    smaller: CountedMoney
    at_most: int


def decided_alike(decisions: Iterable[PastDecision], settings: Settings) -> tuple[PastDecision, ...]:
    """Return those that these settings decide as they were decided; the settings were others when the rest was."""
    return tuple(one for one in decisions if (one.rejection(settings) is not None) == bool(one.reason))


def effect_of(decisions: Sequence[PastDecision], before: Settings, after: Settings) -> WhatIfEffect:
    """Return what `after` in place of `before` would have done of decisions that `before` decides alike."""
    refused: dict[str, CountedMoney] = {}
    kept: list[PastDecision] = []
    allowed: list[PastDecision] = []
    for one in decisions:
        reason = one.rejection(after)
        if one.reason:
            allowed += [one] if reason is None else []
        elif reason is None:
            kept.append(one)
        else:
            refused[reason] = refused.get(reason, CountedMoney()).plus(1, one.worth)
    is_larger = after.max_notional > before.max_notional
    return WhatIfEffect(
        refused=refused,
        allowed=_by_episode(allowed, after.opportunity_lifetime_ms * 1_000),
        smaller=_smaller(kept, before.max_notional, after.max_notional),
        at_most=sum(one.notional >= before.max_notional * NEARLY for one in kept) if is_larger else 0,
    )


def reasons_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the checks that depend on any of these settings: another one rejects as before."""
    wanted = set(names)
    return tuple(check.reason for check in CHECKS if wanted & set(check.settings))


def _smaller(kept: Iterable[PastDecision], before: Decimal, after: Decimal) -> CountedMoney:
    """Count those that `after` cuts further than `before`, under which what was larger had not been made either."""
    found = CountedMoney()
    for one in kept:
        now = min(one.notional, before)
        if after < now:
            found = found.plus(1, one.worth * (after - now) / one.notional)
    return found


def _by_episode(allowed: Iterable[PastDecision], lifetime: int) -> dict[str, CountedMoney]:
    """Count them by reason: those of one pair that are no further apart than an opportunity lives are one."""
    found: dict[str, CountedMoney] = {}
    by_pair: dict[tuple[str, tuple[str, str, str]], list[PastDecision]] = defaultdict(list)
    for one in allowed:
        by_pair[one.reason, one.pair].append(one)
    for (reason, _), some in by_pair.items():
        for episode in _episodes(sorted(some, key=lambda one: one.at), lifetime):
            found[reason] = found.get(reason, CountedMoney()).plus(1, max(one.worth for one in episode))
    return found


def _episodes(ordered: Iterable[PastDecision], lifetime: int) -> list[list[PastDecision]]:
    """Return runs without a longer pause; sightings of a second are kept as their first."""
    found: list[list[PastDecision]] = []
    for one in ordered:
        if found and one.at - found[-1][-1].at <= lifetime + 1_000_000:
            found[-1].append(one)
        else:
            found.append([one])
    return found
