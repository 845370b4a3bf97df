"""What a backtest rejects, and how it treats history, fee tiers and input that cannot be traded."""

from dataclasses import replace
from decimal import Decimal

import pytest

from backtest.parameters import FeeTier
from backtest.simulate.trade_simulation import WINDOW_DELAY, BacktestError, trade
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from tests.backtest.trading_samples import (
    CHEAP,
    DAY,
    DEAR,
    EASY,
    MARKETS,
    MILLISECOND,
    OPENING,
    SECOND,
    START,
    Book,
    alpha,
    beta,
    counts,
    fills,
    offered,
    parameters_of,
    refilled,
    steady_quotes,
    tape_with,
    traded,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of


@pytest.mark.parametrize(
    ("changes", "gap_ms", "reason"),
    [
        ({"cool_down_ms": 1_000}, 999, "cooling_down"),
        ({"cool_down_ms": 1_000}, 1_000, None),
        ({}, 40, "pair_busy"),
        ({"max_open_arbitrages": 1}, 40, "too_many_open"),
        ({"min_net_bps": 60.0}, 500, "below_threshold"),
        ({"enabled_exchanges": ("alpha", "gamma")}, 500, "exchange_disabled"),
        ({"trading_state": "reduce_only"}, 500, "reduce_only"),
        ({"max_currency_drift": 1_900}, 500, "currency_drift"),
        ({"max_total_notional": 1_900}, 40, "pair_busy"),
        ({"max_notional": Decimal("0.5")}, 500, "too_small"),
        ({"quarantine_ceiling_bps": 40.0}, 500, "quarantined"),
    ],
)
def test_limits_reject_with_their_reason(changes: dict[str, object], gap_ms: int, reason: str | None) -> None:
    first, second = offered(START), offered(START + gap_ms * MILLISECOND, "two")
    outcome = traded([first, second], None, settings_of(**EASY | changes))
    if reason is None:
        assert len(outcome.arbitrages) == 2
        assert outcome.rejections == {}
        return
    rejected = 2 - len(outcome.arbitrages)
    assert counts(outcome) == {reason: rejected}
    # if the first was traded, the second is the same gap; else one trade of 2,000 on the 6,179.2382 shown is missed
    of_one_trade = 0 if rejected == 1 or reason == "too_small" else Decimal("0.32366449")
    assert (outcome.rejections[reason].episodes, outcome.missed) == (rejected - 1, of_one_trade)


def test_a_day_that_lost_enough_begins_no_more_until_the_next() -> None:
    """Reversing costs about 10 USD a coin; a market day, not the machine's."""
    gone = [beta(START + 1, (("5000", "1"),))]
    opportunities = [offered(START + SECOND, "one"), offered(START + 2 * SECOND, "two"), offered(START + DAY, "three")]
    settings = settings_of(**EASY, single_leg_policy="reverse", max_daily_loss=1)
    outcome = traded(opportunities, gone, settings)
    assert [one.arbitrage_id for one in outcome.arbitrages] == ["one", "three"]
    # each bot asks the store for itself, and it is one opportunity
    assert counts(outcome) == {"daily_loss": 1}


def test_balances_run_out() -> None:
    poor = {"alpha": {"USD": Decimal(3_000)}, "beta": {"BTC": Decimal("0.5")}}
    opportunities = [offered(START + number * SECOND, str(number)) for number in range(3)]
    outcome = traded(opportunities, balances=poor)
    assert [arbitrage.amount for arbitrage in outcome.arbitrages] == [Decimal("0.3236"), Decimal("0.1758")]
    assert counts(outcome) == {"insufficient_balance": 1}
    assert all(amount >= 0 for amounts in outcome.after.values() for amount in amounts.values())
    assert outcome.is_balanced


def test_what_was_taken_of_a_level_is_gone_until_it_changes() -> None:
    """The first takes 0.3236 of the 0.4 shown; 0.0764 and the next level are left while the exchange shows the same."""
    thin: Book = (("6000", "0.4"), ("6002", "1"))
    rows = [alpha(START + 1, thin), alpha(START + 900 * MILLISECOND, (*thin, ("6009", "1")))]
    opportunities = [offered(START + 2, "one", thin), offered(START + SECOND, "two", thin)]
    bought = [row[1:3] for row in fills(traded(opportunities, rows)) if row[0] == "buy"]
    assert bought == [("6000", "0.3236"), ("6000", "0.0764"), ("6002", "0.2472")]
    rows.insert(1, alpha(START + 500 * MILLISECOND, (("6000", "0.5"), ("6002", "1"))))
    bought = [row[1:3] for row in fills(traded(opportunities, rows)) if row[0] == "buy"]
    assert bought == [("6000", "0.3236"), ("6000", "0.3236")]


def test_displayed_amounts_alone_are_said_so() -> None:
    thin: Book = (("6000", "1"),)
    outcome = traded([offered(START + 2, "one", thin)], [alpha(START + 1, thin)])
    assert "1 orders met recorded depth, 1 the displayed best level alone" in outcome.assumptions


def test_a_window_is_known_some_seconds_after_its_end() -> None:
    settings = settings_of(**EASY, min_share_above_10s=0.5)
    window = SpreadWindow("BTC", "alpha", "beta", START - 10 * SECOND, START, 50.0, 1.0, 60.0, 0.9, 100)
    parameters = parameters_of(settings)
    opportunities = [
        offered(START + WINDOW_DELAY - SECOND, "early"),
        offered(START + WINDOW_DELAY, "late"),
    ]
    tape = tape_with(steady_quotes([START]))
    outcome = trade(opportunities, tape, MARKETS, parameters, windows=[window])
    assert [one.arbitrage_id for one in outcome.arbitrages] == ["late"]
    assert counts(outcome) == {"not_persistent": 1}
    blind = trade(opportunities, tape, MARKETS, parameters)
    assert counts(blind) == {"not_persistent": 2}
    assert any("no spread windows were given" in reported for reported in blind.assumptions)


def test_fees_follow_the_volume_of_the_last_thirty_days() -> None:
    tiers = (FeeTier(Decimal(0), Decimal("0.002")), FeeTier(Decimal(1_900), Decimal("0.0005")))
    opportunities = [offered(START + number * DAY, str(number)) for number in (0, 1, 31)]
    outcome = traded(opportunities, refilled(opportunities), fee_tiers={"alpha": tiers})
    rates = [fill.fee / fill.cost for fill in outcome.fills if fill.exchange == "alpha"]
    assert rates == [Decimal("0.002"), Decimal("0.0005"), Decimal("0.002")]
    rich = traded(opportunities, refilled(opportunities), fee_tiers={"alpha": tiers}, volumes={"alpha": Decimal(5_000)})
    assert next(fill.fee / fill.cost for fill in rich.fills if fill.exchange == "alpha") == Decimal("0.0005")
    assert outcome.is_balanced


def test_lifetimes_and_how_much_was_offered() -> None:
    times = [0, 400, 1_300, 2_400, 2_500]
    opportunities = [
        replace(offered(START + time * MILLISECOND, str(time)), net_bps=5.5 + time / 1_000) for time in times
    ]
    outcome = traded(opportunities)
    assert [(one.start - START, one.end - START, round(one.best_net_bps, 1)) for one in outcome.lifetimes] == [
        (0, 1_300_000, 6.8),
        (2_400_000, 2_500_000, 8.0),
    ]
    assert outcome.net_bps_counts == {5: 2, 6: 1, 7: 1, 8: 1}


def test_one_that_comes_again_counts_once() -> None:
    outcome = traded([offered(START), offered(START)])
    assert outcome.opportunities == len(outcome.arbitrages) == 1


@pytest.mark.parametrize(
    ("opportunities", "changes", "fault"),
    [
        ([offered(START + 1), offered(START, "two")], {}, "in the order of their time"),
        ([], {"balances": OPENING | {"delta": {"USD": Decimal(1)}}}, "delta"),
    ],
)
def test_what_cannot_be_traded_is_said_in_a_sentence(
    opportunities: list[Opportunity], changes: dict[str, object], fault: str
) -> None:
    with pytest.raises(BacktestError, match=fault):
        trade(opportunities, tape_with(steady_quotes([START])), MARKETS, parameters_of(None, **changes))


def test_a_market_that_is_not_in_the_set_is_disabled() -> None:
    stranger: Market = replace(EUR_MARKET, exchange="gamma")
    strange = opportunity_of((USD_MARKET, levels(*CHEAP)), (stranger, levels(*DEAR)), event_time=START)
    assert counts(traded([strange])) == {"exchange_disabled": 1}
