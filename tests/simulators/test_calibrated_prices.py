"""The calibrated markets: their efficient price and bases over simulated hours, tapes, and the same again by seed."""

import math
from array import array
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from session.simulated_market import MarketName
from simulators.market.chosen_market import ChosenMarket
from simulators.market.efficient_prices import YEAR_SECONDS, DrawnPrices, EfficientPrices, Tape, TapePrices
from simulators.market.terms import MARKET_TERMS
from simulators.matching.listings import listings_of

STEP = 0.05
EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
LISTINGS = {name: listings_of(name, ("BTC",)) for name in EXCHANGES}


def log_path(prices: EfficientPrices, seconds: int, every: float = 1.0) -> list[float]:
    """Return log prices of BTC, one each `every` seconds."""
    path = []
    for _ in range(round(seconds / every)):
        path.append(prices.log_prices["BTC"])
        for _ in range(round(every / STEP)):
            prices.advance(STEP)
    return path


def differences(path: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(path)]


def correlation(values: list[float]) -> float:
    mean = fmean(values)
    products = [(one - mean) * (other - mean) for one, other in pairwise(values)]
    return fmean(products) / pstdev(values) ** 2


@pytest.mark.parametrize("name", ["calm", "busy"])
def test_the_efficient_price_has_the_volatility_and_tails_of_recorded_ones(name: MarketName) -> None:
    terms = MARKET_TERMS[name].price
    returns = differences(log_path(DrawnPrices(5, {"BTC": 60_000.0}, terms), 4 * 3_600))
    deviation = pstdev(returns)
    kurtosis = fmean(one**4 for one in returns) / deviation**4
    assert 0.5 <= terms.annual_volatility <= 0.8
    assert deviation * math.sqrt(YEAR_SECONDS) == pytest.approx(terms.annual_volatility, rel=0.15)
    assert 7 < kurtosis < 60
    assert abs(correlation(returns)) < 0.05


def test_each_exchange_has_its_own_basis_for_minutes() -> None:
    """Without dislocations, two exchanges differ by their bases, which half a minute hardly changes."""
    market = ChosenMarket("calm")
    prices = market.prices(3, LISTINGS)
    first, second = LISTINGS["coinbaseexchange"][0], LISTINGS["kraken"][0]
    gaps = []
    for _ in range(3_600):
        for _ in range(10):
            prices.advance_latent(0.1)
            for name in EXCHANGES:
                prices.advance_exchange(name, 0.1)
                for row in LISTINGS[name]:
                    prices.orders(row)
        gaps.append((prices.mid(first) / prices.mid(second) - 1) * 10_000)
    quiet = [gap for gap in gaps if abs(gap) < 8]
    assert len(quiet) > 0.95 * len(gaps)
    assert 1 < pstdev(quiet) < 4
    lagged = [(one, other) for one, other in zip(gaps, gaps[30:], strict=False) if max(abs(one), abs(other)) < 8]
    mean = fmean(quiet)
    assert fmean((one - mean) * (other - mean) for one, other in lagged) > 0.5 * pstdev(quiet) ** 2


@pytest.mark.parametrize("name", ["calm", "busy", "storm"])
def test_the_same_seed_and_steps_give_the_same_prices(name: MarketName) -> None:
    def path(seed: int) -> list[float]:
        market = ChosenMarket(name)
        prices, mids = market.prices(seed, LISTINGS), []
        for _ in range(400):
            for exchange in EXCHANGES:
                prices.advance_latent(STEP / len(EXCHANGES))
                prices.advance_exchange(exchange, STEP)
                mids += [prices.mid(row) for row in LISTINGS[exchange]]
                mids += [lots for row in LISTINGS[exchange] for _, lots in prices.orders(row)]
        return mids

    assert path(7) == path(7)
    assert path(7) != path(8)


def taped(*dollars: float) -> Tape:
    return Tape("made up", 1.0, {"BTC": array("d", dollars)})


def drawn_ether() -> DrawnPrices:
    return DrawnPrices(1, {"ETH": 3_000.0}, MARKET_TERMS["busy"].price)


def test_what_a_tape_does_not_have_is_drawn() -> None:
    prices, drawn = TapePrices(taped(100, 101), drawn_ether()), drawn_ether()
    for _ in range(1_000):
        prices.advance(STEP)
        drawn.advance(STEP)
    assert prices.log_prices["ETH"] == drawn.log_prices["ETH"] != math.log(3_000)


def test_a_tape_is_followed_in_its_own_time_and_runs_backwards_at_its_end() -> None:
    prices = TapePrices(taped(100, 101, 103, 106), drawn_ether())
    prices.advance(0.5)
    path = [round(math.exp(log_price)) for log_price in log_path(prices, 10)]
    assert path == [100, 101, 103, 106, 103, 101, 100, 101, 103, 106]


def test_a_tape_of_one_price_stands_still() -> None:
    assert set(log_path(TapePrices(taped(100), drawn_ether()), 3)) == {math.log(100)}


def test_exchanges_start_at_the_tapes_price_in_their_own_currency() -> None:
    market = ChosenMarket("busy", taped(40_000, 40_001))
    listings = market.listed(LISTINGS)
    prices = market.prices(1, listings)
    dollars = {"USD": 1.0, "EUR": 1.08, "JPY": 1 / 150}
    for rows in listings.values():
        traded = rows[0]
        assert prices.mid(traded) * dollars[traded.market.quote_currency] == pytest.approx(40_000, rel=0.001)
