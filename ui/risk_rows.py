"""The JSON rows about risk: the switch, what refusals cost. Money as decimal strings."""

from collections.abc import Mapping
from decimal import Decimal

from typing_extensions import TypedDict

from market.money import ZERO, text_of, total


class TradingStateRow(TypedDict):
    """The state in force, and the version of the settings that it belongs to."""

    state: str
    settings_version: int


class ForgoneReasonRow(TypedDict):
    """`forgone`: what the refused were expected to bring when they were seen, at the best levels alone."""

    reason: str
    count: int
    forgone: str


class ForgoneRow(TypedDict):
    """All refusals of the session, in `currency`. Opportunities overlap, so that `forgone` is no sum to be had."""

    currency: str
    count: int
    forgone: str
    reasons: list[ForgoneReasonRow]


def forgone_row(currency: str, counts: Mapping[str, int], forgone: Mapping[str, Decimal]) -> ForgoneRow:
    """`counts` and `forgone` by reason; the dearest first."""
    ordered = sorted(counts, key=lambda reason: (-forgone.get(reason, ZERO), -counts[reason], reason))
    return ForgoneRow(
        currency=currency,
        count=sum(counts.values()),
        forgone=text_of(total(forgone.values())),
        reasons=[
            ForgoneReasonRow(reason=reason, count=counts[reason], forgone=text_of(forgone.get(reason, ZERO)))
            for reason in ordered
        ],
    )
