"""Rate limits in a backtest: the rules of live bots, by the documented limits of the exchanges of the catalogue."""

from dataclasses import replace
from decimal import Decimal

import pytest

from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.trade_simulation import trade
from market.prices.opportunities import Opportunity
from tests.backtest.trading_samples import (
    DEAR,
    EASY,
    MILLISECOND,
    SECOND,
    START,
    Book,
    counts,
    parameters_of,
    tape_with,
    tick,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

KRAKEN, BITSTAMP = replace(USD_MARKET, exchange="kraken"), replace(EUR_MARKET, exchange="bitstamp")
"""Kraken's limits bear three legs at once and six a minute."""
MARKETS = (KRAKEN, BITSTAMP)
OPENING = {
    "kraken": {"USD": Decimal(2_000_000), "BTC": Decimal(30)},
    "bitstamp": {"EUR": Decimal(2_000_000), "BTC": Decimal(30)},
}
WIDE, NARROW = "6000", "6150"
"""Asks on Kraken; Bitstamp pays 6,179."""
PROFITS = {WIDE: 165.0, NARROW: 15.0}


def found(number: int, price: str, every: int = 2 * SECOND, dear: Book = DEAR) -> Opportunity:
    time = START + number * every
    books = (KRAKEN, levels((price, f"1.{number}"), ("6170", "1"))), (BITSTAMP, levels(*dear))
    one = opportunity_of(*books, identity=f"{number:02}", event_time=time, sequence=time)
    return replace(one, expected_profit=PROFITS[price])


def traded(prices: list[str], share: float = 1.0, *, rate_limits: bool = True) -> TradingOutcome:
    """Return what came of one gap at each of these prices, two seconds apart; each is shown anew."""
    opportunities = [found(number, price) for number, price in enumerate(prices)]
    rows = []
    for number, (one, price) in enumerate(zip(opportunities, prices, strict=True)):
        asks = ((price, f"1.{number}"), ("6170", "1"))
        rows.append(tick(KRAKEN, one.event_time, bids=(("5990", "1"), ("5980", "1")), asks=asks))
        bids = (("5618", f"1.{number}"), ("5600", "1"))
        rows.append(tick(BITSTAMP, one.event_time, bids=bids, asks=(("5700", "1"), ("5710", "1"))))
    settings = settings_of(
        **EASY,
        place_value_share=share,
        enabled_exchanges=("kraken", "bitstamp"),
        taker_fees={"kraken": Decimal("0.001"), "bitstamp": Decimal("0.0012")},
    )
    parameters = parameters_of(settings, balances=OPENING, latency={}, rate_limits=rate_limits)
    return trade(opportunities, tape_with(rows, markets=MARKETS), MARKETS, parameters)


def test_without_the_option_nothing_is_limited() -> None:
    outcome = traded([WIDE] * 20, rate_limits=False)
    assert (len(outcome.arbitrages), counts(outcome)) == (20, {})


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_no_more_legs_begin_than_the_limits_bear(share: float) -> None:
    outcome = traded([WIDE] * 60, share)
    times = [one.times["reserved"] for one in outcome.arbitrages]
    assert outcome.is_balanced
    assert len(times) >= 9, "nobody is starved: two minutes bring twelve"
    for first in times:
        within = [time for time in times if 0 <= time - first < 60 * SECOND]
        assert len(within) <= 3 + 6
    rejected = counts(outcome)
    assert rejected.keys() == ({"rate_budget"} if share == 0 else rejected.keys() & {"outbid", "rate_budget"})
    assert sum(rejected.values()) + len(times) == 60


def test_places_kept_for_better_trades_bring_more() -> None:
    """One gap in five is wide; whoever comes first takes its place otherwise."""
    prices = ([NARROW] * 4 + [WIDE]) * 24
    first_come, by_value = traded(prices, 0.0), traded(prices, 1.0)
    assert by_value.profit.net > first_come.profit.net * Decimal("1.5")
    assert counts(by_value)["outbid"] > 50
    assert by_value == traded(prices, 1.0), "a backtest repeats itself"


@pytest.mark.parametrize(("rate_limits", "begun"), [(False, "first"), (True, "second")])
def test_of_what_is_found_at_one_moment_the_best_gets_the_place(rate_limits: bool, begun: str) -> None:
    narrow = replace(found(0, NARROW), opportunity_id="first")
    books = (BITSTAMP, levels(("5300", "1"))), (KRAKEN, levels(("6000", "1")))
    wide = opportunity_of(*books, identity="second", event_time=START, sequence=START)
    settings = settings_of(
        **EASY,
        max_open_arbitrages=1,
        enabled_exchanges=("kraken", "bitstamp"),
        taker_fees={"kraken": Decimal("0.001"), "bitstamp": Decimal("0.0012")},
    )
    rows = [tick(market, START, bids=(("5000", "1"),), asks=(("6200", "1"),)) for market in MARKETS]
    parameters = parameters_of(settings, balances=OPENING, latency={}, rate_limits=rate_limits)
    together = [narrow, replace(wide, expected_profit=100.0)]
    outcome = trade(together, tape_with(rows, markets=MARKETS), MARKETS, parameters)
    assert [one.arbitrage_id for one in outcome.arbitrages] == [begun]
    assert counts(outcome) == {"too_many_open": 1}
    assert outcome.arbitrages[0].times["reserved"] == START + 5 * MILLISECOND
