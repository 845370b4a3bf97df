"""Backtests with cycles: episodes with exact sizes, what no book shows twice, and a result without them as before."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.detect.workers import ThisProcess
from backtest.report.result_document import result_document
from backtest.report.result_lines import result_lines
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import BacktestResult
from backtest.run import run_backtest
from market.instruments.cycles import CycleTerms
from market.instruments.markets import Market
from tests.backtest.cycle_sets import BEGIN, MARKETS, SECOND, Row, cycle_set, random_rows, row_of

EVERYWHERE = CycleTerms(3, frozenset({"alpha"}), frozenset({"alpha", "beta"}))
VALUES = {"min_net_bps": "0", "max_notional": "100000", "max_quote_age_ms": "3600000"}

TRIANGLE: list[Row] = [
    row_of("BTC/USD", BEGIN, "40000", "40000", ("0.5",)),
    row_of("EUR/USD", BEGIN, "1.1", "1.1001", ("1000000",)),
    row_of("BTC/EUR", BEGIN, "36300", "36400", ("1",)),
    row_of("ETH/BTC", BEGIN, "0.05", "0.05", ("20",)),
    row_of("ETH/USD", BEGIN + SECOND, "2020", "2021", ("6",)),
    row_of("ETH/USD", BEGIN + 2 * SECOND, "2020", "2021", ("8",)),
    row_of("ETH/USD", BEGIN + 60 * SECOND, "1990", "1991", ("8",)),
    row_of("ETH/USD", BEGIN + 120 * SECOND, "2020", "2021", ("4",)),
]
BUY_BITCOIN = "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell"


def run(
    folder: Path,
    rows: list[Row],
    terms: CycleTerms | None = EVERYWHERE,
    fee_bps: str = "0",
    markets: tuple[Market, ...] = MARKETS,
) -> BacktestResult:
    tick_set = cycle_set(folder, rows, markets)
    request = RequestedBacktest(values=VALUES, fee_bps=Decimal(fee_bps), cycles=terms)
    return run_backtest(ThisProcess(), tick_set, parameters_for(tick_set, request))


def test_episodes_have_the_size_and_profit_of_their_first_sighting(tmp_path: Path) -> None:
    result = run(tmp_path / "set", TRIANGLE)
    assert result.cycles is not None
    episodes = [one for one in result.cycles.episodes if one.cycle.cycle_id == BUY_BITCOIN]
    assert [(one.start, one.end, one.sightings, one.state) for one in episodes] == [
        (BEGIN + SECOND, BEGIN + 2 * SECOND, 2, "sized"),
        (BEGIN + 120 * SECOND, BEGIN + 120 * SECOND, 1, "sized"),
    ]
    first, second = (one.sized for one in episodes)
    assert first is not None
    # 6 ETH at 0.05 are 0.3 BTC at 40,000: 12,000 bring 12,120
    assert [leg.amount for leg in first.legs] == [Decimal("0.3"), Decimal(6), Decimal(6)]
    assert (first.given, first.profit, first.gap) == (Decimal(12_000), Decimal(120), Decimal(0))
    assert second is not None
    # the same quotes of BTC/USD and ETH/BTC still stand, and show 0.2 BTC beside what was taken
    assert [leg.amount for leg in second.legs] == [Decimal("0.2"), Decimal(4), Decimal(4)]


def test_the_document_counts_by_legs_beside_the_arbitrages(tmp_path: Path) -> None:
    document = json.loads(json.dumps(result_document(run(tmp_path / "set", TRIANGLE))))
    assert document["arbitrages_by_legs"]["3"]["sized"] == len(
        [one for one in document["cycles"]["episodes"] if one["state"] == "sized"]
    )
    assert sum(document["arbitrages_by_legs"]["2"].values()) == len(document["arbitrages"])
    first = next(one for one in document["cycles"]["episodes"] if one["cycle"] == BUY_BITCOIN)
    assert (first["legs"], first["currency"]) == (3, "USD")
    assert first["sized"]["profit"] == "120"
    assert [order["side"] for order in first["sized"]["orders"]] == ["buy", "buy", "sell"]
    assert document["cycles"]["watched"] == 4


def test_fees_close_what_pays_without_them(tmp_path: Path) -> None:
    result = run(tmp_path / "set", TRIANGLE, fee_bps="40")
    assert result.cycles is not None
    assert not [one for one in result.cycles.episodes if one.cycle.cycle_id == BUY_BITCOIN]


def test_lines_say_what_was_found_and_that_nothing_was_executed(tmp_path: Path) -> None:
    lines = result_lines(run(tmp_path / "set", TRIANGLE))
    assert "cycles watched  4" in lines
    assert any(line.startswith("  of 3 legs") and "sized" in line for line in lines)
    assert any("sized, not executed" in line for line in lines)
    assert any("cycles are found and sized, not executed" in line for line in lines)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_exchanges_come_out_the_same_with_cycles(tmp_path: Path, seed: int) -> None:
    rows = random_rows(seed, 300)
    tick_set = cycle_set(tmp_path / "set", rows)
    parameters = parameters_for(tick_set, RequestedBacktest(values=VALUES, fee_bps=Decimal(0), cycles=EVERYWHERE))
    with_cycles = result_document(run_backtest(ThisProcess(), tick_set, parameters))
    without = result_document(run_backtest(ThisProcess(), tick_set, replace(parameters, cycles=None)))
    assert with_cycles["opportunities"] == without["opportunities"] != 0
    for name, value in without.items():
        if name not in ("cycles", "arbitrages_by_legs", "assumptions", "seconds"):
            assert with_cycles[name] == value, name
    assert without["cycles"] is None
    assert list(without["arbitrages_by_legs"]) == ["2"]  # type: ignore[call-overload] # a mapping, in a document


def test_one_exchange_alone_is_enough_for_cycles_within_it(tmp_path: Path) -> None:
    alone = tuple(market for market in MARKETS if market.exchange == "alpha")
    rows = [row for row in TRIANGLE if row["exchange"] == "alpha"]
    result = run(tmp_path / "set", rows, replace(EVERYWHERE, across=frozenset()), markets=alone)
    assert result.cycles is not None
    assert {one.cycle.exchanges for one in result.cycles.episodes} == {("alpha",)}
