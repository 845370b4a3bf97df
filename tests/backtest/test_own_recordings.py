"""A session's recording is replayed as it stood in the log: withdrawals, marks and sequences included."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.own_recordings import load_own_recording
from market.instruments.markets import Market
from market.money import Amount, Price
from market.prices.book_top import BookTop
from market.prices.quotes import FeedMark, Level, Quote
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import FileRecorder, RecordingLimits
from pricefeeds.recording.feed_recording import RecordingHeader
from tests.market.samples import EUR_MARKET, USD_MARKET
from tick_sets.errors import ImportRejectedError

EURO = replace(EUR_MARKET, exchange="bitstamp")
DOLLAR = replace(USD_MARKET, exchange="kraken")
RATE = replace(DOLLAR, symbol="EUR/USD", base="EUR", is_fx=True)
SECOND = 1_000_000


def book(bid: str, ask: str) -> BookTop:
    amount = Amount(Decimal(1))
    return BookTop((Level(Price(Decimal(bid)), amount),), (Level(Price(Decimal(ask)), amount),))


def recorded(root: Path, markets: tuple[Market, ...], begin: int, session_id: str = "s") -> list[Row]:
    """Record per market a quote, the same renewed, a crossed book and what it withdraws, from `begin` on."""
    recorder, published = _recorder(root, markets, session_id), list[Row]()
    for number, market in enumerate(markets):
        feed, now = SymbolFeed(market, 0, begin), begin + number
        for rows in (
            feed.take(book("100", "101"), now),
            feed.alive(now + SECOND),
            feed.take(book("103", "102"), now + 2 * SECOND),
        ):
            recorder.record_rows(market.symbol, begin, rows)
            published += rows
    recorder.close()
    return published


def _recorder(root: Path, markets: tuple[Market, ...], session_id: str) -> FileRecorder:
    return FileRecorder(root, RecordingHeader(session_id, markets[0].exchange, markets), RecordingLimits())


def test_the_log_of_a_session_is_replayed(tmp_path: Path) -> None:
    published = recorded(tmp_path, (EURO,), begin=500 * SECOND)
    published += recorded(tmp_path, (DOLLAR,), begin=500 * SECOND + 10)
    published += _rates(tmp_path)
    recording = load_own_recording(tmp_path)
    logged = [row for row in published if isinstance(row, Quote | FeedMark)]
    assert list(recording.rows()) == sorted(logged, key=lambda row: row.received_time)
    assert {market.symbol for market in recording.markets} == {"BTC/EUR", "BTC/USD", "EUR/USD"}
    assert recording.rejected == {"crossed": 3}
    assert (recording.start_time, len(recording.quotes), len(recording.files)) == (500 * SECOND, 3, 3)
    assert recording.profile.paper_balances["bitstamp"].keys() == {"BTC", "EUR"}
    assert recording.profile.settings.enabled_exchanges == ("bitstamp", "kraken")


def _rates(root: Path) -> list[Row]:
    return recorded(root, (replace(RATE, exchange="rates"),), begin=500 * SECOND + 20)


def test_what_makes_no_arbitrage_is_rejected(tmp_path: Path) -> None:
    recorded(tmp_path, (EURO,), begin=SECOND)
    with pytest.raises(ImportRejectedError, match="needs usable quotes of two of bitstamp"):
        load_own_recording(tmp_path)
    recorded(tmp_path, (DOLLAR,), begin=SECOND)
    with pytest.raises(ImportRejectedError, match="needs FX quotes to become USD"):
        load_own_recording(tmp_path)


def test_one_session_at_a_time(tmp_path: Path) -> None:
    for session_id in ("first", "second"):
        recorded(tmp_path, (EURO,), begin=SECOND, session_id=session_id)
    with pytest.raises(ImportRejectedError, match=r"holds 2 sessions; name one of them \(first, second\)"):
        load_own_recording(tmp_path)


def test_a_folder_without_recordings_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match="contains no recording"):
        load_own_recording(tmp_path)
