"""Files written part by part: each part is bounded, and together they are one file."""

import io
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.services.trade_downloads import (
    FORMULA_MARKS,
    Column,
    DownloadTable,
    csv_parts,
    file_name,
    formula_safe,
    parquet_parts,
)

ROW = tuple[str, Decimal]
TABLE: DownloadTable[ROW] = DownloadTable(
    "made-up", (Column("name", "text", lambda row: row[0]), Column("net", "money", lambda row: row[1]))
)
LISTS = [[("a", Decimal("1.00000001")), ('b,"', Decimal("-2"))], [("+c", Decimal("0E-8"))]]


async def reported(lists: Sequence[Sequence[ROW]] = LISTS) -> AsyncIterator[Sequence[ROW]]:
    for rows in lists:
        yield rows


async def test_csv_comes_list_by_list() -> None:
    assert [part async for part in csv_parts(TABLE, reported())] == [
        b"name,net\r\n",
        b'a,1.00000001\r\n"b,""",-2\r\n',
        b"'+c,0\r\n",
    ]


async def test_parquet_comes_list_by_list_as_one_file() -> None:
    parts = [part async for part in parquet_parts(TABLE, reported(), {"session_id": "one"})]
    file = pq.ParquetFile(io.BytesIO(b"".join(parts)))
    assert file.num_row_groups == 2
    assert file.read().to_pylist() == [{"name": name, "net": net} for rows in LISTS for name, net in rows]
    assert file.schema_arrow.metadata[b"session_id"] == b"one"
    assert all(len(part) > 0 for part in parts)


async def test_of_nothing_there_is_a_file_too() -> None:
    assert [part async for part in csv_parts(TABLE, reported([]))] == [b"name,net\r\n"]
    parts = [part async for part in parquet_parts(TABLE, reported([]), {})]
    assert pq.read_table(io.BytesIO(b"".join(parts))).num_rows == 0


@given(st.text())
def test_guarded_text_is_no_formula_and_reads_the_same(text: str) -> None:
    assert not formula_safe(text).startswith(FORMULA_MARKS)
    assert formula_safe(text).removeprefix("'") == text or formula_safe(text) == text


@pytest.mark.parametrize("session_id", ["session-1", 'a"b/../c', "ü", ""])
def test_a_file_s_name_is_plain(session_id: str) -> None:
    name = file_name("trades", session_id, "csv")
    assert all(sign.isascii() and (sign.isalnum() or sign in "_-.") for sign in name)
    assert name.startswith("trades_")
