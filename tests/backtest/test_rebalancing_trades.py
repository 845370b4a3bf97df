"""Backtests in which trades bring inventory back below the threshold; without the setting nothing changes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from backtest.detect.sightings import sighting_of
from backtest.parameters import Balances
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.trade_simulation import trade, trade_windows, trades_by_windows
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import SATOSHI, TransferTerms
from market.instruments.cycles import CycleTerms
from market.prices.opportunities import Opportunity
from tests.backtest.trading_samples import (
    EASY,
    MARKETS,
    SECOND,
    START,
    Book,
    offered,
    parameters_of,
    steady_quotes,
    tape_with,
    tick,
    window_of,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

FEW: Balances = {
    "alpha": {"USD": Decimal(2_000_000), "BTC": Decimal(2)},
    "beta": {"EUR": Decimal(2_000_000), "BTC": Decimal(2)},
}
BACK = START + 10 * SECOND
ASKS: Book = (("5500", "1"), ("5510", "1"))
"""Of beta, EUR, after the first trade."""
BIDS: Book = (("6083", "1"), ("6070", "1"))
"""Of alpha, USD: a little more than the asks of beta and all fees."""
FEES = (TransferTerms("alpha", "BTC", Decimal("0.001"), Decimal("0.01"), SATOSHI, 3_600, "a test"),)


CHEAPER: Book = (("6046.5", "1"), ("6040", "1"))
"""A little less than those."""
NET_BPS = {BIDS: 31.0, CHEAPER: -29.0}
"""What is left at the best prices, and a little less."""


def back(time: int = BACK, identity: str = "back", bids: Book = BIDS) -> Opportunity:
    """Return an opportunity to buy at beta and sell at alpha."""
    beta, alpha = (EUR_MARKET, levels(*ASKS)), (USD_MARKET, levels(*bids))
    return opportunity_of(beta, alpha, identity, NET_BPS[bids], event_time=time, sequence=time)


def run(
    *more: Opportunity, bids: Book = BIDS, below: float = 0.0, fees: tuple[TransferTerms, ...] = ()
) -> TradingOutcome:
    """Buy at alpha and sell at beta first; then trade what would bring that back, 2 bps below the threshold."""
    rows = steady_quotes([START])
    rows.append(tick(USD_MARKET, BACK, bids=bids, asks=(("6100", "1"),)))
    rows.append(tick(EUR_MARKET, BACK, bids=(("5490", "1"),), asks=ASKS))
    one = back(bids=bids)
    settings = settings_of(**EASY, min_net_bps=one.net_bps + 2.0, emit_net_bps=-100.0, rebalancing_bps=below)
    parameters = parameters_of(settings, balances=FEW, transfers=fees)
    return trade([offered(START), one, *more], tape_with(rows), MARKETS, parameters)


def amounts(outcome: TradingOutcome) -> list[tuple[str, Decimal]]:
    return [(one.arbitrage_id, one.amount) for one in outcome.arbitrages]


def test_a_trade_that_brings_inventory_back_may_earn_less() -> None:
    without, with_it = run(), run(below=3.0)
    assert [name for name, _ in amounts(without)] == ["one"]
    assert without.rejections["below_threshold"].count == 1
    (_, taken), (name, brought) = amounts(with_it)
    assert (name, brought) == ("back", taken)
    assert with_it.is_balanced
    held = {name: rows["BTC"] for name, rows in with_it.after.items()}
    assert held == {name: rows["BTC"] for name, rows in FEW.items()}


def test_nothing_more_is_brought_back_than_is_away() -> None:
    again = back(BACK + 5 * SECOND, "again")
    assert [name for name, _ in amounts(run(again, below=3.0))] == ["one", "back"]


@pytest.mark.parametrize("below", [0.0, 1.9])
def test_a_lower_threshold_that_is_not_low_enough_changes_nothing(below: float) -> None:
    outcome = run(below=below)
    assert replace(outcome, assumptions=()) == replace(run(), assumptions=())


def test_a_loss_is_made_only_where_a_transfer_would_cost_as_much() -> None:
    assert [name for name, _ in amounts(run(bids=CHEAPER, below=100.0))] == ["one"]
    # 0.001 of 0.32 are 31 bps
    paid = run(bids=CHEAPER, below=100.0, fees=FEES)
    assert [name for name, _ in amounts(paid)] == ["one", "back"]
    (lost,) = [one.profit.net for one in paid.arbitrages if one.arbitrage_id == "back" and one.profit is not None]
    assert -Decimal("0.001") * 6_083 < lost < 0


def test_a_run_of_narrow_spreads_ends_where_one_may_bring_inventory_back() -> None:
    far, near = replace(back(), net_bps=1.0), back()
    narrow = [replace(far, opportunity_id=f"far {n}", event_time=START + SECOND + n) for n in range(100)]
    together = [replace(near, opportunity_id=f"near {n}", event_time=BACK + n) for n in range(100)]
    found = [offered(START), *narrow, *together]
    rows = steady_quotes([START])
    rows += [tick(USD_MARKET, BACK, BIDS, (("6100", "1"),)), tick(EUR_MARKET, BACK, (("5490", "1"),), ASKS)]
    settings = settings_of(**EASY, min_net_bps=near.net_bps + 2.0, emit_net_bps=-100.0, rebalancing_bps=3.0)
    parameters = parameters_of(settings, balances=FEW)
    window = window_of([sighting_of(one) for one in found])
    outcome = trade_windows([window], tape_with(rows), MARKETS, parameters)
    assert [name for name, _ in amounts(outcome)] == ["one", "near 0"]
    assert outcome == trade(found, tape_with(rows), MARKETS, parameters)


def test_backtests_in_which_inventory_comes_back_are_traded_one_by_one() -> None:
    off, on = TransferRules(), TransferRules(is_on=True)
    plain = parameters_of()
    assert trades_by_windows(plain)
    assert trades_by_windows(replace(plain, rebalancing=off))
    assert not trades_by_windows(replace(plain, rebalancing=on))
    assert not trades_by_windows(replace(plain, cycles=CycleTerms(3, frozenset(), frozenset())))
    assert not trades_by_windows(replace(plain, settings=settings_of(rebalancing_bps=0.5)))
