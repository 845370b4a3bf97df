"""What an asset was worth at regular moments: by hand, and by polars' as-of join, however the set is cut."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from backtest.result.asset_marks import INTERVALS, marks_of, worth_of
from tests.backtest.detected_sets import Cut, recut
from tests.backtest.made_up_bars import BEGIN, RATE, SECOND, KnownQuote, set_of, steady
from tests.market.samples import EUR_MARKET, JPY_MARKET, MARKETS, USD_MARKET


def test_an_asset_is_marked_once_wherever_it_lies(tmp_path: Path) -> None:
    """BTC at 101 USD and at 91 EUR of 1.2 USD: the middle of 101 and 109.2."""
    shown: list[KnownQuote] = [(USD_MARKET, 0, 100.0, 102.0), (EUR_MARKET, 1, 90.0, 92.0), (RATE, 2, 1.1, 1.3)]
    shown += [(RATE, 3, 1.3, 1.5), (USD_MARKET, 4, 110.0, 112.0)]
    marks = marks_of(set_of(tmp_path / "set", shown, is_of_bars=False))
    assert marks.opening == {"USD": 1, "EUR": Decimal("1.2"), "BTC": Decimal("105.1")}
    assert (marks.interval, marks.times) == (None, (BEGIN, BEGIN + 4 * SECOND))
    # 111 USD, and 91 EUR of 1.4 USD
    assert {name: worth[-1] for name, worth in marks.worth.items()} == {
        "USD": 1,
        "EUR": Decimal("1.4"),
        "BTC": Decimal("119.2"),
    }


def test_an_inverted_rate_is_turned_round(tmp_path: Path) -> None:
    tick_set = set_of(tmp_path / "set", [(USD_MARKET, 0, 1.0, 2.0)], is_of_bars=False)
    assert JPY_MARKET in MARKETS
    assert worth_of(tick_set.manifest, {("alpha", "BTC/USD"): Decimal(3)}) == {"USD": 1, "BTC": 3}
    # the value of a euro is unknown, so prices in euro say nothing
    assert worth_of(tick_set.manifest, {("beta", "BTC/EUR"): Decimal(3)}) == {"USD": 1}


@pytest.mark.parametrize(
    ("minutes", "interval"), [(29, None), (30, INTERVALS[2]), (30 * 60, INTERVALS[1]), (30 * 1_440, INTERVALS[0])]
)
def test_the_interval_is_the_longest_of_which_there_are_thirty(
    tmp_path: Path, minutes: int, interval: int | None
) -> None:
    shown: list[KnownQuote] = [(USD_MARKET, 0, 1.0, 2.0), (USD_MARKET, minutes * 60.0, 2.0, 3.0)]
    marks = marks_of(set_of(tmp_path / "set", shown, is_of_bars=False))
    assert marks.interval == interval
    assert len(marks.times) == (2 if interval is None else 31)


def test_each_moment_shows_what_was_shown_last_however_the_set_is_cut(tmp_path: Path) -> None:
    shown = [*steady(USD_MARKET, 7.3, 3_000), *steady(EUR_MARKET, 41, 2_500, 90.0), *steady(RATE, 113, 3_000, 1.0)]
    tick_set = set_of(tmp_path / "set", shown, is_of_bars=False)
    marks = marks_of(tick_set)
    assert marks.interval == INTERVALS[2]
    times = pl.DataFrame({"at": list(marks.times)})
    mids = []
    for market in (USD_MARKET, EUR_MARKET, RATE):
        mine = [(BEGIN + round(at * SECOND), (bid + ask) / 2) for one, at, bid, ask in shown if one is market]
        rows = pl.DataFrame(mine, schema=["at", "mid"], orient="row").sort("at")
        mids.append(times.join_asof(rows, on="at")["mid"].to_list())
    expected = [(usd + eur * rate) / 2 for usd, eur, rate in zip(*mids, strict=True)]
    assert [float(worth or 0) for worth in marks.worth["BTC"]] == pytest.approx(expected)
    for number, cut in enumerate((Cut(1, 37), Cut(4, 61))):
        assert marks_of(recut(tick_set, cut, tmp_path / str(number))) == marks
