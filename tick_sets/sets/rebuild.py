"""Rebuilds a tick set from its own rows, for imports and repairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tick_sets.errors import ImportRejectedError
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.rows.imported_markets import ImportedMarkets
from tick_sets.sets.assumptions import source_notes
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import ImportedSource, Manifest
from tick_sets.sets.source_rows import Ranks, SetMarkets, Span, rows_of_set
from tick_sets.sets.tick_set import TickSet

Progress = Callable[[str, int], None]
"""Called with the name of the step, and how many more rows of it are done."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays of a set: its sources, and the times of the rows that go."""

    sources: tuple[ImportedSource, ...]
    dropped: Mapping[MarketKey, Sequence[Span]] = field(default_factory=dict)


def keep_rows(
    builder: TickSetBuilder, before: TickSet, kept: Kept, markets: ImportedMarkets, ranks: Ranks, progress: Progress
) -> None:
    """Copy the rows that stay into `builder`; each market's rows go to what the market is compared as now."""
    sources = before.manifest.sources
    of_set = SetMarkets(
        numbered=frozenset(key_of(one) for one in sources if one.is_numbered),
        of_bars=frozenset(key_of(one) for one in sources if one.is_of_bars),
        bases={(one.exchange, one.symbol): one.base for one in markets.markets},
        dropped=kept.dropped,
    )
    for rows in rows_of_set(before, ranks, of_set):
        builder.add(rows)
        progress("what the set has", len(rows))


def key_of(source: ImportedSource) -> MarketKey:
    return str(source.exchange), str(source.symbol)


def manifest_of(
    name: str,
    settlement_currency: str,
    markets: ImportedMarkets,
    sources: tuple[ImportedSource, ...],
    before: Manifest | None,
) -> Manifest:
    """Return the manifest without its partitions. Raises ImportRejectedError if nothing is traded in the set."""
    every = markets.markets
    traded = ", ".join(f"{market.exchange} {market.symbol}" for market in every if not market.is_fx)
    if not traded:
        raise ImportRejectedError(
            "these files contain FX rates only, which belong to the logs of traded markets; "
            "import that first, or with them"
        )
    of_sources = (line for one in sources for line in (source_notes(one, before) if before else one.assumptions or ()))
    assumptions = (*(one.said for one in markets.alike), *markets.assumptions, *of_sources)
    return Manifest(
        name=name,
        title=f"Imported: {traded}",
        origin="import",
        settlement_currency=settlement_currency,
        markets=every,
        sources=sources,
        partitions=(),
        quotes=sum(source.rows for source in sources),
        assumptions=tuple(dict.fromkeys(assumptions)),
        alike=markets.alike,
    )
