"""Spread windows, taken in pieces as the micro-batch query takes them, against a plain loop over the whole log."""

import json
from collections import Counter
from dataclasses import asdict

import pytest
from pyspark.sql import SparkSession

from cep.detection.market_layout import layout_of
from cep.detection.spread_rows import BaseSpreads, rows_in_order
from cep.detection.spread_windows import SpreadWindows
from cep.detection.window_query import read_rows
from streams.message_format import row_of, spread_window_message, spread_window_of
from tests.cep.detection.oracle import expected_spreads
from tests.cep.detection.test_opportunity_messages import messages_frame
from tests.cep.detection.windows import expected_windows, found_windows, is_above
from tests.cep.logs import LogMaker, session

SESSION = session()
LAYOUT = layout_of(SESSION)


@pytest.mark.parametrize("cuts", [(), (1, 2, 700), (333, 1_000, 1_001, 2_500)])
def test_windows_do_not_depend_on_where_the_log_is_cut(spark: SparkSession, cuts: tuple[int, ...]) -> None:
    messages = LogMaker(11).write(3_500)
    rows = rows_in_order(read_rows(messages_frame(spark, messages), LAYOUT))
    windows, found = SpreadWindows(LAYOUT, None), []
    for first, last in zip((0, *cuts), (*cuts, len(messages)), strict=True):
        found += windows.closed_by(row for row in rows if first <= row.offset < last)
    wanted = expected_windows(messages, SESSION)
    assert len(wanted) > 500
    got = found_windows(map(asdict, found))
    assert got.keys() == wanted.keys()
    for window, statistics in wanted.items():
        assert got[window] == pytest.approx(statistics, rel=1e-9, abs=1e-5)


def test_each_spread_is_that_of_a_plain_loop_to_the_last_bit(spark: SparkSession) -> None:
    messages = LogMaker(13).write(1_500)
    rows = rows_in_order(read_rows(messages_frame(spark, messages), LAYOUT))
    bases = {row.base: BaseSpreads(LAYOUT, None) for row in rows}
    found = [
        (row.base, row.offset, spread.buy_exchange, spread.sell_exchange, spread.net_bps, spread.is_above)
        for row in rows
        for spread in bases[row.base].learn(row)
    ]
    wanted = [
        (
            one.base,
            one.offset,
            one.buy.exchange,
            one.sell.exchange,
            one.net_bps,
            is_above(one),
        )
        for one in expected_spreads(messages, SESSION)
    ]
    assert len(wanted) > 1_000
    assert Counter(found) == Counter(wanted)


def test_the_opening_settings_count_until_the_first_settings_row(spark: SparkSession) -> None:
    messages = LogMaker(11).write(3_500)
    rows = rows_in_order(read_rows(messages_frame(spark, [b"{}", *messages[1:]]), LAYOUT))
    found = SpreadWindows(LAYOUT, json.loads(messages[0])).closed_by(rows)
    assert found_windows(map(asdict, found)).keys() == expected_windows(messages, SESSION).keys()
    assert SpreadWindows(LAYOUT, None).closed_by(row for row in rows if row.kind != "settings") == []


def test_a_message_reads_as_the_spread_window(spark: SparkSession) -> None:
    messages = LogMaker(12).write(1_500)
    rows = rows_in_order(read_rows(messages_frame(spark, messages), LAYOUT))
    windows = SpreadWindows(LAYOUT, None).closed_by(rows)
    assert {window.length_seconds for window in windows} >= {10}
    assert [spread_window_of(row_of(spread_window_message(window))) for window in windows] == windows
    assert all(window.mean_bps <= window.max_bps and 0 <= window.share_above <= 1 for window in windows)
