"""Recorded files of one profile as columns: what `profile_recordings` reads quote by quote, if a look at whole columns
is enough for each file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from backtest.profile_recordings import check_enough, recorded_files
from backtest.replay_profiles import ReplayProfile
from market.instruments.markets import Market
from tick_sets.importers.hftbacktest import TickerSource
from tick_sets.importers.hftbacktest_columns import ticker_columns
from tick_sets.rows.arrow_columns import nulls, repeated, taken
from tick_sets.rows.contract_amounts import counts_base
from tick_sets.rows.quote_rows import Rejections
from tick_sets.sets.schema import SOURCE_SCHEMA


@dataclass(frozen=True, slots=True)
class RecordedColumns:
    """The fields of `Recording`, with its rows as columns of SOURCE_SCHEMA."""

    files: tuple[Path, ...]
    markets: tuple[Market, ...]
    rows: pa.Table
    rejected: dict[str, int]


def recorded_columns(profile: ReplayProfile, files: tuple[Path, ...]) -> RecordedColumns | None:
    """Return all rows by (received time, market, row); None if a file is of bars, of contracts, or not plain. Raises
    ImportRejectedError."""
    recorded, rejections = recorded_files(profile, files), Rejections()
    parts: list[tuple[Market, pa.Table]] = []
    for path, one in recorded:
        if not isinstance(one.source, TickerSource) or one.market.is_fx or not counts_base(one.market):
            return None
        rows = ticker_columns(path, one.source, rejections)
        if rows is None:
            return None
        parts.append((one.market, rows))
    fed = {(market.exchange, market.symbol) for market, rows in parts if len(rows)}
    markets = tuple(market for market in profile.markets if (market.exchange, market.symbol) in fed)
    check_enough(profile, markets)
    paths = tuple(path for path, _ in recorded)
    return RecordedColumns(paths, markets, _by_time(parts), dict(sorted(rejections.items())))


def _by_time(parts: Sequence[tuple[Market, pa.Table]]) -> pa.Table:
    """Return the rows by time; at one moment in the order of the files."""
    rows = pa.concat_tables([_source_rows(market, rows) for market, rows in parts]).unify_dictionaries()
    return taken(rows, np.argsort(rows["received_time"].to_numpy(), kind="stable"))


def _source_rows(market: Market, rows: pa.Table) -> pa.Table:
    count = len(rows)
    words = {"base": market.base, "kind": "quote", "exchange": market.exchange, "symbol": market.symbol}
    given: dict[str, Any] = {name: rows[name] for name in rows.column_names}
    given |= {name: repeated(word, count) for name, word in words.items()}
    given["rank"] = pa.array(np.zeros(count, dtype=np.int32))
    arrays = [given[one.name] if one.name in given else nulls(count, one.type) for one in SOURCE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SOURCE_SCHEMA)
