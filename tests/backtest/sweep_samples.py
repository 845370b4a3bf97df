"""A made-up log as a tick set, and what a plain loop finds in it under any settings."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from backtest.parameters import Balances, Latency, Parameters
from backtest.simulate.trade_simulation import trading_order
from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from streams.message_format import opportunity_of, row_of, settings_row
from tests.cep.detection.oracle import Spread, as_written, expected_output
from tests.cep.logs import BASES, MARKETS, START, LogMaker, session, settings
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

CASH = {"USD": Decimal(1_000_000), "EUR": Decimal(925_000), "JPY": Decimal(150_000_000)}


def log_of(seed: int, rows: int) -> list[bytes]:
    """Return quotes, rates and marks, without settings of its own."""
    messages = LogMaker(seed).write(rows)
    return [message for message in messages if row_of(message)["kind"] not in ("settings", "probe", "end")]


def tick_set_of(messages: list[bytes], folder: Path) -> TickSet:
    manifest = Manifest("made-up", "made-up ticks", "generated", "USD", MARKETS, (), (), len(messages))
    with TickSetBuilder(folder, BASES) as builder:
        rows = [_source_row(row_of(message)) for message in messages]
        builder.add(pa.Table.from_pylist(rows, schema=SOURCE_SCHEMA))
        builder.finish(manifest)
    return open_tick_set(folder)


def found_alone(messages: list[bytes], under: Settings) -> list[Opportunity]:
    """Return what detection with these settings alone emits, in the order of trading."""
    found: list[Opportunity] = []
    for base in BASES:
        mine = [message for message in messages if base in _bases_of(message)]
        for spread in expected_output([settings_row(under, START, (base,)), *mine], session()):
            if isinstance(spread, Spread) and spread.base == base:
                # the row of settings, which the tick set does not have, took the first number
                one = opportunity_of(as_written(spread) | {"offset": spread.offset - 1}, spread.event_time)
                assert isinstance(one, Opportunity)
                found.append(one)
    return sorted(found, key=trading_order)


def parameters_of(**changed: object) -> Parameters:
    exchanges = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
    balances: Balances = {name: {**CASH, "BTC": Decimal(20), "ETH": Decimal(400)} for name in exchanges}
    latency = {name: Latency(20.0) for name in exchanges}
    return Parameters(Settings.model_validate(settings().model_dump() | changed), balances, latency)


def _bases_of(message: bytes) -> list[str]:
    row = row_of(message)
    return list(row.get("bases") or [row["base"]])


def _source_row(row: dict[str, object]) -> dict[str, object]:
    reported = {name: row.get(name) for name in SOURCE_SCHEMA.names}
    reported |= {"base": None if row.get("bases") else row["base"], "rank": 0}
    if row.get("bid"):
        reported |= {"bid_price": float(str(row["bid"])), "ask_price": float(str(row["ask"]))}
    return reported
