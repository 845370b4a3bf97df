"""Imports, backtests and sweeps from a program: results as tables, refusals in one sentence."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import arbitrage
from tests.arbitrage.made_up_files import SECONDS, quote_files


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def ticks(home: Path) -> arbitrage.Ticks:
    return arbitrage.import_files("spring", "tardis-quotes", quote_files(home / "files"), home=home)


@pytest.fixture(scope="module")
def result(ticks: arbitrage.Ticks, home: Path) -> arbitrage.Backtest:
    return arbitrage.backtest(ticks, settings={"min_net_bps": 5, "cool_down_ms": 0}, fee_bps=10, home=home)


def test_a_tick_set_gives_its_markets_and_quotes(ticks: arbitrage.Ticks, home: Path) -> None:
    assert [(one.exchange, one.symbol) for one in ticks.markets] == [("bitstamp", "BTC/USD"), ("kraken", "BTC/USD")]
    assert (ticks.name, ticks.currency) == ("spring", "USD")
    quotes = ticks.quotes().to_pandas()
    assert quotes.shape == (2 * SECONDS, 8)
    assert str(quotes.time.dtype) == "datetime64[us, UTC]"
    assert (quotes.bid < quotes.ask).all()
    assert set(quotes.bid_amount) == {2.0}
    assert arbitrage.open_tick_set("spring", home=home).span == ticks.span
    assert repr(ticks) == f"Ticks(spring: {2 * SECONDS:,} quotes of BTC)"


def test_a_backtest_gives_trades_that_sum_to_its_net(result: arbitrage.Backtest) -> None:
    trades = result.trades.to_pandas(exact=True)
    assert len(trades) > 5
    assert sum(trades.net, Decimal(0)) == result.net
    assert result.is_balanced
    assert len(result.fills) >= 2 * len(trades)
    assert result.equity.to_pandas(exact=True).net.iloc[-1] == result.net
    parts = trades[["gross", "latency_decay", "slippage", "fees", "fx", "unwinding"]].sum(axis=1)
    assert (parts == trades.net).all()
    assert str(result.figures.net) in repr(result)


def test_a_table_is_pandas_polars_and_arrow(result: arbitrage.Backtest) -> None:
    trades = result.trades
    assert trades.to_arrow().schema.field("net").type == pa.decimal128(38, 8)
    frame, others = trades.to_pandas(), trades.to_polars()
    assert frame.net.dtype == "float64"
    assert frame.shape == others.shape == (len(trades), len(trades.columns))
    assert others["net"].sum() == result.net
    assert pl.DataFrame(trades).equals(others)
    assert pa.table(trades).equals(trades.to_arrow())


def test_returns_compound_to_the_gain_over_the_capital(result: arbitrage.Backtest) -> None:
    returns = result.returns()
    assert isinstance(returns.index, pd.DatetimeIndex)
    assert returns.index.tz is None
    assert returns.dtype == "float64"
    assert not returns.isna().any()
    assert result.result.performance is not None
    gain = result.gain.to_pandas().gain.iloc[-2]
    assert np.prod(1 + returns.to_numpy()) - 1 == pytest.approx(
        gain / float(result.result.performance.capital), rel=1e-9
    )
    assert len(returns) == result.result.performance.returns


def test_the_same_call_gives_the_same_result(result: arbitrage.Backtest, home: Path) -> None:
    again = arbitrage.backtest("spring", settings={"min_net_bps": 5, "cool_down_ms": 0}, fee_bps="10", home=home)
    assert again.trades.to_arrow().equals(result.trades.to_arrow())
    first, second = result.document(), again.document()
    assert {**first, "seconds": None} == {**second, "seconds": None}
    assert "<html" in again.report()


def test_a_sweep_gives_all_sets_and_its_folds(ticks: arbitrage.Ticks, home: Path) -> None:
    found = arbitrage.sweep(ticks, {"min_net_bps": [5, 50, "2000"]}, fee_bps=Decimal(10), folds=2, home=home)
    results = found.results.to_pandas()
    assert list(results.min_net_bps) == [5.0, 50.0, 2000.0]
    assert results.balanced.all()
    assert results.trades.iloc[2] == 0
    assert found.best["min_net_bps"] in (Decimal(5), Decimal(50))
    assert float(found.best_net) == pytest.approx(results.net.max())
    # of few trades, but of returns enough for a ratio
    assert found.deflated_sharpe is not None
    assert 0 <= found.deflated_sharpe <= 1
    folds = found.folds.to_pandas()
    assert folds.shape == (2, 7)
    assert (folds.training_start < folds.test_start).all()
    again = arbitrage.sweep(ticks, {"min_net_bps": [5, 50, "2000"]}, fee_bps=Decimal(10), folds=2, home=home)
    assert again.document() == found.document()


def _backtest(**named: object) -> Callable[[Path], object]:
    return lambda home: arbitrage.backtest("spring", home=home, **named)  # type: ignore[arg-type]  # mistakes


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no set": (lambda home: arbitrage.open_tick_set("nobody", home=home), "nobody is not a tick set"),
    "no setting": (_backtest(settings={"min_net_pbs": 5}), "'min_net_pbs' is not a setting"),
    "out of bounds": (_backtest(settings={"max_notional": 0}), "max_notional"),
    "no exchange": (_backtest(latency_ms={"nowhere": 5}), "latency of 'nowhere'"),
    "no number": (_backtest(fee_bps="ten"), "fee_bps"),
    "no share": (_backtest(failed_share=2), "outside 0 to 100"),
    "no format": (lambda home: arbitrage.import_files("a", "tsv", ["a.csv"], home=home), "'tsv' is not a format"),
    "no file": (lambda home: arbitrage.import_files("a", "tardis-quotes", ["a.csv"], home=home), "a.csv"),
    "no base": (lambda home: arbitrage.open_tick_set("spring", home=home).quotes("ETH"), "has BTC"),
    "no parameter": (lambda home: arbitrage.sweep("spring", {"speed": [1]}, home=home), "'speed' is not a sweep"),
    "no session": (lambda home: arbitrage.verify("nobody", home=home), "has no session nobody"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_one_sentence(case: str, ticks: arbitrage.Ticks, home: Path) -> None:
    call, words = REFUSED[case]
    with pytest.raises(arbitrage.RefusedError) as caught:
        call(home)
    said = str(caught.value)
    assert words in said
    assert said.endswith(".")
    assert not said.endswith("..")
    assert "\n" not in said


def test_a_stream_app_gives_rows() -> None:
    app = arbitrage.StreamApp("define stream S (price double); from S[price > 1.0] select price insert into Out;")
    assert [row.values for row in app.send("S", [2.0], at=1_000)] == [{"price": 2.0}]
    with pytest.raises(arbitrage.AppError):
        arbitrage.StreamApp("from nowhere")
