"""Crosses of the simulated exchanges: asked for alone, near parity, and cycles within an exchange open and close."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby

import pytest

from market.instruments.cycles import Cycle, CycleTerms, watched_cycles
from session.simulated_market import MarketName
from simulators.kraken.rows import ledger_text
from simulators.market.chosen_market import ChosenMarket
from simulators.matching.listings import CROSSES, Listing, listings_of, opening_balances

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken", "binance", "okx")
BASES = ("BTC", "ETH", "SOL")
STEP = 0.1


def listed(*, has_crosses: bool) -> dict[str, tuple[Listing, ...]]:
    return {name: listings_of(name, BASES, has_crosses=has_crosses) for name in EXCHANGES}


def test_they_are_listed_if_they_are_asked_for() -> None:
    without, crosses = listed(has_crosses=False), listed(has_crosses=True)
    for name in EXCHANGES:
        count = len(without[name])
        assert crosses[name][:count] == without[name]
        more = crosses[name][count:]
        assert "ETH/BTC" in {row.market.symbol for row in more}
        assert {row.market for row in more} == {market for market in CROSSES if market.exchange == name}
        money = opening_balances(name, has_crosses=True)
        assert {code for row in more for code in (row.market.base, row.market.quote_currency)} <= money.keys()
        assert opening_balances(name).items() <= money.items()


def test_a_cost_in_a_coin_is_not_cut_to_nothing() -> None:
    row = next(one for one in listings_of("bitflyer", BASES, has_crosses=True) if one.market.symbol == "ETH/BTC")
    assert row.cost(row.ticks(Decimal("0.05")), row.lots(Decimal("0.01"))) == Decimal("0.0005")


def mids(
    name: MarketName, listings: dict[str, tuple[Listing, ...]], steps: int
) -> Iterator[dict[tuple[str, str], float]]:
    prices = ChosenMarket(name).prices(7, listings)
    for _ in range(steps):
        prices.advance_latent(STEP)
        for exchange, rows in listings.items():
            prices.advance_exchange(exchange, STEP)
            for row in rows:
                prices.orders(row)
        yield {(exchange, row.market.symbol): prices.mid(row) for exchange, rows in listings.items() for row in rows}


@pytest.mark.parametrize("name", ["calm", "busy"])
def test_other_prices_are_the_same_with_and_without_them(name: MarketName) -> None:
    without = mids(name, listed(has_crosses=False), 300)
    for one, other in zip(without, mids(name, listed(has_crosses=True), 300), strict=True):
        assert one.items() <= other.items()


def gain(cycle: Cycle, at: dict[tuple[str, str], float]) -> float:
    """Return the bps that the cycle brings at mids."""
    rate = 1.0
    for leg in cycle.legs:
        mid = at[leg.market.exchange, leg.market.symbol]
        rate *= 1 / mid if leg.side == "buy" else mid
    return (rate - 1) * 10_000


@pytest.mark.parametrize(("exchange", "fee_bps"), [("kraken", 10.0), ("binance", 10.0), ("coinbaseexchange", 10.0)])
def test_cycles_within_an_exchange_open_and_close(exchange: str, fee_bps: float) -> None:
    """Ten minutes of the busy market: gaps wider than three fees and spreads come, none stays, and between them crosses
    are at parity."""
    listings = listed(has_crosses=True)
    markets = [row.market for row in listings[exchange]]
    terms = CycleTerms(3, frozenset({exchange}), frozenset())
    cycles = watched_cycles(markets, terms, "USD", {exchange}).cycles
    path = [max(gain(cycle, at) for cycle in cycles) for at in mids("busy", listings, 6_000)]
    episodes = [len(list(run)) * STEP for pays, run in groupby(path, lambda bps: bps > 3 * fee_bps + 3) if pays]
    assert len(episodes) >= 10
    assert max(episodes) < 10
    assert sum(episodes) < 0.3 * len(path) * STEP
    assert sorted(path)[len(path) // 2] < 12


def test_kraken_keeps_balances_of_whatever_an_order_of_one_lot_moves() -> None:
    """Euros have four digits there: an order of eight would leave a balance that it cannot say."""
    markets = {row.market.symbol: row.market for row in listed(has_crosses=True)["kraken"]}
    assert {"EUR/USD", "USD/JPY", "BTC/USD", "ETH/BTC"} <= markets.keys()
    for market in markets.values():
        assert Decimal(ledger_text(market.base, market.lot_step)) == market.lot_step
