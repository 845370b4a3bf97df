"""The state at the start of a row group: per market the newest quote or withdrawal, and when it was last renewed."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasets.rows.arrow_columns import taken
from datasets.ticksets.tick_set_schema import OPENING_SCHEMA, TICK_SCHEMA

STATED = ("quote", "withdrawn", "fx", "fx_withdrawn", "settings")
"""Kinds that say what is; the newest of each market counts."""
RENEWED = ("quote", "alive", "fx", "fx_alive")
"""Kinds that say that it holds."""

_Key = tuple[str, str | None, str | None]


class OpeningRows:
    """Follows one base's log, row group by row group."""

    def __init__(self) -> None:
        self._newest: dict[_Key, pa.Table] = {}

    def before(self, row_group: int) -> pa.Table:
        """The rows to learn before `row_group`, as OPENING_SCHEMA has them, by offset; each once."""
        rows = pa.concat_tables([*self._newest.values()]) if self._newest else TICK_SCHEMA.empty_table()
        rows = rows.sort_by("offset")
        offsets = rows["offset"].to_numpy()
        is_first = np.append([True], offsets[1:] != offsets[:-1]) if len(offsets) else np.array([], dtype=bool)
        rows = rows.filter(pa.array(is_first))
        numbers = pa.array(np.full(len(rows), row_group, dtype=np.int32))
        return rows.add_column(0, OPENING_SCHEMA.field("row_group"), numbers)

    def learn(self, rows: pa.Table) -> None:
        """`rows` of TICK_SCHEMA in the order of the log, behind all that was learned before."""
        combined = rows.combine_chunks()
        keys, names = _market_codes(combined)
        for label, accepted in (("stated", STATED), ("renewed", RENEWED)):
            places = np.flatnonzero(_is_one_of(combined, accepted))
            # of one key assigned again and again the last stays
            last = np.full(len(names), -1, dtype=np.int64)
            last[keys[places]] = places
            codes = np.flatnonzero(last >= 0)
            # copied, since a slice would keep all of its row group in memory
            newest = taken(combined, last[codes])
            for place, code in enumerate(codes):
                self._newest[label, *names[code]] = newest.slice(place, 1)


def _market_codes(rows: pa.Table) -> tuple[npt.NDArray[np.int64], list[tuple[str | None, str | None]]]:
    """Per row a number for its (exchange, symbol), and what the numbers mean."""
    exchanges, symbols = _encoded(rows, "exchange"), _encoded(rows, "symbol")
    width = len(symbols[1])
    names = [(exchange, symbol) for exchange in exchanges[1] for symbol in symbols[1]]
    return exchanges[0] * width + symbols[0], names


def _encoded(rows: pa.Table, column: str) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    """Codes of a dictionary column; null is the last one."""
    words = rows[column].combine_chunks()
    if not isinstance(words, pa.DictionaryArray):
        raise TypeError(f"{column} is not dictionary-coded")
    names: list[str | None] = words.dictionary.to_pylist()
    indices = words.indices.fill_null(pa.scalar(len(names), pa.int32()))
    codes = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, [*names, None]


def _is_one_of(rows: pa.Table, kinds: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    codes, names = _encoded(rows, "kind")
    return np.array([name in kinds for name in names])[codes]
