"""A backtest's report: one whole self-contained page, its tables and pictures."""

import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from backtest.report.charts import drawdowns, net_bps_chart, rejection_chart, short_amount
from backtest.report.figure_format import money
from backtest.report.page import report_page
from backtest.report.tables import (
    PAGE_TRADES,
    lifetime_table,
    quality_table,
    rejected_table,
    rejection_table,
    trade_tables,
)
from backtest.result.trading_outcome import RejectedSum, SimulatedEquityPoint
from market.accounting.equity_curve import thinned
from market.money import Amount
from tests.backtest.made_up_result import arbitrage, outcome_of, result_of

VOID = {"meta", "br", "link", "img", "hr", "input"}
LOADING = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


class Page(HTMLParser):
    """Which elements stand open, and what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.loaded += [value or "" for name, value in attrs if name in LOADING and not (value or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(result_of())


def test_the_page_is_whole_and_loads_and_runs_nothing(page: str) -> None:
    parsed = Page()
    parsed.feed(page)
    assert parsed.open == []
    assert parsed.loaded == []
    assert not {"script", "iframe", "object", "embed", "link", "form"} & set(parsed.tags)
    assert not re.search(r"https?:|@import|url\((?!#)", page)
    assert parsed.tags.count("svg") == 7
    assert len(parsed.ids) == len(set(parsed.ids))


def test_pictures_take_the_colours_of_the_page(page: str) -> None:
    assert "var(--ink)" in page
    assert not re.search(r"#0[1-5]0[1-5]0[1-5]", page)


def test_what_others_wrote_stands_as_text(page: str) -> None:
    assert "made up &amp; &lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold" not in page


@pytest.mark.parametrize(
    "words",
    [
        "−0.25",
        "max drawdown",
        "missed profit",
        "insufficient balance",
        "EUR counts as it was quoted",
        "displayed best amounts",
        "one of 3 recorded latencies",
        "arbitrage backtest made-up --seed 1",
        "5.0 s from 2023-11-14 22:13:20",
        "ab" * 32,
        "Rejected rows",
    ],
)
def test_the_page_says(page: str, words: str) -> None:
    assert words in page


def test_the_page_is_the_same_each_time(page: str) -> None:
    assert report_page(result_of()) == page


def test_nothing_traded_is_a_page_too() -> None:
    empty = replace(outcome_of(()), rejections={}, lifetimes=(), net_bps_counts={}, opportunities=0)
    page = report_page(replace(result_of(empty), latency_costs=()))
    parsed = Page()
    parsed.feed(page)
    assert parsed.open == []
    assert "No rejections." in page
    assert parsed.tags.count("svg") == 1


def test_books_that_do_not_balance_are_reported_first() -> None:
    assert "Ledger not reconciled" in report_page(result_of(replace(outcome_of(), is_balanced=False)))
    assert "Ledger not reconciled" not in report_page(result_of())


def test_all_trades_are_in_the_page_in_tables_that_can_be_looked_through() -> None:
    unfilled = replace(arbitrage(0, "0"), legs=())
    many = [arbitrage(number, "1") for number in range(2 * PAGE_TRADES + 1)]
    tables = trade_tables([unfilled, *many])
    assert [len(table.rows) for table in tables] == [PAGE_TRADES, PAGE_TRADES, 1]
    assert [table.rows[0][0] for table in tables] == ["1", f"{PAGE_TRADES + 1:,}", f"{2 * PAGE_TRADES + 1:,}"]
    assert trade_tables([unfilled]) == []
    (only,) = trade_tables([arbitrage(0, "-4")])
    assert only.rows == (
        ("1", "2023-11-14 22:13:20", "BTC", "alpha BTC/USD", "beta BTC/EUR", "2", "50.00", "closed", "−4.00"),
    )


def test_a_page_of_many_trades_holds_the_last_one_too() -> None:
    many = tuple(arbitrage(number, "1") for number in range(PAGE_TRADES + 1))
    page = report_page(result_of(replace(outcome_of(), arbitrages=many)))
    parsed = Page()
    parsed.feed(page)
    assert parsed.open == []
    assert parsed.tags.count("details") == 2
    assert f"<summary>{PAGE_TRADES + 1:,} to {PAGE_TRADES + 1:,}, from 2023-11-14 22:21:40</summary>" in page


def test_amounts_of_one_table_have_the_same_digits() -> None:
    short, long = arbitrage(0, "1"), replace(arbitrage(1, "1"), amount=Amount(Decimal("0.123456789012")))
    (table,) = trade_tables([short, long])
    assert [row[5] for row in table.rows] == ["2.00000000", "0.12345679"]


def test_rejections_come_by_what_they_cost() -> None:
    assert rejection_table(result_of()).rows == (
        ("Insufficient balance", "5", "2", "8.25"),
        ("Below the threshold", "12", "4", "3.50"),
        ("all", "17", "6", "11.75"),
    )


def test_lifetimes_by_pair() -> None:
    assert lifetime_table(outcome_of().lifetimes).rows == (
        ("BTC", "alpha", "beta", "2", "0", "250", "12.50"),
        ("BTC", "beta", "alpha", "1", "4,000", "4,000", "7.00"),
    )


def test_quality_says_where_nothing_was_received() -> None:
    rows = quality_table(result_of()).rows
    assert rows[0][:5] == ("alpha BTC/USD", "quotes", "500", "1.5 s", "4 s")
    assert rows[1] == ("beta BTC/EUR", "–", "0", "–", "–", "–", "–", "0", "0", "–")
    assert rejected_table(result_of()).rows == (
        ("a.csv.gz", "crossed", "7"),
        ("a.csv.gz", "no price", "3"),
    )


@pytest.mark.parametrize(("amount", "words"), [("0", "0.00"), ("-1234.567", "−1,234.57"), ("-0.004", "0.00")])
def test_money_in_words(amount: str, words: str) -> None:
    assert money(Decimal(amount)) == words


def points(*nets: int) -> list[SimulatedEquityPoint]:
    return [SimulatedEquityPoint(time, Decimal(net)) for time, net in enumerate(nets)]


def test_a_long_equity_keeps_its_peaks_and_its_end() -> None:
    long = points(*(number % 7 for number in range(5_000)), -90, *([1] * 500), 80, *([2] * 500))
    kept = thinned(long, 33)
    assert len(kept) <= 99
    assert {min(one.net for one in kept), max(one.net for one in kept)} == {-90, 80}
    assert (kept[-1].at, kept[-1].net) == long[-1]
    assert [one.at for one in kept] == sorted(one.at for one in kept)
    assert [(one.at, one.net) for one in thinned(points(1, 2, 3), 33)] == points(1, 2, 3)


def test_falls_are_from_the_highest_before() -> None:
    assert [net for _, net in drawdowns(points(-1, 3, 1, 4, 4, -2))] == [-1, 0, -2, 0, 0, -6]


def test_bars_of_a_wide_range_are_few() -> None:
    narrow, wide = net_bps_chart({0: 1, 1: 2}), net_bps_chart(dict.fromkeys(range(-500, 9_000), 1))
    assert narrow is not None
    assert wide is not None
    assert wide.count("<path") < 120
    assert net_bps_chart({}) is None


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0.0, "0"), (0.25, "0.25"), (950.0, "950"), (80_000.0, "80k"), (-1_500.0, "-1.5k"), (2.5e6, "2.5M"), (3e9, "3G")],
)
def test_amounts_along_an_axis_are_short(amount: float, words: str) -> None:
    assert short_amount(amount) == words


def test_amounts_beside_long_reasons_do_not_touch() -> None:
    rejections = {"too_much_open_in_all_of_them_together": RejectedSum(3, 1, Decimal(123_456))}
    chart = rejection_chart(rejections, "USD")
    assert chart is not None
    words = re.findall(r">\s*(-?[0-9.]+[kMG]?)</text>", chart)
    assert words == ["0", "40k", "80k", "120k"]
