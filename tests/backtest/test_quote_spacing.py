"""The spacing of quotes, the default maximum age, and what bars leave unknown."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtest.replay_profiles import BINANCE_BTC, LEAN_BTC
from backtest.report.page import report_page
from backtest.report.result_document import result_document
from backtest.report.result_lines import result_lines
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import LatencyCost
from backtest.result.quote_spacing import (
    MarketSpacing,
    bars_words,
    default_quote_age_ms,
    is_of_bars,
    rate_words,
    resolves,
    seconds_words,
    spacing_of,
)
from backtest.run import ADDED_MS, latency_costs
from tests.backtest.made_up_bars import RATE, SECOND, set_of, steady
from tests.backtest.made_up_result import manifest_of, outcome_of, result_of
from tests.market.samples import EUR_MARKET, USD_MARKET
from tick_sets.sets.manifest import Origin


def spacing(median: float | None, *, bars: bool = True, fx: bool = False, gaps: int = 100) -> MarketSpacing:
    microseconds = None if median is None else round(median * SECOND)
    return MarketSpacing("alpha", "BTC/USD", fx, bars, gaps, microseconds, microseconds)


def test_gaps_are_those_between_quotes_that_differ(tmp_path: Path) -> None:
    """Minute bars, one of them shown twice without a change, and one five minutes late; rates each ten seconds."""
    usd = [*steady(USD_MARKET, 60, 1_200), (USD_MARKET, 30.0, 100.0, 102.0), (USD_MARKET, 1_500.0, 1.0, 2.0)]
    found = spacing_of(
        set_of(tmp_path / "set", [*usd, *steady(EUR_MARKET, 1.5, 60), *steady(RATE, 10, 60)], is_of_bars=True)
    )
    assert [(one.symbol, one.gaps, one.median, one.p95) for one in found] == [
        ("BTC/USD", 21, 60 * SECOND, 60 * SECOND),
        ("BTC/EUR", 40, 1_500_000, 1_500_000),
        ("EUR/USD", 6, 10 * SECOND, 10 * SECOND),
    ]
    assert all(one.is_of_bars for one in found)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30))
def test_ranks_are_those_of_another_library(tmp_path_factory: pytest.TempPathFactory, gaps: list[int]) -> None:
    times = np.concatenate(([0], np.cumsum(gaps)))
    shown = [(USD_MARKET, float(time), 100.0 + number, 200.0 + number) for number, time in enumerate(times)]
    (usd, eur, _) = spacing_of(set_of(tmp_path_factory.mktemp("sets") / "set", shown, is_of_bars=False))
    expected = (np.percentile(gaps, share, method="inverted_cdf") * SECOND for share in (50, 95))
    assert (usd.median, usd.p95) == tuple(map(int, expected))
    assert (eur.gaps, eur.median, eur.p95) == (0, None, None)


@pytest.mark.parametrize(
    ("spacings", "age_ms"),
    [
        ([], 2_000),
        ([spacing(0.1, bars=False)], 2_000),
        # twice the slowest
        ([spacing(60), spacing(300)], 600_000),
        ([spacing(5, bars=False)], 10_000),
        # too few of them to be called usual, and rates do not count
        ([spacing(5, bars=False, gaps=19)], 2_000),
        ([spacing(86_400, fx=True)], 2_000),
        ([spacing(None)], 2_000),
        # a setting goes no further than a day
        ([spacing(80_000)], 86_400_000),
    ],
)
def test_how_old_a_quote_may_be_follows_from_the_spacing(spacings: list[MarketSpacing], age_ms: int) -> None:
    assert default_quote_age_ms(spacings, 2_000) == age_ms


@pytest.mark.parametrize(
    ("origin", "bars", "values", "age_ms"),
    [
        ("import", True, {}, 120_000),
        ("import", False, {}, 120_000),
        ("import", True, {"max_quote_age_ms": "700"}, 700),
        # a recorded session has its own
        ("session", False, {}, 2_000),
        ("generated", False, {}, 2_000),
    ],
)
def test_a_backtest_begins_with_that_age_unless_reported_another(
    tmp_path: Path, origin: Origin, bars: bool, values: dict[str, str], age_ms: int
) -> None:
    shown = [*steady(USD_MARKET, 60, 1_800), *steady(EUR_MARKET, 60, 1_800), *steady(RATE, 60, 1_800)]
    tick_set = set_of(tmp_path / "set", shown, is_of_bars=bars, origin=origin)
    assert parameters_for(tick_set, RequestedBacktest(values=values)).settings.max_quote_age_ms == age_ms


@pytest.mark.parametrize(
    ("spacings", "milliseconds", "reported"),
    [
        ([spacing(60)], 500, False),
        ([spacing(60)], 60_000, True),
        ([spacing(0.1), spacing(60)], 59_999, False),
        ([spacing(60, bars=False)], 1, True),
        ([spacing(60, fx=True)], 1, True),
        ([spacing(None)], 60_000, False),
        ([], 1, True),
    ],
)
def test_what_the_data_can_answer(spacings: list[MarketSpacing], milliseconds: int, reported: bool) -> None:
    assert resolves(spacings, milliseconds * 1_000) is reported


def test_latency_below_the_spacing_of_bars_is_not_traded() -> None:
    """Before, bars showed 673 trades and one figure for 25 to 500 ms."""
    asked: list[int] = []

    def later(number: int):  # type: ignore[no-untyped-def]  # what it answers is another test's
        asked.append(number)
        return outcome_of(("1",))

    added = (*ADDED_MS, 60_000.0)
    costs = latency_costs(outcome_of(), added, (spacing(60),), later)
    assert [(cost.added_ms, cost.net) for cost in costs] == [
        (0.0, Decimal("-0.25")),
        *((added, None) for added in ADDED_MS),
        (60_000.0, Decimal(1)),
    ]
    assert asked == [5]
    of_quotes = latency_costs(outcome_of(), added, (spacing(60, bars=False),), later)
    assert all(cost.net is not None for cost in of_quotes)
    assert latency_costs(outcome_of(), (), (), later) == ()


def test_results_from_bars_say_so_everywhere() -> None:
    manifest = manifest_of()
    bars = replace(
        manifest,
        sources=tuple(replace(one, exchange="alpha", symbol="BTC/USD", is_of_bars=True) for one in manifest.sources),
    )
    result = replace(
        result_of(),
        manifest=bars,
        spacing=(spacing(60),),
        latency_costs=(LatencyCost(0, Decimal(1), 1), LatencyCost(25, None, None)),
    )
    lines = result_lines(result)
    assert lines[1].startswith("NOTE: from bars, one each 60 s:")
    assert any("25 ms added" in line and "unknown from bars" in line for line in lines)
    document = result_document(result)
    assert document["is_of_bars"] is True
    assert document["latency_costs"] == [
        {"added_ms": 0, "net": "1", "trades": 1},
        {"added_ms": 25, "net": None, "trades": None},
    ]
    page = report_page(result)
    for words in ("Not fills.", "trades, from bars", "unknown from bars", "<td>bars</td>"):
        assert words in page
    assert result.figures.is_of_bars
    assert any("from bars" in words for words in result.assumptions)


def test_results_from_quotes_are_not_called_bars() -> None:
    result = result_of()
    assert not any("bars" in line for line in result_lines(result))
    assert result_document(result)["is_of_bars"] is False
    assert "unknown from bars" not in report_page(result)
    assert bars_words((spacing(60, bars=False),)) is None


def test_profiles_know_their_bars() -> None:
    manifest = manifest_of()
    lean = replace(manifest, title=LEAN_BTC.title, markets=LEAN_BTC.markets)
    assert is_of_bars(lean)
    assert not is_of_bars(replace(manifest, title=BINANCE_BTC.title, markets=BINANCE_BTC.markets))


def test_rates_that_come_too_seldom_are_named() -> None:
    (words,) = rate_words(2_000, (spacing(86_400, fx=True), spacing(1, fx=True), spacing(60)))
    assert "comes each 86,400 s" in words


@pytest.mark.parametrize(("microseconds", "words"), [(60_000_000, "60 s"), (1_500_000, "1.5 s"), (700, "0.001 s")])
def test_seconds_in_words(microseconds: int, words: str) -> None:
    assert seconds_words(microseconds) == words
