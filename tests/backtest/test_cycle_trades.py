"""Backtests that trade cycles: on the accounts, balances, limits and fees of pairs, with a ledger that agrees; and the
same to the last bit without them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.detect.workers import ThisProcess
from backtest.parameters import Balances, FeeTier, Latency
from backtest.report.page import report_page
from backtest.report.result_document import result_document
from backtest.report.result_lines import result_lines
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import BacktestResult
from backtest.result.cycles_found import CyclesFound
from backtest.run import run_backtest
from market.instruments.cycles import CycleTerms
from market.instruments.markets import Market
from market.money import total
from market.trade.cycle_trades import CycleTrade
from tests.backtest.cycle_sets import BEGIN, MARKETS, SECOND, Row, cycle_set, random_rows, row_of

EVERYWHERE = CycleTerms(3, frozenset({"alpha"}), frozenset({"alpha", "beta"}))
UNLIMITED = ("max_notional", "max_total_notional", "max_exchange_notional", "max_asset_notional", "max_exposure")
VALUES = {"min_net_bps": "0", "max_quote_age_ms": "3600000", **dict.fromkeys(UNLIMITED, "1000000")}
MILLISECOND = SECOND // 1_000

TRIANGLE: list[Row] = [
    row_of("BTC/USD", BEGIN, "40000", "40000", ("0.5",)),
    row_of("EUR/USD", BEGIN, "1.1", "1.1001", ("1000000",)),
    row_of("BTC/EUR", BEGIN, "36300", "36400", ("1",)),
    row_of("ETH/BTC", BEGIN, "0.05", "0.05", ("20",)),
    row_of("ETH/USD", BEGIN + SECOND, "2020", "2021", ("6",)),
    row_of("ETH/USD", BEGIN + 2 * SECOND, "2020", "2021", ("8",)),
    row_of("ETH/USD", BEGIN + 60 * SECOND, "1990", "2001", ("8",)),
    row_of("ETH/USD", BEGIN + 120 * SECOND, "2020", "2021", ("4",)),
]
BUY_BITCOIN = "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell"
ROUND = "alpha:BTC/USD:buy>beta:BTC/EUR:sell>alpha:EUR/USD:sell"


def run(
    folder: Path,
    rows: Sequence[Row],
    terms: CycleTerms | None = EVERYWHERE,
    *,
    fee_bps: str = "0",
    markets: tuple[Market, ...] = MARKETS,
    values: Mapping[str, str] | None = None,
    balances: Balances | None = None,
    **changes: object,
) -> BacktestResult:
    tick_set = cycle_set(folder, rows, markets)
    request = RequestedBacktest(values=VALUES | dict(values or {}), fee_bps=Decimal(fee_bps), cycles=terms)
    parameters = parameters_for(tick_set, request)
    parameters = replace(parameters, **({} if balances is None else {"balances": balances}), **changes)  # type: ignore[arg-type] # a table
    result = run_backtest(ThisProcess(), tick_set, parameters)
    assert result.trading.is_balanced
    return result


def found_in(result: BacktestResult) -> CyclesFound:
    assert result.trading.cycles is not None
    return result.trading.cycles


def trades_of(result: BacktestResult, cycle_id: str = BUY_BITCOIN) -> list[CycleTrade]:
    return [trade for trade in found_in(result).trades if trade.cycle.cycle_id == cycle_id]


def net_of(trade: CycleTrade) -> Decimal:
    assert trade.profit is not None
    return trade.profit.net


def test_a_cycle_that_pays_is_traded_and_closes_with_its_profit(tmp_path: Path) -> None:
    result = run(tmp_path / "set", TRIANGLE)
    first, second = trades_of(result)
    # 6 ETH at 0.05 are 0.3 BTC at 40,000: 12,000 bring 12,120
    assert [order.filled for order in first.orders] == [Decimal("0.3"), Decimal(6), Decimal(6)]
    assert (first.state, net_of(first)) == ("closed", Decimal(120))
    # the same quotes of BTC/USD and ETH/BTC still stand, and show 0.2 BTC beside what was taken
    assert [order.filled for order in second.orders] == [Decimal("0.2"), Decimal(4), Decimal(4)]
    assert (second.state, net_of(second)) == ("closed", Decimal(80))
    assert first.times["ended"] == BEGIN + SECOND + 55 * MILLISECOND
    trading = result.trading
    assert trading.profit.net == 200
    assert trading.equity[-1].net == 200
    assert trading.after["alpha"]["USD"] - trading.before["alpha"]["USD"] == 200
    episodes = [one for one in found_in(result).episodes if one.cycle.cycle_id == BUY_BITCOIN]
    assert [(one.start, one.end, one.sightings, one.state, len(one.trades)) for one in episodes] == [
        (BEGIN + SECOND, BEGIN + 2 * SECOND, 2, "traded", 2),
        (BEGIN + 120 * SECOND, BEGIN + 120 * SECOND, 1, "liquidity_used", 0),
    ]


def test_a_leg_that_is_gone_when_its_order_arrives_is_unwound(tmp_path: Path) -> None:
    gone = [row for row in TRIANGLE if int(str(row["received_time"])) < BEGIN + 2 * SECOND]
    gone.append(row_of("ETH/USD", BEGIN + SECOND + 30 * MILLISECOND, "1990", "2001", ("6",)))
    (unwound,) = trades_of(run(tmp_path / "set", gone))
    assert [order.name for order in unwound.orders] == ["leg1", "leg2", "leg3", "complete3", "reverse1", "reverse2"]
    assert [order.filled for order in unwound.orders][2:4] == [0, 0]
    # what was bought is sold again at the same prices
    assert (unwound.state, unwound.reason, net_of(unwound)) == ("unwound", "reversed", Decimal(0))
    (held,) = trades_of(run(tmp_path / "held", gone, values={"single_leg_policy": "hold"}))
    assert (held.state, held.reason) == ("residual", "single_leg_left")
    assert held.flows == {"USD": -12_000, "BTC": 0, "ETH": 6}


def test_a_better_price_completes_what_did_not_fill(tmp_path: Path) -> None:
    rows = [row for row in TRIANGLE if int(str(row["received_time"])) < BEGIN + 2 * SECOND]
    rows.append(row_of("ETH/USD", BEGIN + SECOND + 30 * MILLISECOND, "2015", "2016", ("6",)))
    (trade,) = trades_of(run(tmp_path / "set", rows, values={"max_slippage_bps": "0"}))
    assert [(order.name, order.filled) for order in trade.orders][2:] == [
        ("leg3", Decimal(0)),
        ("complete3", Decimal(6)),
    ]
    assert (trade.state, net_of(trade)) == ("closed", Decimal(90))
    assert trade.profit is not None
    assert (trade.profit.gross, trade.profit.unwinding) == (Decimal(120), Decimal(-30))


def test_legs_whose_currency_is_not_held_wait_for_the_one_before(tmp_path: Path) -> None:
    dollars: Balances = {"alpha": {"USD": Decimal(1_000_000)}, "beta": {"EUR": Decimal(1_000_000)}}
    first, _ = trades_of(run(tmp_path / "set", TRIANGLE, balances=dollars, values={"max_slippage_bps": "0"}))
    assert (first.state, net_of(first)) == ("closed", Decimal(120))
    # each takes a latency of 50 ms, and each of the later ones 5 ms to be decided
    assert first.times["ended"] == BEGIN + SECOND + (5 + 50 + 55 + 55) * MILLISECOND
    assert [order.waits for order in first.orders] == [False, True, True]


def test_a_cycle_over_two_exchanges_trades_the_rate_market(tmp_path: Path) -> None:
    rows = [row_of("BTC/EUR", BEGIN, "36400", "36401", ("1",)), row_of("ETH/USD", BEGIN, "1999", "2001", ("8",))]
    rows += [row_of("EUR/USD", BEGIN, "1.1", "1.1001", ("1000000",)), row_of("ETH/BTC", BEGIN, "0.0499", "0.0501")]
    rows += [row_of("BTC/USD", BEGIN + SECOND, "39990", "39995", ("0.5",))]
    # the pair of exchanges would take the same quotes first
    result = run(tmp_path / "set", rows, values={"pair_thresholds": '{"alpha/beta": 1000}'})
    (trade,) = trades_of(result, ROUND)
    # 36,400 EUR at 1.1 are 40,040 USD
    assert (trade.state, net_of(trade)) == ("closed", Decimal("22.5"))
    assert {share.exchange for share in trade.profit.shares} == {"alpha", "beta"} if trade.profit else False
    assert result.trading.after["alpha"]["EUR"] == result.trading.before["alpha"]["EUR"] - Decimal("18200")
    assert result.trading.after["beta"]["EUR"] == result.trading.before["beta"]["EUR"] + Decimal("18200")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"max_notional": "0.001"}, "limit_reached"),
        ({"max_exchange_notional": "0.001"}, "exchange_limit"),
        ({"disabled_assets": "ETH"}, "asset_disabled"),
        ({"trading_state": "halted"}, "halted"),
        ({"quarantine_ceiling_bps": "50"}, "quarantined"),
    ],
)
def test_what_is_not_traded_says_why(tmp_path: Path, values: dict[str, str], reason: str) -> None:
    result = run(tmp_path / "set", TRIANGLE, values=values)
    assert not found_in(result).trades
    assert {one.state for one in found_in(result).episodes} == {reason}
    assert found_in(result).not_traded == {3: {reason: len(found_in(result).episodes)}}


def test_balances_are_shared_with_pairs_and_none_is_spent_twice(tmp_path: Path) -> None:
    poor: Balances = {"alpha": {"USD": Decimal(13_000)}, "beta": {}}
    first, *_ = trades_of(run(tmp_path / "set", TRIANGLE, balances=poor, values={"max_slippage_bps": "0"}))
    assert (first.state, net_of(first)) == ("closed", Decimal(120))
    none: Balances = {"alpha": {"BTC": Decimal(1)}, "beta": {}}
    result = run(tmp_path / "none", TRIANGLE, balances=none)
    assert not trades_of(result)
    assert any("where none is held" in reason for reason in found_in(result).reasons)


def test_orders_that_fail_open_the_circuit_breaker(tmp_path: Path) -> None:
    values = {"breaker_failures": "3", "breaker_pause_ms": "60000"}
    result = run(tmp_path / "set", TRIANGLE, values=values, failed_share=1.0)
    trades = found_in(result).trades
    assert [(trade.state, trade.reason) for trade in trades] == [("unfilled", "nothing_filled")] * 2
    # the sighting a second after the first was within the pause
    assert [trade.times["event"] - BEGIN for trade in trades] == [SECOND, 120 * SECOND]
    assert [one.state for one in found_in(result).episodes] == ["traded", "traded"]


def test_fees_by_volume_count_what_cycles_turned_over(tmp_path: Path) -> None:
    day = 86_400 * SECOND
    later = [{**row, "received_time": int(str(row["received_time"])) + day} for row in TRIANGLE]
    tiers = {"alpha": (FeeTier(Decimal(0), Decimal("0.0001")), FeeTier(Decimal(10_000), Decimal(0)))}
    trades = trades_of(run(tmp_path / "set", [*TRIANGLE, *later], fee_tiers=tiers))
    days = {trade.times["reserved"] // day: trade.orders[0].fee_rate for trade in trades}
    assert list(days.values()) == [Decimal("0.0001"), Decimal(0)]


def test_an_order_later_than_the_price_costs_what_the_price_did(tmp_path: Path) -> None:
    rows = [*TRIANGLE[:5], row_of("ETH/USD", BEGIN + SECOND + 100 * MILLISECOND, "1990", "2001", ("6",))]
    quick = run(tmp_path / "quick", rows)
    slow = run(tmp_path / "slow", rows, latency={"alpha": Latency(200.0), "beta": Latency(200.0)})
    assert quick.trading.profit.net == 120
    assert [trade.state for trade in trades_of(slow)] == ["unwound"]


def test_the_document_counts_by_legs_and_has_every_order(tmp_path: Path) -> None:
    document = json.loads(json.dumps(result_document(run(tmp_path / "set", TRIANGLE))))
    assert document["arbitrages_by_legs"]["3"] == {"closed": 2}
    assert sum(sum(ends.values()) for ends in document["cycles_by_reach"].values()) == 2
    assert sum(document["arbitrages_by_legs"]["2"].values()) == len(document["arbitrages"])
    cycles = document["cycles"]
    assert (cycles["watched"], cycles["not_traded"]) == (4, {"3": {"liquidity_used": 1}})
    first = cycles["trades"][0]
    assert (first["legs"], first["currency"], first["pnl"]["net"]) == (3, "USD", "120")
    assert first["flows"] == {"BTC": "0", "ETH": "0", "USD": "120"}
    assert [order["name"] for order in first["orders"]] == ["leg1", "leg2", "leg3"]
    assert [leg["gives"] for leg in first["planned"]["legs"]] == ["12000", "0.3", "6"]
    assert cycles["by_cycle"] == [
        {"legs": 3, "cycle": first_words(), "trades": 2, "turnover": "60200", "fees": "0", "net": "200"}
    ]
    assert total(Decimal(line["net"]) for line in document["by_day"]) == 200
    assert document["performance"]["turnover"] == "60200"
    assert document["pnl"]["net"] == document["equity_end"] == "200"


def test_thresholds_and_sizes_are_those_of_the_cycle_and_say_whose(tmp_path: Path) -> None:
    own = {"cycle_notionals": '{"alpha": 4000}', "max_slippage_bps": "0"}
    own |= {"cycle_thresholds": f'{{"{BUY_BITCOIN}": 100.5}}'}
    assert not trades_of(run(tmp_path / "high", TRIANGLE, values=own))
    result = run(tmp_path / "low", TRIANGLE, values=own | {"cycle_thresholds": f'{{"{BUY_BITCOIN}": 99.5}}'})
    cycles = json.loads(json.dumps(result_document(result)))["cycles"]
    first = next(trade for trade in cycles["trades"] if trade["cycle"] == BUY_BITCOIN)
    assert first["threshold"] == {"bps": 99.5, "of": "cycle"}
    assert first["max_notional"] == {"amount": "4000", "of": "within alpha"}
    assert first["planned"]["gives"] == "4000"


def first_words() -> str:
    return "buy BTC/USD at alpha, buy ETH/BTC at alpha, sell ETH/USD at alpha"


def test_fees_close_what_pays_without_them(tmp_path: Path) -> None:
    assert not trades_of(run(tmp_path / "set", TRIANGLE, fee_bps="40"))


def test_lines_and_page_say_what_cycles_brought(tmp_path: Path) -> None:
    result = run(tmp_path / "set", TRIANGLE)
    lines = result_lines(result)
    assert "cycles watched  4" in lines
    assert "  of 3 legs     2  (closed 2)" in lines
    assert "    not traded  1 episodes  (Liquidity of the quote already used 1)" in lines
    assert any(line.startswith("  net of cycles") and "200.00 USD" in line for line in lines)
    page = report_page(result)
    assert "By cycle" in page
    assert first_words() in page
    assert "By cycle" not in report_page(run(tmp_path / "pairs", TRIANGLE, None))


@pytest.mark.parametrize("seed", range(3))
def test_pairs_come_out_the_same_while_no_cycle_is_traded(tmp_path: Path, seed: int) -> None:
    rows = random_rows(seed, 300)
    tick_set = cycle_set(tmp_path / "set", rows)
    nowhere = CycleTerms(3, frozenset({"beta"}), frozenset())
    parameters = parameters_for(tick_set, RequestedBacktest(values=VALUES, fee_bps=Decimal(0), cycles=nowhere))
    with_cycles = result_document(run_backtest(ThisProcess(), tick_set, parameters))
    without = result_document(run_backtest(ThisProcess(), tick_set, replace(parameters, cycles=None)))
    assert with_cycles["opportunities"] == without["opportunities"] != 0
    for name, value in without.items():
        if name not in ("cycles", "arbitrages_by_legs", "assumptions", "seconds"):
            assert with_cycles[name] == value, name
    assert without["cycles"] is None
    assert without["cycles_by_reach"] == {"within": {}, "across": {}}
    assert list(without["arbitrages_by_legs"]) == ["2"]  # type: ignore[call-overload] # a mapping, in a document


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 500), (4, 500), *(pytest.param(seed, 1_500, marks=pytest.mark.soak) for seed in range(6))]
)
def test_pairs_and_cycles_together_leave_books_that_agree(tmp_path: Path, seed: int, count: int) -> None:
    rows = random_rows(seed, count, step=SECOND // 10)
    terms = CycleTerms(5, frozenset({"alpha"}), frozenset({"alpha", "beta"}))
    values = {"cool_down_ms": "0", "max_open_arbitrages": "20", "max_notional": "5000"}
    result = run(tmp_path / "set", rows, terms, values=values, fee_bps="1", failed_share=0.1 * (seed % 2))
    trading, trades = result.trading, found_in(result).trades
    assert trading.arbitrages
    assert len(trades) > 5
    assert not any(trade.is_open for trade in trades)
    ids = [order.client_order_id for trade in trades for order in trade.orders]
    assert len(set(ids)) == len(ids)
    assert all(len(trade.orders) >= len(trade.cycle.legs) for trade in trades)
    ended = [one.profit.net for one in trading.all_trades if one.profit is not None]
    assert trading.profit.net == trading.equity[-1].net == total(ended)
    parts = trading.profit.parts
    assert total(amount for part, amount in parts.items() if part != "net") == parts["net"]
    again = run(tmp_path / "again", rows, terms, values=values, fee_bps="1", failed_share=0.1 * (seed % 2))
    assert again.trading == trading


def test_one_exchange_alone_is_enough_for_cycles_within_it(tmp_path: Path) -> None:
    alone = tuple(market for market in MARKETS if market.exchange == "alpha")
    rows = [row for row in TRIANGLE if row["exchange"] == "alpha"]
    result = run(tmp_path / "set", rows, replace(EVERYWHERE, across=frozenset()), markets=alone)
    assert {trade.cycle.exchanges for trade in found_in(result).trades} == {("alpha",)}
