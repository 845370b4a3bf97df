"""Turns rows of a file, or of an existing set, into what a builder of tick sets takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from market.instruments.markets import Market
from tick_sets.rows.arrow_columns import MarketKey, coded, kept, repeated, taken, with_column
from tick_sets.rows.checks import Judged
from tick_sets.rows.import_format import Format
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, batches

Span = tuple[int, int]
"""Microseconds UTC: from, and until before."""

_ORDER = ("withdrawn", "fx", "quote")
"""The order of kinds at one moment: older bars are withdrawn first, rates come before what they convert."""


class Ranks:
    """The order of markets at one and the same time, whatever order files are named in: a number for each kind of row
    of each market, and at the end its place among all."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str, str], int] = {}

    def number_of(self, kind: str, exchange: str, symbol: str) -> int:
        return self._numbers.setdefault((kind, exchange, symbol), len(self._numbers))

    def places(self) -> tuple[int, ...]:
        """Return the places, by number."""
        ordered = sorted(self._numbers, key=lambda key: (_ORDER.index(key[0]), *key[1:]))
        place = {key: number for number, key in enumerate(ordered)}
        return tuple(place[key] for key in self._numbers)


def source_rows(judged: Judged, market: Market, ranks: Ranks, of: Format) -> Iterator[pa.Table]:
    """Return rows of SOURCE_SCHEMA. Bars take the place of what is older at their moment, which is withdrawn first. A
    quote is withdrawn if a later row of its file cannot be true, as a live feed does it; a print or a bar stays what it
    was."""
    kind = "fx" if market.is_fx else "quote"
    columns = {name: judged.rows[name] for name in judged.rows.column_names}
    number = ranks.number_of(kind, market.exchange, market.symbol)
    if of.is_of_bars and not market.is_fx:
        first = ranks.number_of("withdrawn", market.exchange, market.symbol)
        times = {"received_time": columns["received_time"]}
        yield _source_table(len(judged.rows), market, "withdrawn", first, times)
    quotes = _source_table(len(judged.rows), market, kind, number, columns)
    if not judged.lost or "half_spread_bps" in of.needs:
        yield quotes
        return
    lost_times: dict[str, Any] = {"received_time": pa.array([lost.time for lost in judged.lost], pa.int64())}
    marks = _source_table(len(judged.lost), market, "fx_withdrawn" if market.is_fx else "withdrawn", number, lost_times)
    places = [2 * lost.place for lost in judged.lost]
    order = np.argsort(np.concatenate((2 * np.arange(len(quotes)) + 1, np.array(places, dtype=np.int64))))
    yield taken(pa.concat_tables([quotes, marks]).unify_dictionaries(), order)


def _source_table(rows: int, market: Market, kind: str, rank: int, columns: dict[str, Any]) -> pa.Table:
    given = columns | {
        "base": repeated(None if market.is_fx else market.base, rows),
        "rank": pa.array(np.full(rows, rank, dtype=np.int32)),
        "kind": repeated(kind, rows),
        "exchange": repeated(market.exchange, rows),
        "symbol": repeated(market.symbol, rows),
    }
    arrays = [given[field.name] if field.name in given else pa.nulls(rows, field.type) for field in SOURCE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SOURCE_SCHEMA)


@dataclass(frozen=True, slots=True)
class SetMarkets:
    """Markets of a set whose sources number quotes, those that are of bars, and what becomes of each."""

    numbered: frozenset[MarketKey]
    of_bars: frozenset[MarketKey]
    bases: Mapping[MarketKey, str]
    """What each is compared as; a market that is not among them is left out."""
    dropped: Mapping[MarketKey, Sequence[Span]] = field(default_factory=dict)
    """Times of rows that are left out."""

    def rank_kind(self, kind: str, key: MarketKey) -> str:
        """Return the kind to rank by: a bar's withdrawal comes before all that is new; any other stands among its
        quotes."""
        if kind == "withdrawn":
            return kind if key in self.of_bars else "quote"
        return "fx" if kind == "fx_withdrawn" else kind


def rows_of_set(tick_set: TickSet, ranks: Ranks, markets: SetMarkets) -> Iterator[pa.Table]:
    """Return the rows of an imported set as its sources gave them."""
    for place, base in enumerate(tick_set.manifest.bases):
        for rows in batches(tick_set, base):
            table = _as_given(rows, base, ranks, markets)
            # a row for every base stands in each base's log
            yield table if place == 0 else table.filter(table["base"].is_valid())


def _as_given(rows: pa.Table, base: str, ranks: Ranks, markets: SetMarkets) -> pa.Table:
    (kind_codes, kinds), (exchange_codes, exchanges), (symbol_codes, symbols) = (
        coded(rows, name) for name in ("kind", "exchange", "symbol")
    )
    shape = len(kinds), len(exchanges), len(symbols)
    combined = np.ravel_multi_index((kind_codes, exchange_codes, symbol_codes), shape)
    rank = np.zeros(len(rows), dtype=np.int32)
    is_numbered = np.zeros(len(rows), dtype=bool)
    is_kept = np.ones(len(rows), dtype=bool)
    bases, base_names = np.zeros(len(rows), dtype=np.int32), dict[str | None, int]()
    times = rows["received_time"].to_numpy()
    for code in np.flatnonzero(np.bincount(combined)).tolist():
        places = [int(part) for part in np.unravel_index(code, shape)]
        kind, key = kinds[places[0]], (exchanges[places[1]], symbols[places[2]])
        is_mine = combined == code
        rank[is_mine] = ranks.number_of(markets.rank_kind(kind, key), *key)
        is_numbered[is_mine] = kind in ("quote", "fx") and key in markets.numbered
        # a row for every base has none
        own_base = None if kind.startswith("fx") else markets.bases.get(key, base)
        bases[is_mine] = base_names.setdefault(own_base, len(base_names))
        is_kept[is_mine] = key in markets.bases
        for start, end in markets.dropped.get(key, ()):
            is_kept &= ~(is_mine & (times >= start) & (times < end))
    sequences = np.where(is_numbered, rows["sequence"].to_numpy(), 0)
    codes: Any = pa.array(bases)
    own_bases = pa.array(list(base_names), pa.string()).take(codes)
    table = rows.append_column("base", own_bases).append_column("rank", pa.array(rank))
    table = with_column(table, "sequence", pa.array(sequences))
    table = with_column(table, "offset", pa.nulls(len(rows), pa.int64()))
    return kept(table.select(SOURCE_SCHEMA.names).cast(SOURCE_SCHEMA), is_kept)
