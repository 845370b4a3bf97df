"""A list of rows in JSON, block by block: the result does not depend on where a block ends, nor on the unpacked
size."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tick_sets.errors import ImportRejectedError
from tick_sets.mapped.json_files import BLOCK_BYTES, LONGEST_ROW, UNSUSPICIOUS_BYTES, json_rows

COLUMNS = ("timestamp", "close")

cells = st.none() | st.booleans() | st.integers() | st.text('[],"\\ é\n{}1', max_size=6) | st.lists(st.integers())
rows = st.lists(cells, min_size=1, max_size=3) | st.integers() | st.dictionaries(st.text(max_size=2), st.integers())
spaces = st.sampled_from(["", " ", "\n  ", "\t\r\n"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows, min_size=1, max_size=8), st.integers(1, 40), st.integers(0, 2), spaces)
def test_blocks_change_nothing(tmp_path: Path, listed: list[Any], block: int, indent: int, space: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(space + json.dumps([[1, "x"], *listed], indent=indent or None, ensure_ascii=False) + space)
    whole, numbers, rejected = read(path, block)
    right = [(at, one) for at, one in enumerate([[1, "x"], *listed], start=1)]
    assert numbers == [at for at, one in right if isinstance(one, list) and len(one) == len(COLUMNS)]
    assert whole == [
        tuple("" if cell is None else str(as_read(cell)) for cell in one) for at, one in right if at in numbers
    ]
    assert rejected == [(at, json.dumps(as_read(one))) for at, one in right if at not in numbers]


def as_read(value: Any) -> Any:
    """Return numbers as text."""
    if isinstance(value, list):
        return [as_read(one) for one in value]
    if isinstance(value, dict):
        return {name: as_read(one) for name, one in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def read(path: Path, block: int) -> tuple[list[tuple[str, ...]], list[int], list[tuple[int, str]]]:
    parts = list(json_rows(path, COLUMNS, block))
    found = [tuple(row.values()) for part in parts for row in part.cells.to_pylist()]
    rejected = [(one.line, one.text) for part in parts for one in part.rejected]
    return found, [int(number) for part in parts for number in part.lines], rejected


REJECTED: dict[str, tuple[str, str]] = {
    "nothing": ("", "is empty"),
    "spaces": (" \n", "is empty"),
    "no list": ('{"a": 1}', "is not a list of rows [timestamp, close]"),
    "a number": ("17", "is not a list of rows"),
    "an empty list": ("[ ]", "is not a list of rows"),
    "other rows": ("[[1], [2]]", "has no row [timestamp, close]"),
    "cut in a row": ("[[1, 2], [3", "is not whole JSON"),
    "cut behind a row": ("[[1, 2]", "is not whole JSON"),
    "cut behind a comma": ("[[1, 2],", "is not whole JSON"),
    "a comma too many": ("[[1, 2],]", "is not whole JSON"),
    "more behind it": ("[[1, 2]] [3]", "is not whole JSON"),
    "two lists": ("[[1, 2]][[3, 4]]", "is not whole JSON"),
    "no JSON": ("time,price", "is not whole JSON"),
    "nested too deeply": ("[[1, 2]," + "[" * 100_000, "is not whole JSON"),
    "one row without end": ('[[1, "' + "x" * (LONGEST_ROW + 2), "is not whole JSON"),
}


@pytest.mark.parametrize("block", [1, 7, BLOCK_BYTES])
@pytest.mark.parametrize(("text", "why"), REJECTED.values(), ids=REJECTED)
def test_what_is_no_list_of_rows_is_rejected(tmp_path: Path, text: str, why: str, block: int) -> None:
    if block < BLOCK_BYTES and len(text) > BLOCK_BYTES // 20:
        pytest.skip("it is read again with each block")
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(ImportRejectedError) as rejection:
        list(json_rows(path, COLUMNS, block))
    assert why in str(rejection.value)


def test_memory_is_that_of_one_block(tmp_path: Path) -> None:
    assert peak(tmp_path, 160_000) < 1.5 * peak(tmp_path, 40_000)


def peak(folder: Path, count: int) -> int:
    """Return the peak memory in bytes for so many rows in several blocks."""
    path = folder / f"{count}.json.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("[" + ",".join(f"[{1_672_531_200_000 + at},1234567.5]" for at in range(count)) + "]")
    tracemalloc.start()
    try:
        blocks = sum(1 for _ in json_rows(path, COLUMNS))
        assert blocks > 1
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_bomb_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(UNSUSPICIOUS_BYTES // BLOCK_BYTES + 1):
            file.write(b" " * BLOCK_BYTES)
        file.write(b"[[1, 2]]")
    with pytest.raises(ImportRejectedError, match="unpacks to more than 250 times its size"):
        list(json_rows(path, COLUMNS))
