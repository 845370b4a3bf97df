"""Files whose newest rows come first, read from the last row to the first."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from tick_sets.errors import reject
from tick_sets.rows.arrow_columns import taken
from tick_sets.rows.csv_columns import FilePart

MOST_BYTES = 512_000_000
"""Most cells: such files hold bars of one download, and are held in memory whole."""


def oldest_first(path: Path, parts: Iterable[FilePart]) -> Iterator[FilePart]:
    """Return the rows in order of time. Raises ImportRejectedError if the file is too large to reverse in memory."""
    held: list[FilePart] = []
    size = 0
    for part in parts:
        held.append(part)
        size += part.cells.nbytes
        if size > MOST_BYTES:
            reject(path, None, f"has more than {MOST_BYTES:,} bytes of rows, too many to turn round; sort it by time")
    while held:
        part = held.pop()
        back = np.arange(len(part.lines) - 1, -1, -1, dtype=np.int64)
        yield FilePart(taken(part.cells, back), part.lines[::-1].copy(), part.rejected[::-1])
