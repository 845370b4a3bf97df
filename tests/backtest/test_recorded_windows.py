"""Spread windows of a recording: as the live job computes them, in the order of their ends, and only if asked for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from backtest.simulate.recorded_windows import needs_windows, recorded_windows
from backtest.simulate.trade_simulation import WINDOW_DELAY, trade
from market.decide.settings import Settings
from market.prices.spread_statistics import SpreadWindow
from streams.message_format import settings_row
from tests.backtest.trading_samples import (
    EASY,
    MARKETS,
    SECOND,
    START,
    counts,
    offered,
    parameters_of,
    steady_quotes,
    tape_with,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, settings_of
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest, Origin
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

HERE, THERE = USD_MARKET, replace(EUR_MARKET, symbol="BTC/USD", quote_currency="USD")
SECONDS = 90
FREE = settings_of(enabled_exchanges=("alpha", "beta"), taker_fees={"alpha": 0, "beta": 0}, max_quote_age_ms=5_000)


def recording(
    folder: Path, logged: Settings | None = None, origin: Origin = "session", delay: int | None = None
) -> TickSet:
    """Record for a minute and a half both books once a second; selling at beta gains 1 % in every second of them.

    `delay`: how old beta's quotes are by its own time, seconds.
    """
    rows: list[dict[str, object]] = []
    if logged is not None:
        document = settings_row(logged, START, ("BTC",)).decode()
        rows.append({"kind": "settings", "received_time": START, "document": document})
    for second in range(SECONDS):
        for number, market in enumerate((HERE, THERE)):
            bid = 101.0 if market is THERE and second % 2 else 99.0
            rows.append(
                {
                    "kind": "quote",
                    "exchange": market.exchange,
                    "symbol": market.symbol,
                    "received_time": START + second * SECOND + number,
                    "exchange_time": START + (second - delay) * SECOND if delay and market is THERE else None,
                    "bid_price": bid,
                    "ask_price": bid + 1.0,
                    "bid": str(bid),
                    "ask": str(bid + 1.0),
                }
            )
    numbered = [{"base": "BTC", "rank": 0, "offset": place, **row} for place, row in enumerate(rows)]
    with TickSetBuilder(folder, ("BTC",)) as builder:
        builder.add(pa.Table.from_pylist(numbered, schema=SOURCE_SCHEMA))
        builder.finish(Manifest(folder.name, origin, origin, "USD", (HERE, THERE), (), (), 2))
    return open_tick_set(folder)


def of_pair(windows: Iterator[SpreadWindow], seconds: int) -> list[SpreadWindow]:
    legs = (HERE.exchange, THERE.exchange)
    return [one for one in windows if (one.buy_exchange, one.sell_exchange, one.length_seconds) == (*legs, seconds)]


def test_windows_have_the_spreads_of_the_rows_in_them(tmp_path: Path) -> None:
    found = recording(tmp_path / "set")
    every = list(recorded_windows(found, FREE))
    assert [one.end for one in every] == sorted(one.end for one in every)
    tens, sixties = of_pair(iter(every), 10), of_pair(iter(every), 60)
    assert {one.end - one.start for one in tens} == {10 * SECOND}
    assert len(sixties) == 5
    # bought at 100, sold at 99 or 101, two rows a second of which the first has the other second's price
    assert {round(one.mean_bps, 6) for one in sixties} == {0.0}
    assert {one.max_bps for one in every if one.buy_exchange == HERE.exchange} == {100.0}
    assert {one.rows for one in sixties} == {120}


def test_settings_of_the_log_count_where_they_are_followed(tmp_path: Path) -> None:
    found = recording(tmp_path / "set", FREE.model_copy(update={"min_net_bps": 100.0}))
    followed = of_pair(recorded_windows(found, None), 60)
    given = of_pair(recorded_windows(found, FREE.model_copy(update={"min_net_bps": 100.5})), 60)
    assert {one.share_above for one in followed} == {0.5}
    assert {one.share_above for one in given} == {0.0}


@pytest.mark.parametrize(
    ("origin", "delay", "are_there"),
    [
        ("import", None, True),
        ("import", 4, True),
        # older than five seconds by the exchange's own time, as detection counts
        ("import", 6, False),
        # a clock that is ahead says nothing, and the feeds of a session have judged
        ("import", -6, True),
        ("session", 6, True),
    ],
)
def test_quotes_are_as_old_as_for_detection(tmp_path: Path, origin: Origin, delay: int | None, are_there: bool) -> None:
    plain = list(recorded_windows(recording(tmp_path / "plain"), FREE))
    found = list(recorded_windows(recording(tmp_path / "set", None, origin, delay), FREE))
    assert found == (plain if are_there else [])


@pytest.mark.parametrize(
    ("changes", "net_bps", "expected"),
    [
        ({}, 150.0, False),
        ({}, 150.1, True),
        ({"quarantine_deviations": 0}, 900.0, False),
        ({"min_share_above_10s": 0.1}, 5.0, True),
    ],
)
def test_windows_are_needed_only_by_rules_that_look_back(
    changes: dict[str, object], net_bps: float, expected: bool
) -> None:
    assert needs_windows(settings_of(**changes), net_bps) is expected


def test_what_no_rule_asks_for_is_not_read() -> None:
    def unread() -> Iterator[SpreadWindow]:
        pytest.fail("nobody needs it")
        yield

    outcome = trade([offered(START)], tape_with(steady_quotes([START])), MARKETS, parameters_of(), unread())
    assert len(outcome.arbitrages) == 1


def test_a_spread_far_outside_its_own_history_is_quarantined() -> None:
    calm = SpreadWindow("BTC", "alpha", "beta", START - 60 * SECOND, START, 5.0, 2.0, 9.0, 0.5, 100)
    late = replace(offered(START + WINDOW_DELAY), net_bps=200.0)
    parameters = parameters_of(settings_of(**EASY))
    tape = tape_with(steady_quotes([START]))
    assert counts(trade([late], tape, MARKETS, parameters, [calm])) == {"quarantined": 1}
    usual = replace(calm, mean_bps=190.0)
    assert counts(trade([late], tape, MARKETS, parameters, [usual])) == {}
