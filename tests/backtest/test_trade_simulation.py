"""Trading in a backtest: small scenarios whose fills are computed by hand."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest

from backtest.parameters import Latency
from backtest.result.trading_outcome import RejectedSum
from tests.backtest.trading_samples import (
    CHEAP,
    EASY,
    MARKETS,
    MILLISECOND,
    SECOND,
    START,
    alpha,
    beta,
    counts,
    ends,
    fills,
    offered,
    refilled,
    tick,
    traded,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, settings_of

# 2,000 USD of notional at the dearer leg, 5,618 EUR at 1.1001 USD: 0.32360… BTC, in lots of 0.0001
BOTH = [("buy", "6000", "0.3236", "55.0"), ("sell", "5618", "0.3236", "55.0")]


def test_both_legs_fill_after_their_latency() -> None:
    outcome = traded([offered(START)])
    assert fills(outcome) == BOTH
    assert ends(outcome) == [("closed", None)]
    assert outcome.trades == 1
    # 1,941.6 USD and 0.1 % of it; 1,817.9848 EUR less 0.12 % of it
    assert outcome.after["alpha"] == {"USD": Decimal("1998056.4584"), "BTC": Decimal("30.3236")}
    assert outcome.after["beta"] == {"EUR": Decimal("2001815.80321824"), "BTC": Decimal("29.6764")}
    assert outcome.is_balanced
    assert outcome.equity[-1].time == START + 55 * MILLISECOND
    assert outcome.equity[-1].net == outcome.profit.net > 0


def test_a_rebate_comes_with_the_fill() -> None:
    """1,941.6 USD less 0.0333 % of it, which is 0.64655280 USD; the ledger says so to the last digit."""
    settings = settings_of(**EASY)
    rebate = settings.model_copy(update={"taker_fees": settings.taker_fees | {"alpha": Decimal("-0.000333")}})
    outcome = traded([offered(START)], settings=rebate)
    assert fills(outcome) == BOTH
    assert ends(outcome) == [("closed", None)]
    assert outcome.after["alpha"]["USD"] == Decimal("1998059.0465528")
    assert outcome.is_balanced


@pytest.mark.parametrize(
    ("latency_ms", "price"),
    [(50.0, "6000"), (94.999, "6000"), (95.0, "6001"), (194.9, "6001"), (195.0, "6002")],
)
def test_latency_moves_the_fill_to_the_later_quote(latency_ms: float, price: str) -> None:
    later = [alpha(START + 100 * MILLISECOND, (("6001", "1"),)), alpha(START + 200 * MILLISECOND, (("6002", "1"),))]
    outcome = traded([offered(START)], later, latency={"alpha": Latency(latency_ms), "beta": Latency(10.0)})
    assert [row[1] for row in fills(outcome) if row[0] == "buy"] == [price]


def test_latencies_are_drawn_by_seed_and_order() -> None:
    drawn = Latency(samples_ms=(10.0, 20.0, 30.0, 40.0))
    opportunities = [offered(START + number * 10 * SECOND, str(number)) for number in range(20)]
    rows = refilled(opportunities)

    def times(seed: int) -> list[float]:
        outcome = traded(opportunities, rows, latency={"alpha": drawn, "beta": drawn}, seed=seed)
        return [float(row[3]) for row in fills(outcome)]

    assert len(times(1)) == 40
    assert {time % 10_000 for time in times(1)} == {15.0, 25.0, 35.0, 45.0}
    assert times(1) == times(1)
    assert times(1) != times(2)


@pytest.mark.parametrize(
    ("later", "policy", "expected", "end"),
    [
        # a thinner book fills partly; the rest is sold on the intended exchange, in the book of that time
        (
            [beta(START + 1, (("5618", "0.1"),)), beta(START + 80 * MILLISECOND, (("5617", "1"),))],
            "complete",
            [BOTH[0], ("sell", "5618", "0.1", "55.0"), ("complete", "5617", "0.2236", "110.0")],
            ("closed", None),
        ),
        # or given back where it was bought
        (
            [beta(START + 1, (("5618", "0.1"),)), beta(START + 80 * MILLISECOND, (("5617", "1"),))],
            "reverse",
            [BOTH[0], ("sell", "5618", "0.1", "55.0"), ("reverse", "5990", "0.2236", "110.0")],
            ("unwound", "reversed"),
        ),
        (
            [beta(START + 1, (("5618", "0.1"),))],
            "hold",
            [BOTH[0], ("sell", "5618", "0.1", "55.0")],
            ("residual", "single_leg_left"),
        ),
        # nothing to complete with: taken back after that
        (
            [beta(START + 1, (("5000", "1"),))],
            "complete",
            [BOTH[0], ("reverse", "5990", "0.3236", "165.0")],
            ("unwound", "reversed"),
        ),
        # a withdrawn quote fills nothing
        (
            [tick(EUR_MARKET, START + 1, kind="withdrawn")],
            "reverse",
            [BOTH[0], ("reverse", "5990", "0.3236", "110.0")],
            ("unwound", "reversed"),
        ),
        # both gone
        (
            [tick(EUR_MARKET, START + 1, kind="withdrawn"), tick(USD_MARKET, START + 1, kind="withdrawn")],
            "complete",
            [],
            ("unfilled", "nothing_filled"),
        ),
    ],
)
def test_single_legs(
    later: list[dict[str, object]],
    policy: str,
    expected: list[tuple[str, str, str, str]],
    end: tuple[str, str | None],
) -> None:
    outcome = traded([offered(START)], later, settings_of(**EASY, single_leg_policy=policy))
    assert fills(outcome) == expected
    assert ends(outcome) == [end]
    assert outcome.is_balanced


@contextmanager
def unconfigured() -> Iterator[None]:
    """Log as a command does, and each worker of Spark: the root has no handlers, so warnings go to stderr."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    for handler in handlers:
        root.removeHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.addHandler(handler)


def test_what_the_bots_warn_of_stays_off_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    poor = [beta(START + 1, (("5618", "0.1"),))]
    with unconfigured():
        logging.getLogger("other").warning("heard")
        outcome = traded([offered(START)], poor, settings_of(**EASY, single_leg_policy="hold"))
    assert ends(outcome) == [("residual", "single_leg_left")]
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "heard\n")


def test_a_quote_too_old_fills_nothing() -> None:
    """It was fresh when it was seen, and 2.055 s old when the order arrived."""
    settings = settings_of(**EASY | {"max_quote_age_ms": 1_000})
    late = {"alpha": Latency(2_050.0), "beta": Latency(2_050.0)}
    assert ends(traded([offered(START)], None, settings, latency=late)) == [("unfilled", "nothing_filled")]
    renewed = [tick(market, START + SECOND * 3 // 2, kind="alive") for market in MARKETS]
    assert ends(traded([offered(START)], renewed, settings, latency=late)) == [("closed", None)]


def test_orders_that_the_exchange_rejects() -> None:
    opportunities = [offered(START + number * 10 * SECOND, str(number)) for number in range(40)]
    settings = settings_of(**EASY, breaker_failures=0)
    rows = refilled(opportunities)
    outcome = traded(opportunities, rows, settings, failed_share=0.25, seed=2)
    legs = [leg for arbitrage in outcome.arbitrages for leg in arbitrage.legs]
    rejected = sum(not leg.fills for leg in legs)
    assert 0.15 < rejected / len(legs) < 0.35
    assert {"closed", "unwound"} <= {state for state, _ in ends(outcome)}
    assert outcome.is_balanced
    assert outcome == traded(opportunities, rows, settings, failed_share=0.25, seed=2)
    assert outcome != traded(opportunities, rows, settings, failed_share=0.25, seed=3)


def test_an_exchange_that_fails_too_often_is_paused() -> None:
    opportunities = [offered(START + number * SECOND, str(number)) for number in range(10)]
    outcome = traded(opportunities, None, settings_of(**EASY, breaker_failures=2), failed_share=1.0)
    assert len(outcome.arbitrages) == 2
    assert counts(outcome) == {"exchange_paused": 8}


def test_what_one_side_is_used_up_of_begins_nothing_on_the_other() -> None:
    """What beta has is enough for what is shown to it, but its lots are used up by then."""
    used = offered(START, "first", CHEAP, (("5618", "0.3236"), ("5600", "0.1")))
    again = replace(used, opportunity_id="second", event_time=START + SECOND, expires_at=START + 2 * SECOND)
    again = replace(again, buy=replace(again.buy, quote_id="alpha:BTC/USD:2"))
    outcome = traded([used, again])
    assert ends(outcome) == [("closed", None)]
    assert counts(outcome) == {"liquidity_used": 1}
    assert outcome.is_balanced


def test_an_opportunity_past_its_time_is_nobodys_business() -> None:
    outcome = traded([offered(START)], decision_ms=1_000.0)
    assert outcome.arbitrages == ()
    # nobody rejected it, and what one trade within its limits would have brought is missed all the same
    assert outcome.rejections == {"expired": RejectedSum(0, 1, Decimal("0.32366449"))}
    assert outcome.opportunities == 1
    assert any("1 opportunities had expired" in reported for reported in outcome.assumptions)
