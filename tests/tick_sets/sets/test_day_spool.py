"""Many tables of any size come back whole and in order, with few files open."""

import multiprocessing
import resource
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from tests.tick_sets.sets.samples import DAY, TickRow, source_table
from tick_sets.sets.day_spool import FILE_BYTES, DaySpool

OPEN_FILES = 64
"""How many files it may open beside those that the process has from its parent."""


def spool_and_take(folder: Path, tables: int, file_bytes: int) -> None:
    """Spool tables whose rows are of two days each, and check that each comes back in its place."""
    most = psutil.Process().num_fds() + OPEN_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    spool, rows_each = DaySpool(folder, file_bytes), 2
    one = source_table([TickRow(day * DAY) for day in (0, 1) for _ in range(rows_each)])
    days = np.repeat([20_000, 20_001], rows_each)
    place = one.schema.get_field_index("rank")
    for rank in range(tables):
        ranks = pa.array(np.full(len(one), rank), one.schema.field(place).type)
        spool.add(one.set_column(place, one.schema.field(place), ranks), days)
    found = list(spool.tables(2 * tables * rows_each))
    ((day, rows),) = found
    times = rows["received_time"].to_numpy()
    first = rows.filter(pa.array(times == times.min()))
    assert (day, len(rows), len(first)) == (20_000, 2 * tables * rows_each, tables * rows_each)
    assert first["rank"].to_numpy().tolist() == np.repeat(np.arange(tables), rows_each).tolist()
    assert not folder.exists()


@pytest.mark.parametrize("file_bytes", [1, 1_000, FILE_BYTES])
def test_any_number_of_tables_needs_few_open_files(tmp_path: Path, file_bytes: int) -> None:
    """With a file for each table, one for some, and one for all."""
    process = multiprocessing.get_context("fork").Process(
        target=spool_and_take, args=(tmp_path / "spool", 4 * OPEN_FILES, file_bytes)
    )
    process.start()
    process.join(100)
    assert process.exitcode == 0


def test_small_tables_share_a_file(tmp_path: Path) -> None:
    spool = DaySpool(tmp_path / "spool")
    one = source_table([TickRow(0)])
    for _ in range(100):
        spool.add(one, np.array([20_000]))
    assert list((tmp_path / "spool").iterdir()) == []
    assert 100 * one.nbytes < FILE_BYTES
    ((_, rows),) = spool.tables(1)
    assert len(rows) == 100
