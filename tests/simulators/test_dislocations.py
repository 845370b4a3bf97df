"""Dislocations: how often, how long, the first ones early, and who closes them."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from market.instruments.orders import Side, opposite
from runtime.clock import SystemClock
from session.simulated_market import MarketName
from simulators.market.chosen_market import ChosenMarket
from simulators.market.dislocations import Dislocations
from simulators.market.price_port import MarketOrder, MarketPrices
from simulators.market.terms import MARKET_TERMS
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade
from simulators.server import STEP_SECONDS, ExchangesOptions, SimulatedExchanges

STEP = 0.04
EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")


def dislocations(seed: int, name: MarketName = "busy") -> Dislocations:
    return Dislocations(seed, "BTC", EXCHANGES, MARKET_TERMS[name].dislocations)


def seen(dislocated: Dislocations, seconds: float) -> list[tuple[float, float, float]]:
    """Return when each began, how long it lasted and by how many bps it was away."""
    found, begun = [], {}
    for step in range(round(seconds / STEP)):
        now = step * STEP
        dislocated.advance(STEP)
        for exchange in EXCHANGES:
            dislocated.advance_exchange(exchange, STEP)
            away = dislocated.away(exchange)
            if away and exchange not in begun:
                begun[exchange] = (now, away)
            dislocated.taken(exchange)
            if exchange in begun and not dislocated.away(exchange):
                began, size = begun.pop(exchange)
                found.append((began, now - began, abs(size)))
    return found


def away_first(dislocated: Dislocations, *, is_cheap: bool) -> str:
    """Step until an exchange is away in that direction; return its name."""
    while True:
        dislocated.advance(STEP)
        for exchange in EXCHANGES:
            if dislocated.away(exchange) and (dislocated.away(exchange) < 0) == is_cheap:
                return exchange


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_some_a_minute_that_pay_fees_and_most_of_them_short(seed: int) -> None:
    found = seen(dislocations(seed), 3_600)
    tradable = [size for _, _, size in found if size > 28]
    assert 2 <= len(tradable) / 60 <= 10
    assert max(size for _, _, size in found) <= 75
    assert median(lasted for _, lasted, _ in found) <= 1
    assert max(lasted for _, lasted, _ in found) <= 7


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_in_every_five_seconds_of_the_first_minute_since_detection_starts_in_it(seed: int) -> None:
    began = [when for when, _, _ in seen(dislocations(seed), 60)]
    assert 2.5 < began[0] < 3.5
    windows = {int(when // 5) for when in began}
    assert len(windows) >= 11


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_after_detection_is_ready_comes_within_five_seconds_however_late_that_is(seed: int) -> None:
    dislocated = dislocations(seed)
    for _ in range(round(200 / STEP)):
        dislocated.prolong_opening()
        seen(dislocated, STEP)
    assert seen(dislocated, 12)[0][0] <= 5 + STEP


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_calm_market_rarely_pays_fees(seed: int) -> None:
    found = seen(dislocations(seed, "calm"), 3_600)
    assert len([size for _, _, size in found if size > 28]) / 60 < 0.3


@pytest.mark.parametrize(("is_cheap", "side", "other"), [(True, "buy", "sell"), (False, "sell", "buy")])
def test_one_ends_once_all_that_was_open_is_traded(is_cheap: bool, side: Side, other: Side) -> None:
    dislocated = dislocations(1)
    exchange = away_first(dislocated, is_cheap=is_cheap)
    dislocated.traded(exchange, other, 10_000_000)
    assert dislocated.away(exchange)
    dislocated.traded(exchange, side, 1)
    assert dislocated.away(exchange)
    dislocated.traded(exchange, side, 10_000_000)
    assert not dislocated.away(exchange)


class Watched:
    """The prices of a market, and what its competitors sent."""

    def __init__(self, prices: MarketPrices) -> None:
        self._prices = prices
        self.sent: list[tuple[Listing, MarketOrder]] = []

    def advance_latent(self, seconds: float) -> None:
        self._prices.advance_latent(seconds)

    def advance_exchange(self, name: str, seconds: float) -> None:
        self._prices.advance_exchange(name, seconds)

    def prolong_opening(self) -> None:
        self._prices.prolong_opening()

    def mid(self, listing: Listing) -> float:
        return self._prices.mid(listing)

    def heeds_trades(self, listing: Listing) -> bool:
        return self._prices.heeds_trades(listing)

    def orders(self, listing: Listing) -> Sequence[MarketOrder]:
        orders = self._prices.orders(listing)
        self.sent += [(listing, order) for order in orders]
        return orders

    def traded(self, listing: Listing, trades: Sequence[PublicTrade]) -> None:
        self._prices.traded(listing, trades)


async def test_competitors_take_what_is_open_and_the_price_is_back(tmp_path: Path) -> None:
    world = SimulatedExchanges.open(tmp_path, SystemClock(), ExchangesOptions(0, market=ChosenMarket("busy")))
    watched = Watched(world.prices)
    world.prices = watched
    taken = 0
    try:
        for _ in range(round(60 / STEP_SECONDS)):
            for gateway in world.gateways.values():
                market = next(row for row in gateway.exchange.listings.values() if not row.market.is_fx)
                symbol, before = market.market.symbol, watched.mid(market)
                last = max((trade.number for trade in gateway.exchange.tape.newest(symbol, 1)), default=0)
                count = len(watched.sent)
                world.step()
                for listing, (side, lots) in watched.sent[count:]:
                    assert listing.market.exchange == gateway.exchange.name
                    if listing != market:
                        continue
                    taken += 1
                    new = [trade for trade in gateway.exchange.tape.newest(symbol, 50) if trade.number > last]
                    bought = sum(trade.amount for trade in new if trade.side == side)
                    assert bought >= listing.amount(lots) or not gateway.exchange.books[symbol].levels(
                        opposite(side), 1
                    )
                    is_cheaper = watched.mid(listing) < before
                    assert is_cheaper == (side == "sell")
                    assert abs(watched.mid(listing) / before - 1) * 10_000 > 15
        assert taken >= 4
    finally:
        await world.close()
