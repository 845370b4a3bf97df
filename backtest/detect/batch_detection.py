"""Detection over a tick set: the live definition of an opportunity, exact at every row, by workers of any kind.

    tick set → pieces → [read columns, kernel, rows of what was found] → files of what was found, and counts

What comes out does not depend on the pieces, nor on the files and workers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import floor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from backtest.detect.detection_counts import BITS, BaseCounts, RunCounts
from backtest.detect.detection_pieces import pieces_of
from backtest.detect.detection_task import DetectionTask
from backtest.detect.found_opportunities import FoundId, found_ids
from backtest.detect.workers import Report, Workers, report_nothing
from cep.detection.kernel.log import SettingsInForce, settings_in_force
from cep.detection.market_layout import Layout, layout
from market.decide.settings import Settings
from streams.message_format import settings_row
from tick_sets.sets.exchange_times import feed_delays, trusted_markets
from tick_sets.sets.tick_set import TickSet

K = TypeVar("K", int, str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class DetectionSummary:
    """Counts are of distinct opportunity ids, the first message of each; pairs of exchanges as (buy, sell)."""

    rows: int
    """Rows of the logs; those for every base are counted once per base."""
    messages: int
    """Opportunities of ids that came again with an FX or settings row included."""
    opportunities: int
    by_base: dict[str, int]
    by_pair: dict[tuple[str, str], int]
    net_bps_counts: dict[int, int]
    """By net bps, floored to whole ones."""
    net_bits: int = 0
    """Sum over the messages of the 64 bits of their net bps, modulo 2^64: two runs that agree found the same to the
    last bit."""


def store_found(
    workers: Workers,
    tick_set: TickSet,
    settings: Settings | None,
    folder: Path,
    pieces: int | None = None,
    report: Report = report_nothing,
) -> DetectionSummary:
    """Write what is found to `folder`, which the workers must reach too, for `found_opportunities`; return its counts.

    `settings` hold from end to end; None: those of the log. `pieces`: how many, by default what suits the workers.
    Raises LookupError if a market's currency cannot be converted, WorkersStoppedError, and ImportRejectedError if the
    set cannot be read.
    """
    task = task_for(tick_set, settings, pieces or workers.pieces)
    folder.mkdir(parents=True, exist_ok=True)
    bases = _by_base(workers.run(partial(task.stored, folder), len(task.pieces), report))
    if all(counts.is_regular for counts in bases.values()):
        return _summary(bases, task.layout)
    return _summary_of_ids(found_ids(folder), bases, task.layout)


def detection_summary(
    workers: Workers, tick_set: TickSet, settings: Settings | None, pieces: int | None = None
) -> DetectionSummary:
    """Return the counts alone: text is not read and nothing is written, unless sequences go back. Raises as
    above."""
    task = task_for(tick_set, settings, pieces or workers.pieces)
    bases = _by_base(workers.run(task.counts, len(task.pieces), report_nothing))
    if all(counts.is_regular for counts in bases.values()):
        return _summary(bases, task.layout)
    with TemporaryDirectory(prefix="detection-") as folder:
        return store_found(workers, tick_set, settings, Path(folder), pieces)


def layout_of_set(tick_set: TickSet) -> Layout:
    """Return the layout. Raises LookupError if a market's currency cannot be converted."""
    return layout(tick_set.manifest.markets, tick_set.manifest.settlement_currency)


def in_force(settings: Settings) -> SettingsInForce:
    """Return the settings as a reader of the log would get them."""
    return settings_in_force(settings_row(settings, 0, ()))


def task_for(tick_set: TickSet, settings: Settings | None, pieces: int) -> DetectionTask:
    """Return the task of each worker; `pieces` at most."""
    return DetectionTask(
        pieces=tuple(pieces_of(tick_set, pieces)),
        layout=layout_of_set(tick_set),
        settings=None if settings is None else in_force(settings),
        trusted=trusted_markets(feed_delays(tick_set)),
    )


def _by_base(runs: Iterable[RunCounts]) -> dict[str, BaseCounts]:
    bases: dict[str, BaseCounts] = {}
    for run in runs:
        bases.setdefault(run.base, BaseCounts()).add(run)
    return bases


def _summary(bases: dict[str, BaseCounts], layout: Layout) -> DetectionSummary:
    counts = bases.values()
    pairs = [(pair, number) for base in counts for pair, number in base.by_pair.items()]
    return DetectionSummary(
        rows=sum(base.rows for base in counts),
        messages=sum(base.messages for base in counts),
        opportunities=sum(number for _, number in pairs),
        by_base={name: base.by_pair.total() for name, base in bases.items()},
        by_pair=_by_exchange(pairs, layout),
        net_bps_counts=_summed((whole, number) for base in counts for whole, number in base.net_bps.items()),
        net_bits=_net_bits(bases),
    )


def _summary_of_ids(found: Iterable[FoundId], bases: dict[str, BaseCounts], layout: Layout) -> DetectionSummary:
    """Return the summary if sequences go back: by the ids themselves, the first message of each."""
    first: dict[str, tuple[str, int, int, int]] = {}
    for one in found:
        place = (one.base, one.offset, one.pair, floor(one.net_bps))
        known = first.get(one.opportunity_id)
        first[one.opportunity_id] = place if known is None else min(known, place)
    return DetectionSummary(
        rows=sum(base.rows for base in bases.values()),
        messages=sum(base.messages for base in bases.values()),
        opportunities=len(first),
        by_base=dict.fromkeys(bases, 0) | _summed((base, 1) for base, *_ in first.values()),
        by_pair=_by_exchange(((pair, 1) for _, _, pair, _ in first.values()), layout),
        net_bps_counts=_summed((net_bps, 1) for *_, net_bps in first.values()),
        net_bits=_net_bits(bases),
    )


def _net_bits(bases: dict[str, BaseCounts]) -> int:
    return sum(base.net_bits for base in bases.values()) % BITS


def _by_exchange(pairs: Iterable[tuple[int, int]], layout: Layout) -> dict[tuple[str, str], int]:
    names = [(layout.slots[buy].exchange, layout.slots[sell].exchange) for buy, sell in layout.pairs]
    return _summed((names[pair], number) for pair, number in pairs)


def _summed(counts: Iterable[tuple[K, int]]) -> dict[K, int]:
    """Return the sums in order, without zeros."""
    sums: dict[K, int] = {}
    for key, number in counts:
        sums[key] = sums.get(key, 0) + number
    return {key: sums[key] for key in sorted(sums) if sums[key]}
