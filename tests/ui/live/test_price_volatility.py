"""The volatility of a year from what the charts hold."""

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from market.time_units import MICROSECONDS
from tests.market.samples import USD_MARKET
from ui.live.price_series import PricePoint
from ui.live.price_volatility import annual_volatility
from ui.live.snapshot import MarketKey

SECOND_DEVIATION = 0.7 / math.sqrt(365.25 * 86_400)


def walk(seed: int, seconds: int) -> list[float]:
    random, price, mids = Random(seed), 60_000.0, []
    for _ in range(seconds):
        price *= 1 + random.gauss(0, SECOND_DEVIATION)
        mids.append(price)
    return mids


def points(mids: list[float], start: int = 0) -> tuple[PricePoint, ...]:
    return tuple(PricePoint((start + second) * MICROSECONDS, mid, mid) for second, mid in enumerate(mids))


def volatility(series: Mapping[MarketKey, tuple[PricePoint, ...]]) -> dict[str, float]:
    """Return the volatility of markets whose symbol names the base."""
    markets = [replace(USD_MARKET, exchange=name, symbol=one, base=one.split("/")[0]) for name, one in series]
    return annual_volatility(series, markets)


def test_it_is_that_of_the_price() -> None:
    series = {("kraken", "BTC/USD"): points(walk(1, 20_000))}
    assert volatility(series)["BTC"] == pytest.approx(0.7, rel=0.05)


def test_a_dislocation_of_one_market_is_no_move_of_the_price() -> None:
    mids = walk(1, 2_000)
    series: dict[MarketKey, tuple[PricePoint, ...]] = {
        (name, "BTC/USD"): points(mids) for name in ("kraken", "bitstamp", "coinbaseexchange")
    }
    quiet = volatility(series)
    torn = [mid * (1.004 if second % 20 == 10 else 1) for second, mid in enumerate(mids)]
    assert volatility({**series, ("bitflyer", "BTC/JPY"): points(torn)})["BTC"] == pytest.approx(quiet["BTC"], rel=0.1)
    assert volatility({("bitflyer", "BTC/JPY"): points(torn)})["BTC"] > 2 * quiet["BTC"]


def test_markets_that_began_at_different_times_are_compared_while_all_are_known() -> None:
    mids = walk(3, 400)
    series = {("kraken", "BTC/USD"): points(mids), ("bitstamp", "BTC/USD"): points(mids[100:], 100)}
    assert set(volatility(series)) == {"BTC"}


def test_none_before_a_minute_of_prices_and_for_a_market_without_any() -> None:
    series = {("kraken", "BTC/USD"): points(walk(1, 55)), ("kraken", "ETH/USD"): ()}
    assert volatility(series) == {}


def test_markets_of_one_asset_are_known_by_their_base_and_not_by_their_symbol() -> None:
    mids, other = walk(5, 400), replace(USD_MARKET, exchange="beta", symbol="MATIC/USDT:USDT", base="POL")
    markets = (replace(USD_MARKET, symbol="POL/USD", base="POL"), other)
    series: dict[MarketKey, tuple[PricePoint, ...]] = {(one.exchange, one.symbol): points(mids) for one in markets}
    assert set(annual_volatility(series, markets)) == {"POL"}
