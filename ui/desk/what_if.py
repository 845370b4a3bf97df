"""What changed settings would have done in the last hour, before they are saved: the recorded decisions, decided again.

Bounded in rows and so in memory and time; one question at a time. Documents are read into values and decided in a
thread, beside the loop that serves the kill switch.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from market.decide.settings import Settings
from market.decide.what_if import JUDGED, CountedMoney, PastDecision, decided_alike, effect_of, reasons_of
from market.money import ZERO, text_of
from market.time_units import MICROSECONDS
from market.trade.decision_record import NoRecordError, rejection_record_of, step_of
from runtime.clock import wall_now
from store.aggregates.episode_sums import BELOW_THRESHOLD, BINS_PER_BPS, EpisodeSum
from store.errors import StoreError
from store.server.client import Document
from store.server.documents import amount_of, opportunity_of, rejection_of
from ui.auth.question_turns import QuestionTurns
from ui.desk.what_if_rows import WhatIfEffectRow, WhatIfFieldRow, WhatIfRow, WhatIfSumRow
from ui.services.dashboard import Dashboard
from ui.services.settings import SettingsMissingError, changed_settings, differing

SPAN_SECONDS = 3_600
MOST = 1_000
"""Arbitrages, and rejections: some 10 MB each, and a second of a core."""
MOST_SECONDS = 10.0
MOST_FIELDS = 12
"""Fields that are tried by themselves; with more only all together."""
LIMITS = (
    "The checks are repeated on what was known then. Limits, cool-down and balances that other trades would have used, "
    "fills and latency are not: a backtest has them.",
    "Opportunities below the threshold are counted by half basis points, and only their threshold is tried.",
)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of the last hour, less what other settings decided; `below`: episodes rejected as below the
    threshold."""

    decisions: tuple[PastDecision, ...]
    below: tuple[EpisodeSum, ...]


class WhatIf:
    """Asks one question at a time: each holds what it reads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._questions = QuestionTurns(MOST_SECONDS)

    async def row(self, dashboard: Dashboard, changes: Mapping[str, object]) -> WhatIfRow:
        """Return what `changes`, the body of a change, would have done. Raises SettingsInvalidError,
        SettingsMissingError, QuestionsBusyError, StoreError."""
        current = dashboard.hub.settings
        if current is None:
            raise SettingsMissingError
        session = dashboard.session
        after = changed_settings(current, changes, session.exchanges, session.bases)
        async with self._questions.turn():
            return await _row(dashboard, current, after, self._most)


async def _row(dashboard: Dashboard, before: Settings, after: Settings, most: int) -> WhatIfRow:
    names = sorted(differing(before, after))
    reasons = [one for one in reasons_of(names) if one != BELOW_THRESHOLD]
    since, past = wall_now() - SPAN_SECONDS * MICROSECONDS, dashboard.reader.past_decisions
    counts = await past.counts(since, reasons)
    taken = await _read(past.taken(since, most), lambda document: _taken(document, before))
    rejected = await _read(past.rejected(since, reasons, most), lambda document: _rejected(document, before))
    episodes = await dashboard.reader.opportunity_sums.episodes.recent(SPAN_SECONDS)
    below = tuple(one for one in episodes if one.reason == BELOW_THRESHOLD)
    whole, fields = await asyncio.to_thread(_effects, (*taken, *rejected), below, before, after, names)
    return WhatIfRow(
        since=since,
        settings_version=before.version,
        currency=dashboard.session.settlement_currency,
        taken=len(taken),
        all_taken=counts[0],
        rejected=len(rejected),
        all_rejected=counts[1],
        whole=whole,
        fields=fields,
        limits=list(LIMITS),
    )


async def _read(
    lists: AsyncIterator[list[Document]], value: Callable[[Document], PastDecision | None]
) -> list[PastDecision]:
    found: list[PastDecision] = []
    async for documents in lists:
        found += await asyncio.to_thread(_values, documents, value)
    return found


def _values(documents: Iterable[Document], value: Callable[[Document], PastDecision | None]) -> list[PastDecision]:
    """Return those that this version can read: an earlier one may have written them."""
    found: list[PastDecision] = []
    for document in documents:
        try:
            one = value(document)
        except (NoRecordError, StoreError, KeyError):
            continue
        if one is not None:
            found.append(one)
    return found


def _taken(document: Mapping[str, Any], settings: Settings) -> PastDecision | None:
    steps = document["steps"]
    if not steps:
        return None
    opportunity, amount = opportunity_of(document["opportunity"]), amount_of(document["amount"])
    net = (document.get("profit") or {}).get("net")
    rate, cost = opportunity.rate(opportunity.buy.quote_currency), amount * opportunity.buy.price
    return PastDecision(
        context=step_of(steps[0]["text"]).context(opportunity, settings),
        at=document["at"],
        worth=ZERO if net is None else amount_of(net),
        notional=cost if rate is None else rate.at_mid(cost),
    )


def _rejected(document: Mapping[str, Any], settings: Settings) -> PastDecision | None:
    if not document["opportunities"] or not document.get("record"):
        return None
    rejection, opportunity = rejection_of(document), opportunity_of(document["opportunities"][0])
    return PastDecision(
        context=rejection_record_of(rejection.record or "").known(opportunity, settings),
        at=rejection.rejected_at,
        reason=rejection.reason,
        worth=rejection.tradable,
    )


def _effects(
    decisions: Iterable[PastDecision],
    below: tuple[EpisodeSum, ...],
    before: Settings,
    after: Settings,
    names: Sequence[str],
) -> tuple[WhatIfEffectRow, list[WhatIfFieldRow]]:
    """Return the effect of all changes, and of each alone."""
    known = _Known(decided_alike(decisions, before), below)
    whole, fields = _effect_row(known, before, after), list[WhatIfFieldRow]()
    for name in names[:MOST_FIELDS]:
        alone = before.model_copy(update={name: getattr(after, name)})
        only = whole if len(names) == 1 else _effect_row(known, before, alone) if name in JUDGED else None
        fields.append(WhatIfFieldRow(field=name, effect=only if name in JUDGED else None))
    return whole, fields


def _effect_row(known: _Known, before: Settings, after: Settings) -> WhatIfEffectRow:
    effect = effect_of(known.decisions, before, after)
    below = _above_threshold(known.below, before, after)
    return WhatIfEffectRow(
        refused=_sum_rows(effect.refused),
        allowed=_sum_rows({**effect.allowed, **({BELOW_THRESHOLD: below} if below.count else {})}),
        smaller=effect.smaller.count,
        smaller_money=text_of(effect.smaller.money),
        at_most=effect.at_most,
    )


def _above_threshold(episodes: Iterable[EpisodeSum], before: Settings, after: Settings) -> CountedMoney:
    """Sum the episodes whose best sighting was below the threshold in force, and is not below the changed one."""
    found = CountedMoney()
    for one in episodes:
        pair = (one.base, one.buy_exchange, one.sell_exchange)
        least, most = (int(settings.threshold(*pair) * BINS_PER_BPS // 1) for settings in (after, before))
        if least <= one.bin < most:
            found = found.plus(one.episodes, one.missed)
    return found


def _sum_rows(sums: Mapping[str, CountedMoney]) -> list[WhatIfSumRow]:
    ordered = sorted(sums.items(), key=lambda item: (-item[1].count, item[0]))
    return [WhatIfSumRow(reason=reason, count=one.count, money=text_of(one.money)) for reason, one in ordered]
