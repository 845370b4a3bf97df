"""Detection over a tick set: the live definition of an opportunity, exact at every row, in tasks of Spark.

    tick set → pieces → [read columns, kernel, rows of what was found] → the live functions' messages

What comes out does not depend on the pieces, nor on the files, partitions or executors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from backtest.detect.detection_counts import BITS, BaseCounts, RunCounts
from backtest.detect.detection_pieces import pieces_of
from backtest.detect.detection_task import DetectionTask
from cep.detection.kernel.hits import HIT_TYPE, spreads_of_hits
from cep.detection.kernel.log import SettingsInForce, settings_in_force
from cep.detection.market_layout import Layout, layout
from cep.detection.opportunity_messages import opportunity_json
from market.decide.settings import Settings
from streams.message_format import settings_row
from tick_sets.sets.exchange_times import feed_delays, trusted_markets
from tick_sets.sets.tick_set import TickSet

K = TypeVar("K", int, str, tuple[str, str])

PIECES_PER_CORE = 4
"""More pieces than cores, so that no core has to wait long for one that others use too."""


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


def detected(spark: SparkSession, tick_set: TickSet, settings: Settings | None, pieces: int | None = None) -> DataFrame:
    """Return `base`, `offset`, `pair`, `key`, `value`: the messages that live CEP writes to `opportunities`, in no
    order.

    By base, `offset` and `pair` (place in the layout) they are in live order; markers are left out. `settings` hold
    from end to end; None: those of the log. `pieces`: how many tasks, by default a few per core. An id may come again.
    Raises LookupError if a market's currency cannot be converted.
    """
    return hits(spark, tick_set, settings, pieces).transform(_as_messages, layout_of_set(tick_set))


def hits(spark: SparkSession, tick_set: TickSet, settings: Settings | None, pieces: int | None = None) -> DataFrame:
    """Return the hits that `detected` writes its messages from, as `cep.detection.kernel.hits.HIT_TYPE`."""
    task = _task(spark, tick_set, settings, pieces)
    count = len(task.pieces)
    return spark.range(0, count, 1, max(count, 1)).mapInArrow(task.hits, HIT_TYPE)


def detection_summary(
    spark: SparkSession, tick_set: TickSet, settings: Settings | None, pieces: int | None = None
) -> DetectionSummary:
    """Return the summary of `detected`, counted in the tasks: text is not read and no message is written."""
    task = _task(spark, tick_set, settings, pieces)
    count = len(task.pieces)
    numbers = spark.sparkContext.parallelize(range(count), max(count, 1))
    runs: list[RunCounts] = numbers.mapPartitions(task.counts).collect()
    bases: dict[str, BaseCounts] = {}
    for run in runs:
        bases.setdefault(run.base, BaseCounts()).add(run)
    if all(counts.is_regular for counts in bases.values()):
        return _summary(bases, task.layout)
    return _summary_of_ids(hits(spark, tick_set, settings, pieces), bases, task.layout)


def layout_of_set(tick_set: TickSet) -> Layout:
    """Return the layout. Raises LookupError if a market's currency cannot be converted."""
    return layout(tick_set.manifest.markets, tick_set.manifest.settlement_currency)


def in_force(settings: Settings) -> SettingsInForce:
    """Return the settings as a reader of the log would get them."""
    return settings_in_force(settings_row(settings, 0, ()))


def _task(spark: SparkSession, tick_set: TickSet, settings: Settings | None, pieces: int | None) -> DetectionTask:
    wanted = pieces or PIECES_PER_CORE * spark.sparkContext.defaultParallelism
    return DetectionTask(
        pieces=tuple(pieces_of(tick_set, wanted)),
        layout=layout_of_set(tick_set),
        settings=None if settings is None else in_force(settings),
        trusted=trusted_markets(feed_delays(tick_set)),
    )


def _as_messages(hits_df: DataFrame, layout: Layout) -> DataFrame:
    return hits_df.transform(spreads_of_hits, layout).select(
        "base", "row.offset", "pair", F.col("base").alias("key"), opportunity_json(layout).alias("value")
    )


def _summary(bases: dict[str, BaseCounts], layout: Layout) -> DetectionSummary:
    counts = bases.values()
    pairs = [(pair, number) for base in counts for pair, number in base.by_pair.items()]
    return DetectionSummary(
        rows=sum(base.rows for base in counts),
        messages=sum(base.messages for base in counts),
        opportunities=sum(number for _, number in pairs),
        by_base={name: base.by_pair.total() for name, base in bases.items()},
        by_pair=_by_exchange(pairs, layout),
        net_bps_counts=_summed((floor, number) for base in counts for floor, number in base.net_bps.items()),
        net_bits=_net_bits(bases),
    )


def _summary_of_ids(hits_df: DataFrame, bases: dict[str, BaseCounts], layout: Layout) -> DetectionSummary:
    """Return the summary if sequences go back: by the ids themselves, the first message of each."""
    opportunity_id = F.get_json_object(opportunity_json(layout), "$.opportunity_id")
    place = F.struct("base", "row.offset", "pair")
    first_df = (
        hits_df.transform(spreads_of_hits, layout)
        .groupBy(opportunity_id.alias("id"))
        .agg(F.min_by(F.struct("base", "pair", F.floor("net_bps").alias("floor")), place).alias("first"))
    )
    counted = first_df.groupBy("first.base", "first.pair", "first.floor").count().collect()
    return DetectionSummary(
        rows=sum(base.rows for base in bases.values()),
        messages=sum(base.messages for base in bases.values()),
        opportunities=sum(row["count"] for row in counted),
        by_base=dict.fromkeys(bases, 0) | _summed((row["base"], row["count"]) for row in counted),
        by_pair=_by_exchange(((row["pair"], row["count"]) for row in counted), layout),
        net_bps_counts=_summed((row["floor"], row["count"]) for row in counted),
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
