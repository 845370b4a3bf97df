"""Return, ratios, turnover and marked inventory against figures computed by hand and against numpy and polars."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtest.report.figure_format import ratio_words, share_words
from backtest.result.asset_marks import Marks
from backtest.result.performance import (
    MarkedPoint,
    Performance,
    Ratio,
    performance_of,
    returns_of,
    share_of,
    sharpe_ratio,
    sortino_ratio,
)
from backtest.result.profit_breakdown import by_day, by_pair
from backtest.result.trading_outcome import SimulatedEquityPoint, TradingOutcome
from market.accounting.equity_curve import drawdown_of
from market.accounting.profit_groups import profit_from
from market.instruments.orders import Fill, Side
from market.time_units import MICROSECONDS
from market.trade.unwinding import markets_by_symbol
from tests.backtest.made_up_result import START, arbitrage, outcome_of, result_of
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, fill_of

MINUTE = 60 * MICROSECONDS
KNOWN = markets_by_symbol(MARKETS)
TOO_FEW = "at least 30 returns are needed, and there are {}; test a longer span"
RETURNS = (0.01, -0.02, 0.03, 0.0, 0.005) * 6


def fill(side: Side, amount: str, price: str, minute: float) -> Fill:
    market = USD_MARKET if side == "buy" else EUR_MARKET
    return replace(fill_of(market, side, Decimal(amount), Decimal(price)), filled_at=START + int(minute * MINUTE))


def outcome(*fills: Fill) -> TradingOutcome:
    """Return 1,000 USD at alpha; 100 EUR and 2 BTC at beta; then whatever the fills move."""
    before = {"alpha": {"USD": Decimal(1_000)}, "beta": {"EUR": Decimal(100), "BTC": Decimal(2)}}
    after = {exchange: dict(row) for exchange, row in before.items()}
    for one in fills:
        sign, quote = (1, "USD") if one.side == "buy" else (-1, "EUR")
        row = after[one.exchange]
        row["BTC"] = row.get("BTC", Decimal(0)) + sign * one.amount
        row[quote] -= sign * one.cost
    return replace(
        outcome_of(()), before=before, after=after, fills=fills, profit=profit_from("USD", {"net": Decimal(5)})
    )


def marks(btc: tuple[str, ...], eur: str = "1.1") -> Marks:
    """Return a mark each minute, and one at the end."""
    times = tuple(START + number * MINUTE for number in range(len(btc)))
    worth: dict[str, tuple[Decimal | None, ...]] = {
        "BTC": tuple(map(Decimal, btc)),
        "EUR": (Decimal(eur),) * len(btc),
        "USD": (Decimal(1),) * len(btc),
    }
    return Marks(MINUTE, times, {name: row[0] for name, row in worth.items() if row[0] is not None}, worth)


def test_inventory_is_marked_at_the_opening_through_time_and_at_the_end() -> None:
    """1 BTC for 100 USD in minute 0.5, 1 BTC sold for 100 EUR in minute 1.5; BTC goes 100, 110, 120, 90."""
    reported = performance_of(
        outcome(fill("buy", "1", "100", 0.5), fill("sell", "1", "100", 1.5)), marks(("100", "110", "120", "90")), KNOWN
    )
    marked = reported.marked
    # 1,000 + 100 × 1.1 + 2 × 100
    assert reported.capital == marked.opening == Decimal(1_310)
    # 900 + 200 × 1.1 + 2 × 90; value without trading: 1,000 + 110 + 180
    assert (marked.closing, marked.held, marked.gain) == (Decimal(1_300), Decimal(1_290), Decimal(10))
    # minute 1: 1 BTC at 110 for 100; from minute 2 on the pair is closed: 110 of EUR for 100
    assert [point.gain for point in marked.points] == [0, 10, 10, 10]
    assert marked.gain == marked.closing - marked.held
    assert marked.drawdown == 0


def test_a_residual_base_gains_and_loses_with_its_price() -> None:
    reported = performance_of(outcome(fill("buy", "1", "100", 0.5)), marks(("100", "110", "95", "102")), KNOWN)
    assert [point.gain for point in reported.marked.points] == [0, 10, -5, 2]
    assert reported.marked.drawdown == Decimal(15)


def test_return_turnover_and_drawdown_are_shares_of_capital() -> None:
    pair = replace(outcome(), arbitrages=(arbitrage(0, "5"),))
    reported = performance_of(pair, marks(("100", "100")), KNOWN)
    # both legs of the sample: 2 BTC bought for 20,000 USD, sold for 18,400 EUR at a mid of 1.1
    bought = sum(leg.cost for leg in pair.arbitrages[0].legs if leg.quote_currency == "USD")
    sold = sum(leg.cost for leg in pair.arbitrages[0].legs if leg.quote_currency == "EUR")
    assert reported.turnover == bought + sold * Decimal("1.1")
    assert reported.return_on_capital == (Decimal(5) / 1_310).quantize(Decimal("0.0000000001"))
    assert reported.turnover_of_capital == (reported.turnover / 1_310).quantize(Decimal("0.0000000001"))
    fallen = replace(pair, equity=(SimulatedEquityPoint(0, Decimal(40)), SimulatedEquityPoint(1, Decimal(36))))
    figures = replace(result_of(fallen), performance=replace(reported, capital=Decimal(1_560))).figures
    assert (figures.drawdown, figures.drawdown_share) == (Decimal(4), Decimal("0.0025"))
    assert share_of(Decimal(4), Decimal(0)) is None


def test_without_capital_there_is_no_share() -> None:
    empty = replace(outcome(), before={"alpha": {}}, after={"alpha": {}})
    reported = performance_of(empty, marks(("100", "100")), KNOWN)
    assert reported.capital == 0
    assert (reported.return_on_capital, reported.turnover_of_capital) == (None, None)
    assert reported.sharpe == Ratio(None, TOO_FEW.format(0))


def test_what_no_market_prices_counts_for_nothing_and_is_named() -> None:
    held = replace(outcome(), before={"alpha": {"USD": Decimal(10), "DOGE": Decimal(5)}}, after={})
    reported = performance_of(held, marks(("100", "100")), KNOWN)
    assert (reported.capital, reported.marked.unmarked) == (Decimal(10), ("DOGE",))


def test_ratios_by_hand() -> None:
    """Six times (1, -2, 3, 0, 0.5) %: mean 0.5 %, sum of squares 6 × 14.25, squares below 0: 6 × 4."""
    variance = (6 * 14.25 - 30 * 0.5**2) / 29
    assert sharpe_ratio(RETURNS, 365).value == pytest.approx(0.5 / variance**0.5 * 365**0.5, rel=1e-12)
    assert sortino_ratio(RETURNS, 365).value == pytest.approx(0.5 / (24 / 30) ** 0.5 * 365**0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("returns", "sharpe", "sortino"),
    [
        (
            (0.01,) * 29,
            "at least 30 returns are needed, and there are 29; test a longer span",
            "at least 30 returns are needed, and there are 29; test a longer span",
        ),
        ((0.0,) * 30, "the returns do not vary", "no interval lost anything"),
        ((0.01, 0.02) * 15, None, "no interval lost anything"),
        (RETURNS, None, None),
    ],
)
def test_where_there_is_no_ratio_the_reason_stands_in_its_place(
    returns: tuple[float, ...], sharpe: str | None, sortino: str | None
) -> None:
    for ratio, why in ((sharpe_ratio(returns, 365), sharpe), (sortino_ratio(returns, 365), sortino)):
        assert (ratio.reason, ratio.value is None) == (why, why is not None)
    assert ratio_words(sharpe_ratio((0.01,), 1)) == f"n/a: {TOO_FEW.format(1)}"


@given(st.lists(st.floats(-0.5, 0.5).map(lambda one: round(one, 6)), min_size=30, max_size=80))
def test_ratios_are_those_of_another_library(returns: list[float]) -> None:
    column = pl.Series(returns, dtype=pl.Float64)
    deviation = float(column.std(ddof=1))  # type: ignore[arg-type]  # of numbers it is one
    downside = float(np.sqrt(np.mean(np.minimum(np.array(returns), 0.0) ** 2)))
    mean = float(np.mean(returns))
    for ratio, divisor in ((sharpe_ratio(returns, 8_760), deviation), (sortino_ratio(returns, 8_760), downside)):
        if ratio.value is None:
            assert divisor == pytest.approx(0, abs=1e-9)
        elif divisor > 1e-9:
            assert ratio.value == pytest.approx(mean / divisor * np.sqrt(8_760), rel=1e-6, abs=1e-9)


trades = st.lists(
    st.tuples(st.sampled_from(["buy", "sell"]), st.integers(1, 50), st.integers(50, 200), st.floats(0, 5)), max_size=12
)


@given(trades, st.lists(st.integers(50, 200), min_size=2, max_size=6))
def test_the_marked_gain_is_what_balances_say_to_the_last_digit(
    made: list[tuple[Side, int, int, float]], prices: list[int]
) -> None:
    """From the fills on one side, from the balances on the other; and through time by a table of its own."""
    fills = [fill(side, str(Decimal(amount) / 10), str(price), at) for side, amount, price, at in made]
    marked = performance_of(outcome(*fills), marks(tuple(map(str, prices))), KNOWN).marked
    assert marked.gain == marked.closing - marked.held
    rows = pl.DataFrame(
        {
            "at": [one.filled_at for one in fills],
            "base": [float(one.amount) * (1 if one.side == "buy" else -1) for one in fills],
            "cash": [float(one.cost) * (-1 if one.side == "buy" else 1.1) for one in fills],
        },
        schema={"at": pl.Int64, "base": pl.Float64, "cash": pl.Float64},
    )
    for point, price in list(zip(marked.points, prices, strict=True))[:-1]:
        known = rows.filter(pl.col("at") <= point.time)
        assert float(point.gain) == pytest.approx(
            float(known["base"].sum()) * price + float(known["cash"].sum()), abs=1e-6
        )
    gains = np.array([0.0, *(float(point.gain) for point in marked.points)])
    assert float(marked.drawdown) == pytest.approx(float(np.max(np.maximum.accumulate(gains) - gains)), abs=1e-6)


def test_returns_are_those_of_whole_intervals() -> None:
    points = [MarkedPoint(number, Decimal(gain)) for number, gain in enumerate((0, 10, 5, 500))]
    assert returns_of(points, Decimal(1_000)) == [0.01, -0.005]
    assert returns_of(points, Decimal(0)) == []
    assert drawdown_of(points).depth == 5


def test_the_definition_stands_beside_the_ratios() -> None:
    reported: Performance = performance_of(outcome(), marks(("100",) * 40), KNOWN)
    assert (reported.returns, reported.interval_seconds) == (38, 60)
    assert "38 returns, one each minute" in reported.definition
    assert "525,600 minutes a year; the risk-free rate is 0" in reported.definition
    short = performance_of(outcome(), replace(marks(("100", "100")), interval=None), KNOWN)
    assert short.sharpe.reason == TOO_FEW.format(0)
    assert "30 whole minutes or more, which this recording does not hold" in short.definition


def test_lines_by_pair_and_day_sum_to_the_whole() -> None:
    day = 86_400 * MICROSECONDS
    found = [arbitrage(number, net) for number, net in enumerate(("2.5", "-4", "1.25"))]
    found[2] = replace(found[2], times={"ended": START + day})
    assert [(line.names, line.trades, line.net) for line in by_day(found)] == [
        (("2023-11-14",), 2, Decimal("-1.5")),
        (("2023-11-15",), 1, Decimal("1.25")),
    ]
    (pair,) = by_pair(found)
    assert (pair.names, pair.trades, pair.net) == (("BTC", "alpha BTC/USD", "beta BTC/EUR"), 3, Decimal("-0.25"))
    assert pair.turnover == sum(line.turnover for line in by_day(found))
    assert by_pair([replace(found[0], profit=None)]) == ()


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "n/a: no capital"),
        ("0", "0.00 %"),
        ("0.1234567", "12.35 %"),
        ("-0.5", "-50.00 %"),
        ("0.000071", "0.0071 %"),
        ("0.0000000002", "below 0.0001 %"),
        ("-0.0000000002", "above -0.0001 %"),
    ],
)
def test_shares_in_words(share: str | None, words: str) -> None:
    assert share_words(None if share is None else Decimal(share)) == words
