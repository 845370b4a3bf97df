"""As `latest`, over a region's log: rows that come again do not count, by `streams.mirrored_rows`.

An aggregate cannot ask whether an earlier row had a higher sequence. But the newest row that counts is the one with the
highest sequence, at its first place in the log; and a row counts if this is its own place. Rows of before the log's
first one of a source are known by a sequence below that. So it is equal to `UnrepeatedRows` wherever each source's rows
are in the order of their sequences but for those that come again, as a mirror leaves them.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cep.detection.latest import FX_FIELDS, QUOTE_FIELDS, ROW_FIELDS, newest_settings, position_of
from cep.detection.market_layout import Layout
from cep.detection.row_kinds import FX_KINDS, QUOTE_KINDS
from session.session import Session
from streams.mirrored_rows import REPEATED

PRICED, ALIVE, WITHDRAWN = ("quote", "fx"), ("alive", "fx_alive"), ("withdrawn", "fx_withdrawn")


@dataclass(frozen=True, slots=True)
class RateSource:
    """An FX market of the session. `route`: which of the layout its rates are for; None: of none."""

    exchange: str
    symbol: str
    route: int | None


def rate_sources(session: Session, layout: Layout) -> tuple[RateSource, ...] | None:
    """None if it has no regions: then no row comes again, and `latest` is all that is needed."""
    if session.place.region is None:
        return None
    routes = {route.symbol: number for number, route in enumerate(layout.routes)}
    return tuple(RateSource(one.exchange, one.symbol, routes.get(one.symbol)) for one in session.markets if one.is_fx)


def counted_by_state(rows_df: DataFrame, layout: Layout, rates: tuple[RateSource, ...]) -> DataFrame:
    """As `latest.latest_by_state`; a quote or rate that came again has the row kind REPEATED."""
    aggregates = counted_aggregates(layout, rates)
    return (
        rows_df.transform(with_source, layout, rates)
        .groupBy("base")
        .agg(*(aggregate.alias(name) for name, aggregate in aggregates))
        .transform(as_latest, layout, rates)
    )


def with_source(rows_df: DataFrame, layout: Layout, rates: tuple[RateSource, ...]) -> DataFrame:
    """Add `source`: the number of a slot, or behind those of a rate's source; null for other rows."""
    slots = [F.col("kind").isin(*QUOTE_KINDS) & (F.col("slot") == number) for number in range(len(layout.slots))]
    others = [
        F.col("kind").isin(*FX_KINDS) & (F.col("exchange") == one.exchange) & (F.col("symbol") == one.symbol)
        for one in rates
    ]
    return rows_df.withColumn("source", position_of([*slots, *others]))


def counted_aggregates(layout: Layout, rates: tuple[RateSource, ...]) -> list[tuple[str, Column]]:
    """Name and aggregate of each column but `base`, before `as_latest`."""
    named: list[tuple[str, Column]] = []
    for number in range(len(layout.slots) + len(rates)):
        fields = QUOTE_FIELDS if number < len(layout.slots) else FX_FIELDS
        is_own = F.col("source") == number
        prices = F.when(F.col("kind").isin(*PRICED), F.struct(*fields)).alias("prices")
        stated, confirmed = F.struct("offset", "sequence", prices), F.struct("offset", "sequence", "received_time")
        named.append((f"stated_{number}", _newest(stated, is_own & F.col("kind").isin(*PRICED, *WITHDRAWN))))
        named.append((f"confirmed_{number}", _newest(confirmed, is_own & F.col("kind").isin(*PRICED, *ALIVE))))
        named.append((f"first_{number}", F.min_by("sequence", F.when(is_own, F.col("offset")))))
    named.append(("settings", newest_settings()))
    named.append(("row", F.max_by(F.struct(*ROW_FIELDS, "source"), F.col("offset"))))
    return named


def as_latest(states_df: DataFrame, layout: Layout, rates: tuple[RateSource, ...]) -> DataFrame:
    """Return the columns of `latest.latest_by_state`."""
    slots, sources = len(layout.slots), len(layout.slots) + len(rates)
    stated, confirmed = ([_counted(name, number) for number in range(sources)] for name in ("stated", "confirmed"))
    columns: list[Column] = []
    for number in range(slots):
        columns.append(stated[number]["prices"].alias(f"quote_{number}"))
        columns.append(confirmed[number]["received_time"].alias(f"seen_{number}"))
    for route in range(len(layout.routes)):
        mine = [slots + number for number, one in enumerate(rates) if one.route == route]
        # structs are compared by their first fields first: of several exchanges the one whose row came last
        columns.append(F.array_max(F.array(*[stated[one] for one in mine]))["prices"].alias(f"fx_{route}"))
        last = F.array_max(F.array(*[confirmed[one] for one in mine]))
        columns.append(last["received_time"].alias(f"fx_seen_{route}"))
    places = F.array(*[one["offset"] for one in stated])
    is_priced, is_new = F.col("row.kind").isin(*PRICED), F.get(places, F.col("row.source")) == F.col("row.offset")
    is_repeated = is_priced & F.col("row.source").isNotNull() & ~F.coalesce(is_new, F.lit(False))
    kind = F.when(is_repeated, F.lit(REPEATED)).otherwise(F.col("row.kind")).alias("kind")
    row = F.struct(kind, *[F.col(f"row.{name}").alias(name) for name in ROW_FIELDS if name != "kind"])
    return states_df.select("base", *columns, "settings", row.alias("row"))


def _newest(fields: Column, counts: Column) -> Column:
    """Return the fields of the row with the highest sequence, at its first place."""
    order = F.struct(F.col("sequence"), (-F.col("offset")).alias("before"))
    return F.max_by(fields, F.when(counts, order))


def _counted(name: str, number: int) -> Column:
    """Null if it is a row of before the first one of its source."""
    newest = F.col(f"{name}_{number}")
    return F.when(newest["sequence"] >= F.col(f"first_{number}"), newest)
