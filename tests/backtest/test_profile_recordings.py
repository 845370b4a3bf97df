from bisect import bisect_right
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from backtest.profile_recordings import Recording, load_recording
from backtest.replay_profiles import BINANCE_BTC, LEAN_BTC, ReplayProfile
from market.prices.quotes import Quote
from tests.backtest.plain_loop import PlainLoop, Seen
from tests.backtest.recorded import BINANCE_FILES, LEAN_FILES, recordings_or_skip, write_bars, write_tickers
from tick_sets.errors import ImportRejectedError


def test_files_are_merged_by_time_whatever_their_order(tmp_path: Path) -> None:
    spot = write_tickers(tmp_path / "spot" / "a.gz", "BTCUSDT", (10, "100", "101"), (30, "100", "102"))
    usdm = write_tickers(tmp_path / "usdm" / "a.gz", "BTCUSDT", (10, "100", "103"), (20, "100", "104"))
    recording = load_recording(BINANCE_BTC, (usdm, spot))
    order = [(quote.exchange, quote.received_time, quote.sequence) for quote in recording.quotes]
    assert order == [("binance", 10, 1), ("binanceusdm", 10, 1), ("binanceusdm", 20, 2), ("binance", 30, 2)]
    assert recording.files == (spot, usdm)
    assert [market.exchange for market in recording.markets] == ["binance", "binanceusdm"]
    assert (recording.start_time, recording.end_time, recording.rejected) == (10, 30, {})
    assert load_recording(BINANCE_BTC, (spot, usdm)) == recording


def test_unnumbered_quotes_get_their_rank_and_fx_comes_first(tmp_path: Path) -> None:
    usd = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (300, "100", "101"), (301, "100", "101"))
    eur = write_bars(tmp_path / "btceur" / "20180404_quote.zip", (300, "80", "81"))
    rate = write_bars(tmp_path / "eurusd" / "20180404_quote.zip", (0, "1.22", "1.23"), amount="0")
    recording = load_recording(LEAN_BTC, (usd, eur, rate))
    assert [(quote.exchange, quote.sequence) for quote in recording.quotes] == [
        ("fxcm", 1),
        ("coinbase", 2),
        ("coinbase-eur", 3),
        ("coinbase", 4),
    ]


def test_bars_of_one_moment_replace_the_older_ones_together(tmp_path: Path) -> None:
    usd = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (400, "100", "101"), (401, "102", "103"))
    eur = write_bars(tmp_path / "btceur" / "20180404_quote.zip", (400, "80", "81"), (401, "82", "83"))
    rate = write_bars(
        tmp_path / "eurusd" / "20180404_quote.zip", (100, "1.22", "1.23"), (101, "1.22", "1.23"), amount="0"
    )
    rows = load_recording(LEAN_BTC, (usd, eur, rate)).rows()
    assert [(row.kind, row.exchange) for row in rows] == [
        ("fx", "fxcm"),
        ("quote", "coinbase"),
        ("quote", "coinbase-eur"),
        ("withdrawn", "coinbase"),
        ("withdrawn", "coinbase-eur"),
        ("fx", "fxcm"),
        ("quote", "coinbase"),
        ("quote", "coinbase-eur"),
    ]


def test_fx_quotes_without_trading_at_their_time_are_left_out(tmp_path: Path) -> None:
    usd = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (400, "100", "101"))
    eur = write_bars(tmp_path / "btceur" / "20180404_quote.zip", (400, "80", "81"))
    minutes = [(minute, "1.22", "1.23") for minute in (0, 97, 100, 101, 200)]
    rate = write_bars(tmp_path / "eurusd" / "20180404_quote.zip", *minutes, amount="0")
    recording = load_recording(LEAN_BTC, (usd, eur, rate))
    # FX minute 100 is UTC-05, so minute 400 of the day; three minutes before it is older than max_quote_age
    assert [quote.kind for quote in recording.quotes] == ["fx", "quote", "quote"]
    assert recording.outside == 4


LACKING: dict[str, tuple[ReplayProfile, list[str], str]] = {
    "one exchange": (LEAN_BTC, ["btcusd"], "a replay of lean-btc needs usable quotes of two of coinbase, coinbase-eur"),
    "no rate": (LEAN_BTC, ["btcusd", "btceur"], "coinbase-eur BTC/EUR needs FX quotes to become USD"),
    "other profile": (BINANCE_BTC, ["btcusd"], "is not a recording of binance-btc"),
}


@pytest.mark.parametrize(("profile", "folders", "sentence"), LACKING.values(), ids=LACKING.keys())
def test_a_recording_that_lacks_something_is_rejected(
    tmp_path: Path, profile: ReplayProfile, folders: list[str], sentence: str
) -> None:
    files = [write_bars(tmp_path / folder / "20180404_quote.zip", (1, "100", "101")) for folder in folders]
    with pytest.raises(ImportRejectedError, match=sentence):
        load_recording(profile, tuple(files))


def test_a_file_named_twice_is_rejected(tmp_path: Path) -> None:
    path = write_bars(tmp_path / "btcusd" / "20180404_quote.zip", (1, "100", "101"))
    with pytest.raises(ImportRejectedError, match="is named twice"):
        load_recording(LEAN_BTC, (path, tmp_path / "btcusd" / "." / "20180404_quote.zip"))


# -- the recordings themselves: what a replay of them must come to


@cache
def binance() -> Recording:
    return load_recording(BINANCE_BTC, recordings_or_skip(BINANCE_FILES))


@cache
def lean() -> Recording:
    return load_recording(LEAN_BTC, recordings_or_skip(LEAN_FILES))


def opportunities(recording: Recording, fee_bps: str) -> list[Seen]:
    profile = recording.profile.with_fee_bps(Decimal(fee_bps))
    loop = PlainLoop(recording.markets, profile.settlement_currency, profile.settings)
    return [seen for row in recording.rows() for seen in loop.take(row)]


@pytest.mark.slow
def test_every_best_bid_and_ask_of_binance_is_read() -> None:
    recording = binance()
    counts = Counter(quote.exchange for quote in recording.quotes)
    assert counts == {"binance": 28_040, "binanceusdm": 66_089, "binancecoinm": 19_136}
    assert (recording.rejected, recording.outside) == ({}, 0)
    ids = {quote.quote_id for quote in recording.quotes}
    assert len(ids) == len(recording.quotes)


@pytest.mark.slow
def test_spot_against_futures_is_crossed_as_independently_measured() -> None:
    """27,762 spot quotes have a USD-M quote at most 2 s old; 99.93 % are crossed, by 11.04 bps at most."""
    recording = binance()
    spot, futures = (
        [quote for quote in recording.quotes if quote.exchange == name] for name in ("binance", "binanceusdm")
    )
    gaps = [_widest_gap_bps(quote, earlier) for quote in spot if (earlier := _as_of(futures, quote)) is not None]
    assert len(gaps) == 27_762
    assert sum(gap > 0 for gap in gaps) / len(gaps) == pytest.approx(0.9993, abs=5e-5)
    assert max(gaps) == pytest.approx(11.04, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("fee_bps", "expected"), [("10", 0), ("5", 26), ("0", 224_963)])
def test_opportunities_of_binance_by_fee(fee_bps: str, expected: int) -> None:
    """Nothing at 10 bps a side: the widest gap, 11.6 bps, does not pay 20 bps of fees."""
    found = opportunities(binance(), fee_bps)
    assert len({seen.opportunity_id for seen in found}) == len(found) == expected
    assert max((seen.gross_bps for seen in found), default=0.0) == pytest.approx(11.59 if expected else 0, abs=0.005)


def test_every_minute_of_lean_is_read() -> None:
    recording = lean()
    counts = Counter(quote.exchange for quote in recording.quotes)
    assert counts == {"coinbase": 1_437, "coinbase-eur": 1_438, "fxcm": 1_435}
    assert recording.rejected == {}


def test_opportunities_of_lean_at_ten_bps() -> None:
    found = opportunities(lean(), "10")
    net = [seen.net_bps for seen in found]
    assert Counter((seen.buy_exchange, seen.sell_exchange) for seen in found) == {
        ("coinbase", "coinbase-eur"): 803,
        ("coinbase-eur", "coinbase"): 6,
    }
    assert len({seen.opportunity_id for seen in found}) == 809
    assert median(net) == pytest.approx(10.36, abs=0.005)
    assert max(net) == pytest.approx(104.83, abs=0.005)
    assert sum(value >= LEAN_BTC.settings.min_net_bps for value in net) == 597


def test_closes_of_lean_are_compared_within_their_minute_alone() -> None:
    """If a close were compared with the other market's of the minute before, gaps would appear that never were."""
    assert all(seen.gross_bps < 125.2 for seen in opportunities(lean(), "0"))


def _as_of(quotes: list[Quote], moment: Quote) -> Quote | None:
    """Return the latest of `quotes` received by then, if it is at most two seconds old."""
    index = bisect_right(quotes, moment.received_time, key=lambda quote: quote.received_time)
    if index == 0 or moment.received_time - quotes[index - 1].received_time > 2_000_000:
        return None
    return quotes[index - 1]


def _widest_gap_bps(one: Quote, other: Quote) -> float:
    gaps = [(sell.bid - buy.ask) * 10_000 / buy.ask for buy, sell in ((one, other), (other, one))]
    return float(max(gaps))
