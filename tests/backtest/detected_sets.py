"""Logs as tick sets, cut into files and row groups at will, and what a plain loop finds in them."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from market.decide.settings import Settings
from market.instruments.markets import Market
from streams.message_format import settings_row
from tests.cep.detection.oracle import Row, Spread, as_written, written
from tick_sets.sets.manifest import Manifest, write_manifest
from tick_sets.sets.partition_writer import PartitionWriter
from tick_sets.sets.schema import ROW_GROUP_ROWS
from tick_sets.sets.tick_set import TickSet, batches, open_tick_set


@dataclass(frozen=True, slots=True)
class Cut:
    """So many files per base, with row groups of so many rows."""

    files: int
    row_group_rows: int


CUTS = (Cut(1, ROW_GROUP_ROWS), Cut(1, 61), Cut(4, 37))


def cut_set(folder: Path, cut: Cut, tables: dict[str, pa.Table], markets: tuple[Market, ...], currency: str) -> TickSet:
    """Write a set from `tables`: base → TICK_SCHEMA rows in the order of the log."""
    partitions = []
    for base, rows in tables.items():
        writer = PartitionWriter(folder, cut.row_group_rows)
        bounds = [len(rows) * number // cut.files for number in range(cut.files + 1)]
        for number, (start, end) in enumerate(pairwise(bounds)):
            if end > start:
                partitions.append(writer.write(f"2023-11-{number + 1:02}", base, rows.slice(start, end - start)))
    write_manifest(folder, Manifest("cut", "Cut", "generated", currency, markets, (), tuple(partitions), 0))
    return open_tick_set(folder)


def recut(tick_set: TickSet, cut: Cut, folder: Path) -> TickSet:
    """Return the same logs in other files."""
    manifest = tick_set.manifest
    tables = {base: pa.concat_tables(batches(tick_set, base)).unify_dictionaries() for base in manifest.bases}
    return cut_set(folder, cut, tables, manifest.markets, manifest.settlement_currency)


def messages_found(messages_df: DataFrame) -> dict[str, list[Row]]:
    """Return the messages of `detected` per base, in the order of the log and of the pairs."""
    found: dict[str, list[Row]] = {}
    for row in sorted(messages_df.toArrow().to_pylist(), key=lambda row: (row["base"], row["offset"], row["pair"])):
        message = written(row["value"])
        assert (row["key"], row["offset"]) == (message["base"], message["offset"])
        found.setdefault(row["base"], []).append(message)
    return found


def messages_wanted(spreads: "list[Spread | dict[str, Any]]", currency: str = "USD") -> dict[str, list[Row]]:
    """Return what the oracle says, in the same form; markers left out."""
    wanted: dict[str, list[Row]] = {}
    for spread in spreads:
        if isinstance(spread, Spread):
            wanted.setdefault(spread.base, []).append(as_written(spread, currency))
    return wanted


def messages_of_set(tick_set: TickSet, own: Settings) -> list[bytes]:
    """Return the log of a set of one base as feeders would have written it, after a row of `own` settings."""
    (base,) = tick_set.manifest.bases
    markets = {(market.exchange, market.symbol): market for market in tick_set.manifest.markets}
    messages = [settings_row(own, tick_set.manifest.start_time, (base,))]
    for rows in batches(tick_set, base):
        for row in rows.to_pylist():
            messages.append(_message(row, markets[row["exchange"], row["symbol"]], base))
    return messages


def _message(row: Row, market: Market, base: str) -> bytes:
    reported = {
        name: row[name] for name in ("kind", "exchange", "symbol", "exchange_time", "received_time", "sequence")
    }
    reported |= {"region": market.region, "base": market.base, "quote_currency": market.quote_currency}
    if row["bid"] is not None:
        for side in ("bid", "ask"):
            best = json.dumps([[row[side], row[f"{side}_amount"]]], separators=(",", ":"))
            reported |= {side: row[side], f"{side}_amount": row[f"{side}_amount"], f"{side}s": row[f"{side}s"] or best}
    if row["kind"].startswith("fx"):
        reported["bases"] = [base]
    return json.dumps(reported).encode()


def without_offsets(found: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the messages without offsets, because the same log stands at other ones."""
    return {base: [row | {"offset": None} for row in rows] for base, rows in found.items()}
