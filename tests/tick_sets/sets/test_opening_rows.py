from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tick_sets.sets.samples import LoggedRow, TickRow, logged, source_table
from tick_sets.sets.manifest import OPENING, TICKS
from tick_sets.sets.opening_rows import RENEWED, STATED
from tick_sets.sets.partition_writer import PartitionWriter
from tick_sets.sets.schema import TICK_SCHEMA
from tick_sets.sets.tick_set import read_opening, read_ticks

KINDS = ("quote", "alive", "withdrawn", "fx", "fx_alive", "fx_withdrawn", "settings", "probe")


def log_table(rows: list[tuple[str, str]]) -> pa.Table:
    table = source_table(TickRow(number, kind, exchange, offset=number) for number, (kind, exchange) in enumerate(rows))
    return table.select(TICK_SCHEMA.names).cast(TICK_SCHEMA)


def known(rows: list[LoggedRow]) -> list[int]:
    """Return the offsets that a loop over `rows` knows at their end: the newest row of each market, and its renewal."""
    newest: dict[tuple[str, str, str], int] = {}
    for row in rows:
        if row.kind in STATED:
            newest["stated", row.exchange, row.symbol] = row.offset
        if row.kind in RENEWED:
            newest["renewed", row.exchange, row.symbol] = row.offset
    return sorted(set(newest.values()))


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("abc")), min_size=1, max_size=12),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 5),
)
@settings(max_examples=15, deadline=None)
def test_opening_rows_are_what_a_plain_loop_knows(days: list[list[tuple[str, str]]], row_group_rows: int) -> None:
    """At each row group of each day, however small the groups are."""
    whole = log_table([row for day in days for row in day])
    with TemporaryDirectory() as scratch:
        writer = PartitionWriter(Path(scratch), row_group_rows)
        before: list[LoggedRow] = []
        start = 0
        for number, day in enumerate(days):
            partition = writer.write(f"day {number}", "BTC", whole.slice(start, len(day)))
            start += len(day)
            folder = Path(scratch) / partition.folder
            for group in range(partition.row_groups):
                opening = read_opening(folder / OPENING, group)
                assert opening["offset"].to_pylist() == known(before)
                before += logged(read_ticks(folder / TICKS, [group]))
        assert before == logged(whole)


def test_a_null_market_is_one_of_its_own() -> None:
    """Settings rows have no exchange."""
    with TemporaryDirectory() as scratch:
        writer = PartitionWriter(Path(scratch), 1)
        table = log_table([("settings", "a"), ("quote", "a"), ("quote", "b")])
        place = table.column_names.index("exchange")
        cells = pa.array([None, "a", "b"], pa.string()).cast(TICK_SCHEMA.field("exchange").type)
        partition = writer.write("day", "BTC", table.set_column(place, TICK_SCHEMA.field("exchange"), cells))
        folder = Path(scratch) / partition.folder
        assert read_opening(folder / OPENING, 2)["offset"].to_pylist() == [0, 1]
