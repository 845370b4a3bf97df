import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tick_sets.sets.samples import DAY, LoggedRow, TickRow, log_of, manifest, source_table
from tick_sets.errors import ImportRejectedError
from tick_sets.rows.import_format import RejectedRow
from tick_sets.sets import place
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import REJECTED
from tick_sets.sets.place import set_lock
from tick_sets.sets.tick_set import open_tick_set

BASES = ("BTC", "ETH")
MARKETS = {
    ("bitstamp", "BTC/EUR"): ("quote", "BTC", 1),
    ("kraken", "BTC/USD"): ("quote", "BTC", 2),
    ("bitstamp", "ETH/EUR"): ("quote", "ETH", 3),
    ("kraken", "EUR/USD"): ("fx", None, 0),
}


@st.composite
def tick_rows(draw: st.DrawFn) -> list[TickRow]:
    """Draw rows of several markets over three days, each market's own in order; some days and markets stay empty."""
    moments = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.sampled_from(sorted(MARKETS)))))
    rows = []
    for day, step, key in sorted(moments):
        kind, base, rank = MARKETS[key]
        rows.append(TickRow(day * DAY + step, kind, *key, base, rank, draw(st.sampled_from((0, 0, 77)))))
    return rows


def plain_log(rows: list[TickRow], base: str) -> list[LoggedRow]:
    """Return the log by a plain loop: sorted, numbered over the whole set, those of a base counted."""
    ordered = sorted(rows, key=lambda row: (row.time, row.rank))
    log: list[LoggedRow] = []
    for number, row in enumerate(ordered, start=1):
        if row.base in (base, None):
            sequence = row.sequence or number
            log.append(LoggedRow(len(log), row.kind, row.exchange, row.symbol, row.time, sequence))
    return log


def built(folder: Path, batches: list[list[TickRow]], part_rows: int = 100) -> None:
    with TickSetBuilder(folder, BASES, part_rows) as builder:
        for rows in batches:
            builder.add(source_table(rows))
        builder.finish(manifest())


@given(tick_rows(), st.lists(st.integers(0, 40)), st.booleans(), st.sampled_from([1, 3, 100]))
@settings(max_examples=20, deadline=None)
def test_any_cut_of_the_rows_gives_the_plain_loops_log(
    rows: list[TickRow], cuts: list[int], by_market: bool, part_rows: int
) -> None:
    """Cut into batches anywhere, or a file per market, days apart or together: the same set."""
    if by_market:
        batches = [[row for row in rows if (row.exchange, row.symbol) == key] for key in MARKETS]
    else:
        places = sorted({0, *cuts, len(rows)})
        batches = [rows[start:end] for start, end in zip(places, [*places[1:], len(rows)], strict=True)]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "set"
        built(folder, batches, part_rows)
        for base in BASES:
            assert log_of(folder, base) == plain_log(rows, base)


def test_days_of_few_rows_share_a_file(tmp_path: Path) -> None:
    """Years of hourly bars made thousands of files, each of which costs more than its rows."""
    rows = [TickRow(day * DAY + step, base="BTC") for day in range(7) for step in range(5 if day == 3 else 1)]
    with TickSetBuilder(tmp_path / "set", ("BTC",), part_rows=3) as builder:
        builder.add(source_table(rows[::-1]))
        whole = builder.finish(manifest())
    days = [(one.day, one.rows, one.first_time // DAY, one.last_time // DAY) for one in whole.partitions]
    assert days == [
        ("2024-10-04", 3, 20_000, 20_002),
        ("2024-10-07", 5, 20_003, 20_003),
        ("2024-10-08", 3, 20_004, 20_006),
    ]
    assert [row.time for row in log_of(tmp_path / "set", "BTC")] == [row.time for row in rows]
    assert not (tmp_path / "set" / "spool").exists()


def test_rows_of_a_log_keep_its_order_where_their_times_go_back(tmp_path: Path) -> None:
    """Feeders stamp rows before the log orders them; at midnight a row may even fall into the day before."""
    rows = [
        TickRow(DAY - 1, offset=10, sequence=1),
        TickRow(DAY + 5, offset=11, sequence=2),
        TickRow(DAY - 3, offset=14, sequence=3),
        TickRow(DAY + 6, offset=15, sequence=4),
    ]
    with TickSetBuilder(tmp_path / "set", ("BTC",)) as builder:
        builder.add(source_table(rows[:2]))
        builder.add(source_table(rows[2:]))
        builder.finish(manifest())
    log = log_of(tmp_path / "set", "BTC")
    assert [(row.offset, row.time) for row in log] == [(row.offset, row.time) for row in rows]


def test_ranks_may_be_asked_for_at_the_end(tmp_path: Path) -> None:
    with TickSetBuilder(tmp_path / "set", ("BTC",)) as builder:
        builder.add(source_table([TickRow(1, rank=0), TickRow(1, exchange="kraken", rank=1)]))
        builder.finish(manifest(), ranks=(5, 3))
    assert [row.exchange for row in log_of(tmp_path / "set", "BTC")] == ["kraken", "bitstamp"]


def test_bases_are_the_manifests_where_they_are_not_reported(tmp_path: Path) -> None:
    with TickSetBuilder(tmp_path / "set") as builder:
        builder.add(source_table([TickRow(1, "fx", "kraken", "EUR/USD", None, 0)]))
        whole = builder.finish(manifest())
    assert [partition.base for partition in whole.partitions] == ["BTC", "ETH"]


def test_rejected_rows_are_kept(tmp_path: Path) -> None:
    with TickSetBuilder(tmp_path / "set", ("BTC",)) as builder:
        builder.add(source_table([TickRow(1)]))
        builder.add_rejected("a.csv", [RejectedRow(7, "crossed", "2,1")])
        builder.finish(manifest())
    line = b'{"source":"a.csv","line":7,"reason":"crossed","text":"2,1"}\n'
    assert (tmp_path / "set" / REJECTED).read_bytes() == line


def test_a_set_that_is_left_early_leaves_nothing_and_the_one_before_it_stays(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    built(folder, [[TickRow(1)]])
    with TickSetBuilder(folder, BASES) as builder:
        builder.add(source_table([TickRow(1), TickRow(2)]))
    assert len(log_of(folder, "BTC")) == 1
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["set"]


def test_two_cannot_build_one_set(tmp_path: Path) -> None:
    with (
        TickSetBuilder(tmp_path / "set", BASES),
        pytest.raises(ImportRejectedError, match="is being built by another process"),
        TickSetBuilder(tmp_path / "set", BASES),
    ):
        pass


def test_nothing_is_left_of_a_set_that_did_not_come_to_be(tmp_path: Path) -> None:
    with TickSetBuilder(tmp_path / "set", BASES):
        pass
    assert list(tmp_path.iterdir()) == []


def test_locks_that_come_and_go_keep_all_but_one_out(tmp_path: Path) -> None:
    inside, most, taken = 0, 0, 0

    def build_often(_: int) -> None:
        nonlocal inside, most, taken
        for _ in range(300):
            try:
                with set_lock(tmp_path / "set"):
                    inside += 1
                    taken += 1
                    # lets the others run
                    os.sched_yield()
                    most = max(most, inside)
                    inside -= 1
            except ImportRejectedError:
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(build_often, range(4)))
    assert (most, taken > 0) == (1, True)
    assert list(tmp_path.iterdir()) == []


def killed(run: Callable[[], None]) -> None:
    """Run it in a process that kills itself where `run` does."""
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


def test_killed_while_building_it_leaves_the_set_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    built(folder, [[TickRow(1)]])

    def build_and_die() -> None:
        with TickSetBuilder(folder, BASES) as builder:
            builder.add(source_table([TickRow(1), TickRow(2)]))
            os.kill(os.getpid(), signal.SIGKILL)

    killed(build_and_die)
    assert len(log_of(folder, "BTC")) == 1
    built(folder, [[TickRow(1), TickRow(2), TickRow(3)]])
    assert len(log_of(folder, "BTC")) == 3
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["set"]


def test_killed_between_the_two_renames_the_set_is_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    built(folder, [[TickRow(1)]])

    def set_aside_and_die() -> None:
        with TickSetBuilder(folder, BASES), suppress(OSError):
            folder.rename(place._old_folder(folder))
            os.kill(os.getpid(), signal.SIGKILL)

    killed(set_aside_and_die)
    assert not folder.exists()
    assert len(log_of(folder, "BTC")) == 1
    with pytest.raises(ImportRejectedError, match="is no tick set"):
        open_tick_set(tmp_path / "another")
