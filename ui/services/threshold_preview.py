"""Preview of another threshold on the last hours, from stored opportunities."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from typing_extensions import TypedDict

from market.decide.settings import Settings
from market.money import text_of, total
from store.aggregates.episode_sums import BELOW_THRESHOLD, BINS_PER_BPS, EpisodeSum
from store.aggregates.opportunity_sums import OutcomeSum
from ui.rows.opportunity import LedgerRow
from ui.services.dashboard import Dashboard
from ui.services.opportunity import ledger

Sum = TypeVar("Sum", OutcomeSum, EpisodeSum)

STEPS = 60
"""Maximum number of thresholds on the curve."""
LIMITS = (
    "Assets and pairs that have a threshold of their own now are left out: the general one does not move them.",
    "Of rejections only the first of a pair, reason and second is kept; the others are counted with it, at its spread.",
    "Those that pass a lower threshold would still face the later checks (age, limits, balances) and their sizing; "
    "none of them is asked here. Gained at most: one trade per episode.",
    "Profit is that of the best levels, before slippage and latency: of those taken for what was reserved, of the "
    "others for as much as one trade may use, once per episode.",
    "Below the threshold of what is shown nothing is emitted, so nothing is known.",
)


class PreviewSumRow(TypedDict):
    """Their number, and what they were expected to bring, settled: for taken ones what was reserved, for others the
    missed profit of their episodes, each once."""

    count: int
    expected: str


class TakenSumRow(PreviewSumRow):
    """`net`: the realised P&L of those that have ended."""

    net: str


class CurvePointRow(TypedDict):
    """At this threshold: taken opportunities that pass, and rejected ones that would pass (one per pair and second)."""

    min_net_bps: float
    kept: int
    kept_expected: float
    gained: int
    gained_expected: float


class PreviewRow(TypedDict):
    """Results at the threshold `min_net_bps` instead of those in force then: of the taken, `kept` pass it and `lost` do
    not; `gained` were rejected as below the threshold and pass it; `still_rejected` pass it too and failed another
    check."""

    min_net_bps: float
    hours: float
    current_min_net_bps: float | None
    emit_net_bps: float | None
    currency: str
    taken: TakenSumRow
    kept: TakenSumRow
    lost: TakenSumRow
    gained: PreviewSumRow
    gained_once_a_second: PreviewSumRow
    gained_episodes: PreviewSumRow
    still_rejected: list[LedgerRow]
    curve: list[CurvePointRow]
    limits: list[str]


async def threshold_preview(dashboard: Dashboard, min_net_bps: float, hours: float) -> PreviewRow:
    """Return the preview, to half a basis point, rounded down: sums are kept no finer. Raises StoreUnavailableError."""
    source, seconds = dashboard.reader.opportunity_sums, int(hours * 3_600)
    settings = dashboard.hub.settings
    sums = _moved(await source.recent(seconds), settings)
    untraded = [one for one in _moved(await source.episodes.recent(seconds), settings) if one.reason]
    below = [one for one in untraded if one.reason == BELOW_THRESHOLD]
    taken = [one for one in sums if one.outcome == "taken"]
    rejected = [one for one in sums if one.outcome == "rejected"]
    least = int(min_net_bps * BINS_PER_BPS // 1)
    gained = [one for one in rejected if one.why == BELOW_THRESHOLD and one.bin >= least]
    missed = [one for one in below if one.bin >= least]
    expected = text_of(total(one.missed for one in missed))
    return PreviewRow(
        min_net_bps=least / BINS_PER_BPS,
        hours=hours,
        current_min_net_bps=settings.min_net_bps if settings else None,
        emit_net_bps=settings.emit_net_bps if settings else None,
        currency=dashboard.session.settlement_currency,
        taken=_taken_row(taken),
        kept=_taken_row(one for one in taken if one.bin >= least),
        lost=_taken_row(one for one in taken if one.bin < least),
        gained=PreviewSumRow(count=sum(one.count for one in gained), expected=expected),
        gained_once_a_second=PreviewSumRow(count=sum(one.pair_seconds for one in gained), expected=expected),
        gained_episodes=PreviewSumRow(count=sum(one.episodes for one in missed), expected=expected),
        still_rejected=ledger(
            [one for one in rejected if one.why != BELOW_THRESHOLD and one.bin >= least],
            [one for one in untraded if one.reason != BELOW_THRESHOLD and one.bin >= least],
        ),
        curve=curve(taken, [one for one in rejected if one.why == BELOW_THRESHOLD], below),
        limits=list(LIMITS),
    )


def curve(
    taken: Sequence[OutcomeSum], below: Sequence[OutcomeSum], missed: Sequence[EpisodeSum]
) -> list[CurvePointRow]:
    """Return the curve, from the lowest spread known to just above the highest."""
    known = [one.bin for one in (*taken, *below)]
    if not known:
        return []
    lowest, highest = min(known), max(known) + 1
    step = -((lowest - highest) // STEPS) or 1
    return [
        CurvePointRow(
            min_net_bps=least / BINS_PER_BPS,
            kept=sum(one.count for one in taken if one.bin >= least),
            kept_expected=round(float(total(one.expected for one in taken if one.bin >= least)), 2),
            gained=sum(one.pair_seconds for one in below if one.bin >= least),
            gained_expected=round(float(total(one.missed for one in missed if one.bin >= least)), 2),
        )
        for least in range(lowest, highest + step, step)
    ]


def _moved(sums: Iterable[Sum], settings: Settings | None) -> list[Sum]:
    """Return those for which `min_net_bps` counts."""
    return [
        one
        for one in sums
        if settings is None or settings.own_threshold(one.base, one.buy_exchange, one.sell_exchange) is None
    ]


def _taken_row(sums: Iterable[OutcomeSum]) -> TakenSumRow:
    kept = list(sums)
    return TakenSumRow(
        count=sum(one.count for one in kept),
        expected=text_of(total(one.expected for one in kept)),
        net=text_of(total(one.net for one in kept)),
    )
