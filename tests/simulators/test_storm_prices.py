"""The prices of a storm, and ladders: the same seed gives the same, books are never crossed."""

from itertools import pairwise

import pytest

from simulators.catalogue import EXCHANGES
from simulators.market.ladders import LEVELS, Ladder
from simulators.market.storm_prices import Prices
from simulators.matching.listings import listings_of

LISTINGS = {name: listings_of(name, ("BTC",)) for name in EXCHANGES}
STEP = 0.04
STORM_AFTER_2000_STEPS = {
    "coinbaseexchange": 59873.92094002008,
    "bitstamp": 59866.46313597192,
    "bitflyer": 59900.98180664494,
    "kraken": 59874.411321769534,
    "binance": 59924.419188420754,
    "bybit": 59811.395485064684,
    "okx": 59883.80586105089,
    "coinbase": 59801.57399890614,
}
STORM_LADDER_AFTER_300_STEPS = (
    [(599897, 19897000), (599886, 8875000)],
    [(600067, 8334000), (600102, 13747000)],
    None,
)


def path_of(seed: int, steps: int) -> list[dict[str, float]]:
    """Return dollar mids of the exchanges, step by step."""
    prices = Prices(seed, LISTINGS)
    euro, yen, tether = (row for row in LISTINGS["kraken"] if row.market.is_fx)
    path = []
    for _ in range(steps):
        prices.advance_latent(STEP)
        for name in EXCHANGES:
            prices.advance_exchange(name, STEP)
        dollars = {"USD": 1.0, "USDT": prices.mid(tether), "EUR": prices.mid(euro), "JPY": 1 / prices.mid(yen)}
        firsts = {name: LISTINGS[name][0] for name in EXCHANGES}
        path.append({name: prices.mid(row) * dollars[row.market.quote_currency] for name, row in firsts.items()})
    return path


def test_the_same_seed_gives_the_same_prices() -> None:
    assert path_of(7, 500) == path_of(7, 500)
    assert path_of(7, 500) != path_of(8, 500)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_dislocations_come_and_go(seed: int) -> None:
    gaps = [(max(row.values()) / min(row.values()) - 1) * 10_000 for row in path_of(seed, 5_000)]
    wide = [gap >= 25 for gap in gaps]
    starts = sum(now and not before for before, now in pairwise(wide))
    assert 0.1 < sum(wide) / len(wide) < 0.9
    # of eight exchanges one is mostly apart, so gaps begin less often
    assert starts > 25
    assert max(gaps) < 160


@pytest.mark.parametrize("listing", [row for rows in LISTINGS.values() for row in rows], ids=lambda row: row.market_id)
def test_ladders_are_whole_and_never_crossed(listing: object) -> None:
    row = next(row for rows in LISTINGS.values() for row in rows if row is listing)
    ladder, again = Ladder(row, 1), Ladder(row, 1)
    mid = row.start_price
    for step in range(500):
        mid *= 1 + (step % 7 - 3) * 1e-5
        bids, asks = ladder.levels(mid)
        assert (bids, asks) == again.levels(mid)
        assert ladder.taker(STEP) == again.taker(STEP)
        assert len(bids) == len(asks) == LEVELS
        prices = [ticks for ticks, _ in reversed(bids)] + [ticks for ticks, _ in asks]
        assert prices == sorted(set(prices))
        assert all(lots > 0 for _, lots in bids + asks)


def test_far_levels_mostly_stay_where_they_are() -> None:
    """Each change is a message to everybody who follows the book."""
    row, mid = LISTINGS["kraken"][0], 60_000.0
    ladder, changes, last = Ladder(row, 1), 0, dict[int, int]()
    for step in range(500):
        mid *= 1 + (step % 7 - 3) * 1e-5
        far = dict(ladder.levels(mid)[0][12:])
        changes += len(far.items() ^ last.items()) if last else 0
        last = far
    assert 0 < changes < 500


def test_a_storm_is_what_it_always_was() -> None:
    """Tests and chaos runs that need much trading count on it, step by step."""
    assert path_of(7, 2_000)[-1] == pytest.approx(STORM_AFTER_2000_STEPS, rel=1e-12)
    ladder, mid = Ladder(LISTINGS["kraken"][0], 1), 60_000.0
    for step in range(300):
        mid *= 1 + (step % 7 - 3) * 1e-5
        bids, asks = ladder.levels(mid)
        taken = ladder.taker(STEP)
    assert (bids[:2], asks[:2], taken) == STORM_LADDER_AFTER_300_STEPS
