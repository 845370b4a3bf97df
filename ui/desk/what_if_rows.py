"""Rows of REST: what changed settings would have done. Money as decimal strings in the settlement currency."""

from typing_extensions import TypedDict


class WhatIfSumRow(TypedDict):
    """How many, by the reason of the check that rejects them; `money` as the list says."""

    reason: str
    count: int
    money: str


class WhatIfEffectRow(TypedDict):
    """`refused`: arbitrages that were begun, with the net that they made. `allowed`: rejected opportunities that would
    have passed all checks that can be repeated, each episode once, with the most that one of it would have earned.
    `smaller`: arbitrages of a smaller size; `smaller_money`: what they would have made more (+) or less (−). `at_most`:
    arbitrages that the maximum size cut, of which nobody knows what a larger size would have earned."""

    refused: list[WhatIfSumRow]
    allowed: list[WhatIfSumRow]
    smaller: int
    smaller_money: str
    at_most: int


class WhatIfFieldRow(TypedDict):
    """The effect of one field alone; null if only a backtest can tell."""

    field: str
    effect: WhatIfEffectRow | None


class WhatIfRow(TypedDict):
    """Of the opportunities decided on since `since` (microseconds UTC), under the settings in force. `taken`: the
    arbitrages that were looked at, `all_taken` those that there were; likewise of the `rejected` that the changed
    settings concern. `whole`: all changes together. `limits`: what is not repeated."""

    since: int
    settings_version: int
    currency: str
    taken: int
    all_taken: int
    rejected: int
    all_rejected: int
    whole: WhatIfEffectRow
    fields: list[WhatIfFieldRow]
    limits: list[str]
