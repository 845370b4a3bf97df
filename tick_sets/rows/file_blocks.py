"""Reads files block by block, packed or plain, with any line ends; errors are one sentence."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tick_sets.errors import reject
from tick_sets.rows.packed_files import MARK_BYTES, opened
from tick_sets.rows.parquet_columns import is_parquet, parquet_head

BLOCK_BYTES = 8_000_000
HEAD_BYTES = 65_536
LONGEST_LINE = 64_000_000
"""Bytes. A packed file of a few megabytes may hold one line of many gigabytes, too much for any memory."""


class Block(NamedTuple):
    """Whole lines, the first of which is line `line` of the file."""

    line: int
    data: bytes


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Return the lines of a file, so many bytes at a time. Raises ImportRejectedError; an empty file is rejected,
    too."""
    line, rest, ends_in_cr = 1, b"", None
    with opened(path) as file:
        while data := file.read(size):
            ends_in_cr = _ends_in_cr(data) if ends_in_cr is None else ends_in_cr
            data = data.replace(b"\r", b"\n") if ends_in_cr else data
            end = data.rfind(b"\n") + 1
            if not end and len(rest) + len(data) > LONGEST_LINE:
                reject(path, line, f"is longer than {LONGEST_LINE:,} bytes")
            if not end:
                rest += data
                continue
            block = b"".join((rest, memoryview(data)[:end]))
            yield Block(line, block)
            line += block.count(b"\n")
            rest = data[end:]
    if rest:
        yield Block(line, rest)
    elif line == 1:
        reject(path, None, "is empty")


def blocks_behind(path: Path, lines: int) -> Iterator[Block]:
    """Return the blocks behind the first `lines` of the file. Raises ImportRejectedError, also if it has no more."""
    is_empty = True
    for block in blocks(path):
        line, start = block.line, 0
        while line <= lines and start < len(block.data):
            start = block.data.find(b"\n", start) + 1 or len(block.data)
            line += 1
        if start < len(block.data):
            is_empty = False
            yield Block(line, block.data[start:] if start else block.data)
    if is_empty:
        reject(path, None, f"has no line behind the {lines} that are to be skipped")


def _ends_in_cr(start: bytes) -> bool:
    """Return whether lines end as on old Macs, and as some spreadsheets still write them."""
    return b"\r" in start and b"\n" not in start


def start_of(path: Path) -> bytes:
    """Return the first four bytes, unpacked. Raises ImportRejectedError."""
    with opened(path) as file:
        return file.read(MARK_BYTES)


def head_of(path: Path) -> bytes:
    """Return the first bytes, unpacked; of Parquet the names of its columns. Raises ImportRejectedError."""
    with opened(path) as file:
        head = file.read(HEAD_BYTES)
    if is_parquet(head):
        return parquet_head(path)
    return head.replace(b"\r", b"\n") if _ends_in_cr(head) else head
