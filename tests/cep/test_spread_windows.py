"""Spread windows, taken in pieces as the micro-batch query takes them, against a plain loop over the whole log."""

import pytest
from pyspark.sql import SparkSession

from cep.detection.market_layout import layout_of
from cep.detection.spread_windows import window_messages
from cep.detection.window_query import CarriedSpreads
from streams.message_format import row_of, spread_window_of
from tests.cep.logs import LogMaker, session
from tests.cep.test_opportunity_messages import messages_frame
from tests.cep.windows import expected_windows, found_windows

SESSION = session()
LAYOUT = layout_of(SESSION)


@pytest.mark.parametrize("cuts", [(1, 2, 700), pytest.param((333, 1_000, 1_001, 2_500), marks=pytest.mark.slow)])
def test_windows_do_not_depend_on_where_the_log_is_cut(spark: SparkSession, cuts: tuple[int, ...]) -> None:
    messages = LogMaker(11).write(3_500)
    numbered_df = messages_frame(spark, messages)
    carried = CarriedSpreads(LAYOUT, None)
    found = []
    for first, last in zip((0, *cuts), (*cuts, len(messages)), strict=True):
        windows_df = carried.closed_windows(numbered_df.filter(f"offset >= {first} and offset < {last}"))
        if windows_df is not None:
            found += [row["value"] for row in windows_df.transform(window_messages).toArrow().to_pylist()]
    wanted = expected_windows(messages, SESSION)
    assert len(wanted) > 500
    got = found_windows(row_of(message) for message in found)
    assert got.keys() == wanted.keys()
    for window, statistics in wanted.items():
        assert got[window] == pytest.approx(statistics, rel=1e-9, abs=1e-5)


def test_a_message_reads_as_a_spread_window(spark: SparkSession) -> None:
    messages = LogMaker(12).write(1_500)
    windows_df = CarriedSpreads(LAYOUT, None).closed_windows(messages_frame(spark, messages))
    assert windows_df is not None
    written = windows_df.transform(window_messages).toArrow().to_pylist()
    windows = [spread_window_of(row_of(row["value"])) for row in written]
    assert {window.length_seconds for window in windows} >= {10}
    assert all(row["key"] == window.base for row, window in zip(written, windows, strict=True))
    assert all(window.mean_bps <= window.max_bps and 0 <= window.share_above <= 1 for window in windows)
