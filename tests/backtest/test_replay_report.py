import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.profile_recordings import Recording, load_recording
from backtest.replay_profiles import LEAN_BTC
from backtest.report.replay_report import ReplayOutcome, report_json, report_lines
from market.accounting.profit_groups import profit_from
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, ArbitrageState
from tests.backtest.recorded import write_bars
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, fill_of, levels, opportunity_of, order_leg


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    usd = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (400, "100", "101"), (401, "100", "99"))
    eur = write_bars(tmp_path / "btceur" / "20180404_quote.zip", (402, "80", "81"))
    rate = write_bars(
        tmp_path / "eurusd" / "20180404_quote.zip", (0, "1.22", "1.23"), (102, "1.22", "1.23"), amount="0"
    )
    return load_recording(LEAN_BTC, (usd, eur, rate))


def ended(state: ArbitrageState, net: str | None) -> Arbitrage:
    """Return an ended arbitrage, traded if it has a profit: gross 2, fees −1 and the rest slippage."""
    opportunity = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("101", "1"))))
    one, hundred = Decimal(1), Decimal(100)
    if net is None:
        return replace(arbitrage_of(opportunity, order_leg(USD_MARKET, "buy", one, hundred)), state=state)
    leg = order_leg(USD_MARKET, "buy", one, hundred, [fill_of(USD_MARKET, "buy", one, hundred)])
    parts = {"gross": Decimal(2), "slippage": Decimal(net) - 1, "fees": Decimal(-1), "net": Decimal(net)}
    profit = profit_from("USD", parts)
    return replace(arbitrage_of(opportunity, leg), state=state, profit=profit)


def outcome() -> ReplayOutcome:
    return ReplayOutcome(
        opportunities=7,
        arbitrages=(ended("closed", "0.5"), ended("closed", "0.25"), ended("residual", "-2"), ended("unfilled", None)),
        rejections={"below_threshold": 3, "pair_busy": 1},
        sent={"coinbase": 2, "coinbase-eur": 1, "fxcm": 1},
        speed=120,
        wall_seconds=1.2345,
    )


def test_lines_say_what_came_in_what_came_out_and_what_was_assumed(recording: Recording) -> None:
    text = "\n".join(report_lines(recording, outcome()))
    for part in (
        "replay lean-btc: BTC/USD and BTC/EUR on Coinbase by the minute, with FXCM's EUR/USD",
        "recorded 120 s, replayed 120 times faster in 1 s",
        "quotes in       4  (coinbase 2, coinbase-eur 1, fxcm 1)",
        "quotes rejected 1  (crossed 1)",
        "left out        1  (FX quotes at times without a traded quote)",
        "opportunities   7",
        "trades          3  (closed 2, residual 1)",
        "no fill         1  (not filled 1): not counted as trades",
        "rejections        4  (Below the threshold 3, Pair already has an open arbitrage 1)",
        "p&l Net                    -1.25 USD",
        "p&l Fees                   -3.00 USD",
    ):
        assert part in text
    for assumption in LEAN_BTC.all_assumptions:
        assert f"  - {assumption}" in text


def test_json_has_the_same_and_survives_json(recording: Recording) -> None:
    report = report_json(recording, outcome())
    assert json.loads(json.dumps(report)) == report
    assert report["quotes_in"] == 4
    assert (report["quotes_rejected"], report["rejected_by_reason"]) == (1, {"crossed": 1})
    assert (report["opportunities"], report["trades"], report["rejections"]) == (7, 3, 4)
    assert report["profit"] == {
        "gross": "6",
        "latency_decay": "0",
        "slippage": "-4.25",
        "fees": "-3",
        "fx": "0",
        "unwinding": "0",
        "net": "-1.25",
    }
    assert report["assumptions"] == list(LEAN_BTC.all_assumptions)


def test_the_parts_of_the_profit_sum_to_its_net(recording: Recording) -> None:
    profit = report_json(recording, outcome())["profit"]
    assert isinstance(profit, dict)
    assert sum(Decimal(profit[name]) for name in PROFIT_PARTS if name != "net") == Decimal(profit["net"])


def test_a_replay_without_anything_to_report_has_no_empty_brackets(recording: Recording) -> None:
    lines = report_lines(recording, replace(outcome(), opportunities=0, arbitrages=(), rejections={}, speed=1))
    assert "trades          0" in lines
    assert "rejections        0" in lines
    assert "recorded 120 s, replayed at recorded speed in 1 s" in lines
