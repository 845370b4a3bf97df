from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.prices.candles import INTERVALS, QuoteCandle, merged_candles
from streams.message_format import WireError
from tests.market.samples import USD_MARKET
from tests.ui.samples import mark, quote, tick
from ui.candles.candle_book import CandleBook, MarketCandles
from ui.candles.candle_files import KEPT

SECOND = INTERVALS["1s"]


def quoted(*rows: tuple[float, int]) -> MarketCandles:
    """Of quotes at (second, bid), the ask 2 above."""
    candles = MarketCandles()
    for number, (second, bid) in enumerate(rows):
        candles.add_quote(int(second * SECOND), number, Decimal(bid), Decimal(bid + 2))
    return candles


def closes(candles: list[QuoteCandle]) -> list[tuple[int, Decimal, int]]:
    return [(one.start // SECOND, one.close, one.quotes) for one in candles]


def test_what_is_over_and_what_grows_are_read_as_one() -> None:
    candles = quoted((0.1, 9), (0.9, 11), (2.5, 13), (61, 15))
    assert closes(candles.newest("1s")) == [(0, Decimal(12), 2), (2, Decimal(14), 1), (61, Decimal(16), 1)]
    assert closes(candles.newest("1m")) == [(0, Decimal(14), 3), (60, Decimal(16), 1)]
    assert closes(candles.newest("1h")) == [(0, Decimal(16), 4)]


def test_a_price_that_is_still_valid_goes_on_and_a_withdrawn_one_does_not() -> None:
    candles = quoted((0, 9))
    candles.add_alive(1 * SECOND)
    candles.withdraw()
    candles.add_alive(2 * SECOND)
    assert closes(candles.newest("1s")) == [(0, Decimal(10), 1), (1, Decimal(10), 0)]


def test_a_quote_that_comes_late_or_again_changes_nothing() -> None:
    candles = quoted((5, 9), (6, 11))
    candles.add_quote(7 * SECOND, 1, Decimal(1), Decimal(3))
    candles.add_quote(5 * SECOND, 9, Decimal(1), Decimal(3))
    assert closes(candles.newest("1s")) == [(5, Decimal(10), 1), (6, Decimal(12), 1)]


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(1, 100)), min_size=1, max_size=40))
def test_minutes_and_hours_are_those_of_all_seconds(rows: list[tuple[int, int]]) -> None:
    candles = quoted(*sorted(rows, key=lambda row: row[0]))
    seconds = candles.newest("1s")
    for interval in KEPT:
        assert candles.newest(interval) == list(merged_candles(seconds, INTERVALS[interval]))


def test_it_goes_on_behind_what_is_on_disk() -> None:
    before = quoted((58, 9), (59, 11), (61, 13))
    seconds, minutes = before.newest("1s"), before.newest("1m")
    candles = MarketCandles()
    candles.resume(minutes[:1], seconds[2:], 62 * SECOND)
    # read again from the log, and something new
    candles.add_quote(61 * SECOND, 7, Decimal(13), Decimal(15))
    candles.add_quote(62 * SECOND, 8, Decimal(17), Decimal(19))
    assert closes(candles.newest("1s")) == [(62, Decimal(18), 1)]
    assert closes(candles.newest("1m")) == [(60, Decimal(18), 2)]
    assert closes(candles.newest("1h")) == [(0, Decimal(18), 4)]


def test_what_is_on_disk_is_forgotten_and_what_is_not_waits() -> None:
    candles = quoted((0, 9), (1, 11), (2, 13))
    candles.forget_written("1s", 1 * SECOND)
    assert closes(candles.newest("1s")) == [(1, Decimal(12), 1), (2, Decimal(14), 1)]


def test_rows_of_the_log_become_candles() -> None:
    book = CandleBook()
    for row in (quote(USD_MARKET, "99", "101", 0), mark("alive", USD_MARKET, SECOND)):
        book.apply_tick(tick(row))
    book.apply_tick({"kind": "probe", "base": "BTC"})
    assert closes(book.of("alpha", "BTC/USD").newest("1s")) == [(0, Decimal(100), 1), (1, Decimal(100), 0)]
    book.apply_tick(tick(mark("withdrawn", USD_MARKET, 2 * SECOND)))
    assert book.of("alpha", "BTC/USD").top is None


@pytest.mark.parametrize("bid", ["0", "-1", "NaN", "a word"])
def test_what_is_no_price_is_no_candle(bid: str) -> None:
    book = CandleBook()
    with pytest.raises(WireError):
        book.apply_tick(tick(quote(USD_MARKET, "99", "101", 0)) | {"bid": bid})
    assert book.markets == {}
