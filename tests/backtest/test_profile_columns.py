"""Files of a profile by columns are the recording that a replay reads quote by quote."""

from pathlib import Path

import pytest

from backtest.profile_columns import recorded_columns
from backtest.profile_recordings import load_recording
from backtest.replay_profiles import BINANCE_BTC, LEAN_BTC
from market.money import text_of
from market.prices.quotes import Quote
from tests.backtest.made_up_set import BEGIN, made_up_files
from tests.backtest.recorded import write_bars, write_tickers
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.schema import SOURCE_SCHEMA


def test_the_rows_are_those_of_the_recording(tmp_path: Path) -> None:
    files = made_up_files(tmp_path)
    columns, recording = recorded_columns(BINANCE_BTC, files[::-1]), load_recording(BINANCE_BTC, files)
    assert columns is not None
    assert columns.rows.schema == SOURCE_SCHEMA
    assert columns.rows.to_pylist() == [_row(quote) for quote in recording.quotes]
    assert (columns.files, columns.markets, columns.rejected) == (files, recording.markets, recording.rejected)
    assert columns.rejected == {"crossed": 1}


def test_bars_contracts_and_odd_files_are_left_to_the_other_reader(tmp_path: Path) -> None:
    spot, usdm = made_up_files(tmp_path)
    contracts = write_tickers(tmp_path / "cm" / "made-up.gz", "BTCUSD_PERP", (BEGIN, "60000", "60010"))
    odd = write_tickers(tmp_path / "other" / "usdm" / "odd.gz", "BTCUSDT", (BEGIN, "6e4", "60010"))
    bars = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (300, "100", "101"))
    assert recorded_columns(BINANCE_BTC, (spot, usdm, contracts)) is None
    assert recorded_columns(BINANCE_BTC, (spot, odd)) is None
    assert recorded_columns(LEAN_BTC, (bars,)) is None


def test_one_exchange_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match="needs usable quotes of two of"):
        recorded_columns(BINANCE_BTC, made_up_files(tmp_path)[:1])


def _row(quote: Quote) -> dict[str, object]:
    (bid,), (ask,) = quote.bids, quote.asks
    known = {
        "base": quote.base,
        "rank": 0,
        "kind": quote.kind,
        "exchange": quote.exchange,
        "symbol": quote.symbol,
        "received_time": quote.received_time,
        "exchange_time": quote.exchange_time,
        "sequence": quote.sequence,
        "bid_price": float(bid.price),
        "ask_price": float(ask.price),
        "bid": text_of(bid.price),
        "bid_amount": text_of(bid.amount),
        "ask": text_of(ask.price),
        "ask_amount": text_of(ask.amount),
    }
    return {name: known.get(name) for name in SOURCE_SCHEMA.names}
