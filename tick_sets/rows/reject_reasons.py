"""Why rows must stay out: a small number for each row, because comparing words for each of them takes its time."""

import numpy as np
import pyarrow as pa

from tick_sets.rows.arrow_columns import Integers, coded
from tick_sets.rows.text_bytes import Flags


class RejectReasons:
    """The reason of each row, "" if it need not stay out. A row keeps the first one."""

    def __init__(self, rows: pa.Table) -> None:
        """Take `rows` of READ_SCHEMA: their faults are the first reasons."""
        self._words = [""]
        self._codes = np.zeros(len(rows), dtype=np.int16)
        if rows["fault"].null_count < len(rows):
            codes, words = coded(rows, "fault")
            self._codes = np.array([self._code(word) for word in words], dtype=np.int16)[codes]

    def _code(self, word: str) -> int:
        if word not in self._words:
            self._words.append(word)
        return self._words.index(word)

    def add(self, fits: Flags, word: str) -> None:
        """Give this reason to the rows that it fits and that have none."""
        if fits.any():
            self._codes[fits & self.is_none] = self._code(word)

    @property
    def is_none(self) -> Flags:
        """Return which rows have no reason."""
        flags: Flags = self._codes == 0
        return flags

    def is_any(self, *words: str) -> Flags:
        """Return which rows have one of these reasons."""
        is_it = np.array([word in words for word in self._words], dtype=np.bool_)
        flags: Flags = is_it[self._codes]
        return flags

    def count(self, word: str) -> int:
        """Return how many rows have this reason."""
        return int(self.is_any(word).sum())

    def __len__(self) -> int:
        return len(self._codes)

    def at(self, places: Integers) -> list[str]:
        """Return the reasons of some rows."""
        return [self._words[code] for code in self._codes[places].tolist()]
