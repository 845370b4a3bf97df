"""The result of a backtest: its document, its lines, its maximum drawdown."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtest.report.result_document import lifetime_row, result_document
from backtest.report.result_lines import result_lines
from backtest.result.trading_outcome import SimulatedEquityPoint
from backtest.simulate.simulated_rejections import RejectionCounts
from market.accounting.equity_curve import EquityDrawdown, drawdown_of
from tests.backtest.made_up_result import START, outcome_of, result_of


def equity(*nets: int) -> list[SimulatedEquityPoint]:
    return [SimulatedEquityPoint(time, Decimal(net)) for time, net in enumerate(nets)]


@pytest.mark.parametrize(
    ("nets", "drawdown"),
    [
        ((), EquityDrawdown()),
        ((1, 2, 3), EquityDrawdown()),
        ((-3,), EquityDrawdown(Decimal(3), None, 0)),
        ((5, 2, 6, 1, 7), EquityDrawdown(Decimal(5), 2, 3, Decimal(6))),
        ((5, 2, 5, 2), EquityDrawdown(Decimal(3), 0, 1, Decimal(5))),
    ],
)
def test_the_deepest_fall(nets: tuple[int, ...], drawdown: EquityDrawdown) -> None:
    assert drawdown_of(equity(*nets)) == drawdown


@given(st.lists(st.integers(-100, 100), max_size=40))
def test_no_fall_is_deeper_than_the_deepest(nets: Sequence[int]) -> None:
    known = [0, *nets]
    drawdowns = [known[earlier] - known[later] for later in range(len(known)) for earlier in range(later + 1)]
    assert drawdown_of(equity(*nets)).depth == max(drawdowns)


def test_the_document_has_what_was_promised() -> None:
    document = json.loads(json.dumps(result_document(result_of())))
    assert {"quotes", "rejected", "opportunities", "trades", "pnl", "seed"} <= document.keys()
    assert (document["quotes"], document["rejected"], document["opportunities"]) == (990, 10, 20)
    assert (document["trades"], document["rejections"], document["seed"]) == (3, 17, 1)
    assert document["pnl"]["net"] == document["equity_end"] == "-0.25"
    assert document["drawdown"] == {"depth": "4", "share": None, "start": START, "end": START + 10_000_000}
    assert (document["is_of_bars"], document["missed"]) == (False, "11.75")
    assert document["rejections_by_reason"]["below_threshold"] == {"count": 12, "episodes": 4, "missed": "3.5"}
    assert document["arbitrages"][1]["pnl"]["net"] == "-4"
    assert document["lifetimes_ms"] == {"count": 3, "p50": 250.0, "p90": 4_000.0, "p99": 4_000.0, "longest": 4_000.0}
    assert document["quality"][0]["silences"] == [{"start": START, "end": START + 5_000_000}]


def test_without_lifetimes_there_are_no_percentiles() -> None:
    assert lifetime_row(()) is None


def test_the_figures_to_compare() -> None:
    figures = result_of().figures
    assert (figures.trades, figures.rejections, figures.drawdown) == (3, 17, Decimal(4))
    assert (figures.net, figures.fees, figures.currency) == (Decimal("-0.25"), Decimal(-3), "USD")
    assert (figures.since, figures.until) == (result_of().manifest.start_time, result_of().manifest.end_time + 1)


def test_the_lines_say_it_in_short() -> None:
    lines = result_lines(result_of())
    assert lines[0] == "backtest made-up: made up & <b>bold</b>"
    assert "quotes rejected 10  (crossed 7, no price 3)" in lines
    assert "trades          3  (closed 3)" in lines
    assert any(line.startswith("p&l Net") and "-0.25 USD" in line for line in lines)
    assert "  - taker fees in bps a side: alpha 10, beta 12" in lines


def test_the_lines_add_up_and_a_fall_is_below_zero_as_on_the_page() -> None:
    whole = outcome_of()
    unfilled = replace(whole.arbitrages[0], state="unfilled", legs=())
    lines = result_lines(result_of(replace(whole, opportunities=21, arbitrages=(*whole.arbitrages, unfilled))))
    assert "opportunities   21  (traded 3, rejected 17, neither 1)" in lines
    assert "trades          3  (closed 3)" in lines
    assert "no fill         1  (not filled 1): not counted as trades" in lines
    assert "opportunities   20  (traded 3, rejected 17)" in result_lines(result_of())
    assert any(line.startswith("max drawdown") and "-4.00 USD" in line for line in lines)


def test_an_opportunity_that_both_bots_reject_counts_once() -> None:
    counts, opportunity = RejectionCounts(), outcome_of().arbitrages[0].opportunity
    for reason in ("liquidity_used", "pair_busy"):
        counts.reject(opportunity, reason, 0)
    assert {reason: rejected.count for reason, rejected in counts.sums([]).items()} == {"liquidity_used": 1}


def test_assumptions_say_what_depth_and_settings_there_were() -> None:
    result = result_of()
    assert any("beta BTC/EUR" in words for words in result.assumptions)
    deep = replace(result, without_depth=(), parameters=replace(result.parameters, follow_logged_settings=True))
    assert any("walk the recorded levels" in words for words in deep.assumptions)
    assert "the settings follow the recorded log" in deep.assumptions
    failing = replace(result, parameters=replace(result.parameters, failed_share=0.05))
    assert "5.0% of orders are rejected by the exchange, drawn by seed" in failing.assumptions


def test_a_result_without_trades() -> None:
    empty = result_of(outcome_of(()))
    document = result_document(empty)
    assert (document["trades"], document["equity_end"], document["arbitrages"]) == (0, "0", [])
