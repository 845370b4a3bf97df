"""Rows of `ticks` that a mirror brings again reach no app, wherever it or the writer of its log is cut."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import HostedApp
from cep.apps.hosts.input_merger import LOOK_BACK_ROWS, FreshRecords, looked_back
from streams.mirrored_rows import UnrepeatedRows
from streams.records import Record
from streams.topics import TICKS
from tests.cep.apps.hosts.quote_app import rows_of, source, told
from tests.cep.logs import START, LogMaker
from tests.cep.repeats import with_repeats

ONCE = LogMaker(5).write(250)
LOG = [value for _, value in with_repeats(ONCE, 5, kills=6)]
RECORDS = [Record(TICKS, 0, offset, None, value, START) for offset, value in enumerate(LOG)]
VALUES = [(row.stream, row.time, row.values) for row in rows_of(ONCE, HostedApp(source(), 0))]
"""What the app gives if nothing comes again; the ids have other offsets."""


def begun() -> HostedApp:
    return HostedApp(source(), 0, UnrepeatedRows())


def test_as_they_came_they_would_matter() -> None:
    assert [(row.stream, row.time, row.values) for row in rows_of(LOG, HostedApp(source(), 0))] != VALUES
    assert len(LOG) > len(ONCE) + 20


@hypothesis_settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, len(LOG)), max_size=4))
def test_cut_anywhere_an_app_leaves_them_out(cuts: list[int]) -> None:
    rows: list[AppRow] = []
    app, before = begun(), 0
    for cut in (*sorted(cuts), len(LOG)):
        rows += rows_of(LOG[before:cut], app, before)
        data, app, before = app.snapshot(), begun(), cut
        app.restore(data)
        assert app.position in (cut, 0)
    assert [(row.stream, row.time, row.values) for row in rows] == VALUES
    assert told(rows) == told(rows_of(LOG, begun()))


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, len(RECORDS)), max_size=4), st.integers(1, 50))
def test_cut_anywhere_an_input_log_lacks_them(cuts: list[int], step: int) -> None:
    taken: list[bytes] = []
    ends = (*sorted(cuts), len(RECORDS))
    for first, end in zip((0, *ends), ends, strict=False):
        # whoever goes on looks back, and has its rows in batches
        fresh = FreshRecords(first)
        for start in range(0, end, step):
            taken += [record.value for record in fresh.of(RECORDS[start : min(start + step, end)])]
    assert taken == ONCE


def test_whoever_goes_on_looks_back_and_not_past_the_beginning() -> None:
    assert looked_back(100, 100) == 100
    assert looked_back(100 + LOOK_BACK_ROWS // 2, 100) == 100
    assert looked_back(100 + 2 * LOOK_BACK_ROWS, 100) == 100 + LOOK_BACK_ROWS
