"""Transfers in a backtest: over a made week in which one exchange is dearer for days, inventory runs out without them
and never with them, where they pay; and what they cost is what the accounts lack."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from backtest.parameters import Balances
from backtest.result.inventory_outages import fees_of, moves_of, outages_of
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.event_queue import EventQueue
from backtest.simulate.simulated_transfers import SimulatedTransfers
from backtest.simulate.trade_simulation import trade
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import CENT, SATOSHI, TransferTerms
from market.instruments.markets import Market
from market.money import ZERO, total
from market.prices.opportunities import Opportunity
from market.trade.unwinding import markets_by_symbol
from tests.backtest.trading_samples import SECOND, START, parameters_of, tape_with, tick
from tests.market.samples import USD_MARKET, levels, opportunity_of, settings_of

BETA = replace(USD_MARKET, exchange="beta")
MARKETS = (USD_MARKET, BETA)
DAY, STEP = 86_400 * SECOND, 1_800 * SECOND
WEEK = 7 * DAY
CHEAP, DEAR = ("5990", "6000"), ("6060", "6070")
"""Bid and ask."""
HELD: Balances = {name: {"USD": Decimal(9_000), "BTC": Decimal("1.5")} for name in ("alpha", "beta")}
RULES = TransferRules(is_on=True)


def terms(fee: str) -> tuple[TransferTerms, ...]:
    """Return BTC in half an hour for that fee, and dollars in one for a dollar."""
    return tuple(
        one
        for name in HELD
        for one in (
            TransferTerms(name, "BTC", Decimal(fee), Decimal("0.001"), SATOSHI, 1_800, "a test"),
            TransferTerms(name, "USD", Decimal(1), Decimal(10), CENT, 3_600, "a test"),
        )
    )


def week() -> tuple[list[dict[str, object]], list[Opportunity]]:
    """Return both books every half an hour, and what is found: five days beta is dearer, then alpha."""
    rows: list[dict[str, object]] = []
    found: list[Opportunity] = []
    for number, time in enumerate(range(START, START + WEEK, STEP)):
        cheap, dear = (USD_MARKET, BETA) if time < START + 5 * DAY else (BETA, USD_MARKET)
        # another amount each time, so that nothing of it was taken before
        amount = f"{5 + number % 2}"
        for market, (bid, ask) in ((cheap, CHEAP), (dear, DEAR)):
            rows.append(tick(market, time, ((bid, amount),), ((ask, amount),)))
        buy, sell = (cheap, levels((CHEAP[1], amount))), (dear, levels((DEAR[0], amount)))
        found.append(opportunity_of(buy, sell, f"at {number}", event_time=time, sequence=time))
    return rows, found


def run(
    rules: TransferRules | None = None, fee: str = "0.0001", markets: tuple[Market, ...] = MARKETS
) -> TradingOutcome:
    rows, found = week()
    settings = settings_of(max_quote_age_ms=2 * STEP // 1_000, max_notional=2_000, max_currency_drift=10_000_000)
    settings = settings.model_copy(update={"max_exposure": Decimal(10_000_000)})
    parameters = parameters_of(settings, balances=HELD, transfers=terms(fee), rebalancing=rules)
    return trade(found, tape_with(rows, markets=markets), markets, parameters)


def outages(outcome: TradingOutcome) -> dict[tuple[str, str], int]:
    """Return exchange and currency → hours that it was out."""
    found = outages_of(outcome, MARKETS, START + WEEK)
    return {(one.exchange, one.currency): one.duration // (3_600 * SECOND) for one in found}


@pytest.fixture(scope="module")
def without() -> TradingOutcome:
    return run()


@pytest.fixture(scope="module")
def with_them() -> TradingOutcome:
    return run(RULES)


def test_without_transfers_inventory_runs_out_for_days(without: TradingOutcome) -> None:
    assert without.transfers == ()
    out = outages(without)
    # what is dear is sold out, and what is cheap is bought with all there is
    assert out["beta", "BTC"] > 100
    assert out["alpha", "BTC"] > 30
    assert without.rejections["insufficient_balance"].count > 250


def test_where_transfers_pay_inventory_never_runs_out(without: TradingOutcome, with_them: TradingOutcome) -> None:
    assert outages(with_them) == {}
    assert with_them.trades == 7 * 48
    cost = total(one.cost for one in with_them.transfers)
    assert ZERO < cost < with_them.profit.net
    assert with_them.profit.net - cost > 4 * without.profit.net


def test_what_transfers_cost_is_what_the_accounts_lack(with_them: TradingOutcome) -> None:
    assert with_them.is_balanced
    assert {one.state for one in with_them.transfers} == {"arrived"}
    moves = moves_of(with_them.fills, (), markets_by_symbol(MARKETS))
    for currency, fee in fees_of(with_them.transfers).items():
        sums = (rows[currency] for rows in with_them.before.values())
        traded = total(amount for _, _, name, amount in moves if name == currency)
        held = total(rows[currency] for rows in with_them.after.values())
        assert total(sums) + traded - fee == held


def test_a_transfer_takes_as_long_as_its_terms_say_and_begins_when_a_plan_is_due(with_them: TradingOutcome) -> None:
    for one in with_them.transfers:
        assert one.times["arrived"] - one.times["sent"] == (1_800 if one.currency == "BTC" else 3_600) * SECOND
        assert (one.times["sent"] - START) % (RULES.every_seconds * SECOND) in range(SECOND)


def test_nothing_is_sent_that_costs_more_than_was_earned(without: TradingOutcome) -> None:
    dear = run(RULES, fee="0.3")
    spent = total(one.cost for one in dear.transfers)
    assert spent <= dear.profit.net
    assert all(one.currency == "USD" for one in dear.transfers)
    assert outages(dear)["beta", "BTC"] > 50


def test_rules_that_are_off_change_nothing(without: TradingOutcome) -> None:
    assert run(TransferRules(is_on=False)) == without


def test_a_plan_waits_for_the_cycles_that_were_seen_before_it() -> None:
    agenda, asked = EventQueue(), list[tuple[int, int]]()
    bots = SimpleNamespace(cache=SimpleNamespace(settings=settings_of(trading_state="halted")))
    none: Any = None
    transfers = SimulatedTransfers(
        RULES, {}, (), {}, agenda, none, {}, cast("Any", bots), none, lambda due: asked.append((due, agenda.now()))
    )
    for time in (START, START + 700 * SECOND):
        transfers.plan_until(time, "USD")
    every = RULES.every_seconds * SECOND
    assert asked == [(START + every, 0), (START + 2 * every, START + every)]
