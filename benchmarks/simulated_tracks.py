"""Quotes of a simulated market without its exchanges: prices and ladders stepped at full speed, in dollars."""

from dataclasses import dataclass

import numpy as np

from benchmarks.market_moments import Numbers, Track, depth_within
from market.instruments.markets import Market
from session.simulated_market import MarketName
from simulators.market.chosen_market import ChosenMarket
from simulators.market.ladders import Ladder
from simulators.market.price_port import MarketPrices
from simulators.matching.listings import Listing, listings_of
from simulators.server import STEP_SECONDS

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
_DEPTH_EVERY = 26


@dataclass(frozen=True, slots=True)
class SimulatedTrack:
    """Track of one exchange; `depths`: median dollars of a side within 5 and 10 bps."""

    track: Track
    depths: tuple[float, float]


def simulated_tracks(name: MarketName, minutes: float, seed: int = 1) -> list[SimulatedTrack]:
    """Return BTC on the exchanges of a paper session; each steps once every STEP_SECONDS."""
    market = ChosenMarket(name)
    listings = market.listed({exchange: listings_of(exchange, ("BTC",)) for exchange in EXCHANGES})
    prices = market.prices(seed, listings)
    firsts = [listings[exchange][0] for exchange in EXCHANGES]
    ladders = [Ladder(row, seed, market.shape(row)) for row in firsts]
    rates = {row.market.symbol: row for row in listings["kraken"] if row.market.is_fx}
    steps = round(minutes * 60 / STEP_SECONDS)
    bests = np.zeros((len(firsts), 2, steps))
    depths: list[list[tuple[float, float]]] = [[] for _ in firsts]
    for step in range(steps):
        for number, row in enumerate(firsts):
            prices.advance_latent(STEP_SECONDS / len(firsts))
            prices.advance_exchange(row.market.exchange, STEP_SECONDS)
            levels = ladders[number].levels(prices.mid(row))
            prices.orders(row)
            tick = float(row.market.tick_size) * _dollars(prices, rates, row.market)
            bests[number, :, step] = levels[0][0][0] * tick, levels[1][0][0] * tick
            if step % _DEPTH_EVERY == 0:
                depths[number].append(_depths(row, levels[1], tick, float(bests[number, :, step].mean())))
    times: Numbers = np.arange(steps, dtype=np.float64) * STEP_SECONDS
    return [
        SimulatedTrack(
            Track(row.market.exchange, times, bests[number, 0], bests[number, 1]),
            (
                float(np.median([near for near, _ in depths[number]])),
                float(np.median([far for _, far in depths[number]])),
            ),
        )
        for number, row in enumerate(firsts)
    ]


def _depths(row: Listing, asks: list[tuple[int, int]], tick: float, mid: float) -> tuple[float, float]:
    lot = float(row.market.lot_step)
    levels = [(ticks * tick, lots * lot) for ticks, lots in asks]
    return depth_within(mid, levels, 5), depth_within(mid, levels, 10)


def _dollars(prices: MarketPrices, rates: dict[str, Listing], market: Market) -> float:
    currency = market.quote_currency
    if currency == "USD":
        return 1.0
    direct = rates.get(f"{currency}/USD")
    return prices.mid(direct) if direct is not None else 1 / prices.mid(rates[f"USD/{currency}"])
