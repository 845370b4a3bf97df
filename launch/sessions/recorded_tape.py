"""The simulated market that a session is started with, and its tape, read out of a tick set: of each asset the mids of
one market of the set, ten a second."""

from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from exchanges.simulated_coins import START_DOLLARS
from launch.errors import CannotStartError
from launch.sessions.tick_set_names import named_set
from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from session.simulated_market import MarketName, SimulatedMarket
from simulators.market.efficient_prices import Tape
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.tick_set import TickSet, batches, is_of_market, open_tick_set

STEP_SECONDS = 0.1
_COLUMNS = ["kind", "exchange", "symbol", "received_time", "bid_price", "ask_price"]
_DOLLARS = {**dict.fromkeys(("USD", "USDT", "USDC", "BUSD"), 1.0), **START_DOLLARS}
"""Nearest first. A stablecoin counts as its dollar; other currencies at the rate that the exchanges start with."""

Numbers = npt.NDArray[np.float64]


def tape_markets(tick_set: TickSet, bases: Iterable[str]) -> dict[str, Market]:
    """Return the market of the set that drives each asset: the one whose quote currency is nearest to the dollar.
    Raises ImportRejectedError, one sentence, if an asset has none."""
    return {base: _market_of(tick_set, base) for base in bases}


def tape_in(folder: Path, bases: Iterable[str]) -> Tape:
    """Return the tape of the tick set in `folder`. Raises CannotStartError if that is gone or damaged."""
    try:
        return tape_of(open_tick_set(folder), bases)
    except ImportRejectedError as error:
        raise CannotStartError(f"--tape: {error}") from error


def tape_of(tick_set: TickSet, bases: Iterable[str]) -> Tape:
    """Read the whole set. Raises ImportRejectedError if an asset has no usable quote at the time of the others."""
    read = {base: _mids(tick_set, market) for base, market in tape_markets(tick_set, bases).items()}
    start = max(times[0] for times, _ in read.values())
    end = min(times[-1] for times, _ in read.values())
    if end <= start:
        raise ImportRejectedError(f"{tick_set.manifest.name}: has no time at which all of its assets have prices.")
    grid = np.arange(start, end, STEP_SECONDS * MICROSECONDS)
    dollars = {
        base: array("d", mids[np.searchsorted(times, grid, side="right") - 1]) for base, (times, mids) in read.items()
    }
    return Tape(tick_set.manifest.name, STEP_SECONDS, dollars)


def _market_of(tick_set: TickSet, base: str) -> Market:
    manifest = tick_set.manifest
    markets = [one for one in manifest.markets if not one.is_fx and one.base == base]
    for currency in _DOLLARS:
        for market in markets:
            if market.quote_currency == currency:
                return market
    if markets:
        known = ", ".join(_DOLLARS)
        raise ImportRejectedError(f"{manifest.name}: {base} is quoted in none of {known}; choose another tape.")
    raise ImportRejectedError(f"{manifest.name}: has no {base}, only {', '.join(manifest.bases)}; choose another tape.")


def _mids(tick_set: TickSet, market: Market) -> tuple[Numbers, Numbers]:
    """Return times in microseconds and mids in dollars."""
    rows = pa.concat_tables(_quotes(part, market) for part in batches(tick_set, market.base, _COLUMNS))
    if not rows.num_rows:
        raise ImportRejectedError(f"{tick_set.manifest.name}: has no quote of {market.exchange} {market.symbol}.")
    bids, asks = (rows[name].to_numpy() for name in ("bid_price", "ask_price"))
    return rows["received_time"].to_numpy().astype(np.float64), (bids + asks) / 2 * _DOLLARS[market.quote_currency]


def _quotes(rows: pa.Table, market: Market) -> pa.Table:
    is_quote = pc.is_in(rows["kind"], pa.array(["quote"]))
    return rows.filter(pc.and_(is_quote, is_of_market(rows, market))).select(
        ["received_time", "bid_price", "ask_price"]
    )


def tape_driven(home: Path, name: MarketName, tape: str, markets: Iterable[Market]) -> SimulatedMarket:
    """Return the market; `tape` is a tick set's or a recorded session's name. Raises CannotStartError, one sentence, if
    it lacks an asset of the `markets`."""
    if name == "storm":
        raise CannotStartError("--tape: a storm draws its own prices; choose --market calm or busy.")
    try:
        tick_set = named_set(home, (tape,))
        tape_markets(tick_set, {market.base for market in markets if not market.is_fx})
    except (CannotStartError, ImportRejectedError) as error:
        raise CannotStartError(f"--tape: {error}") from error
    return SimulatedMarket(name, tick_set.manifest.name, tick_set.folder.resolve())
