"""Selects rows by a mapping's conditions: those with one of the wanted words in each named column."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tick_sets.mapped.file import Wanted, Word
from tick_sets.rows.csv_columns import FilePart


def rows_where(part: FilePart, where: Mapping[str, Wanted]) -> tuple[FilePart, int]:
    """Return the rows that meet the conditions, and how many do not. Words must match exactly, apart from blanks around
    them."""
    if not where or not part.cells.num_rows:
        return part, 0
    fits = np.ones(part.cells.num_rows, dtype=bool)
    for name, wanted in where.items():
        words = pa.array([_text(word) for word in (wanted if isinstance(wanted, list) else [wanted])], pa.string())
        is_one: Any = pc.is_in(pc.utf8_trim_whitespace(part.cells[name]), words)
        fits &= is_one.to_numpy()
    if fits.all():
        return part, 0
    return FilePart(part.cells.filter(pa.array(fits)), part.lines[fits], part.rejected), int((~fits).sum())


def _text(word: Word) -> str:
    """Return the word as text; TOML's true is `true`."""
    return str(word).lower() if isinstance(word, bool) else str(word)
