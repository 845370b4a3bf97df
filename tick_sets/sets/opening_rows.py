"""The state at the start of a row group: per market the newest quote or withdrawal, and when it was last renewed."""

import numpy as np
import pyarrow as pa

from tick_sets.rows.arrow_columns import coded, market_codes, taken
from tick_sets.sets.schema import OPENING_SCHEMA, TICK_SCHEMA

STATED = ("quote", "withdrawn", "fx", "fx_withdrawn", "settings")
"""Kinds that state a market's quote or its lack; the newest of each market counts."""
RENEWED = ("quote", "alive", "fx", "fx_alive")
"""Kinds that confirm it."""

_Key = tuple[str, str, str]


class OpeningRows:
    """Follows one base's log, row group by row group."""

    def __init__(self) -> None:
        self._newest: dict[_Key, pa.Table] = {}

    def before(self, row_group: int) -> pa.Table:
        """Return the rows to learn before `row_group`, as OPENING_SCHEMA has them, by offset; each once."""
        rows = pa.concat_tables([*self._newest.values()]) if self._newest else TICK_SCHEMA.empty_table()
        rows = rows.sort_by("offset")
        offsets = rows["offset"].to_numpy()
        is_first = np.append([True], offsets[1:] != offsets[:-1]) if len(offsets) else np.array([], dtype=bool)
        rows = rows.filter(pa.array(is_first))
        numbers = pa.array(np.full(len(rows), row_group, dtype=np.int32))
        return rows.add_column(0, OPENING_SCHEMA.field("row_group"), numbers)

    def learn(self, rows: pa.Table) -> None:
        """Learn `rows` of TICK_SCHEMA in the order of the log, after all that was learned before."""
        combined = rows.combine_chunks()
        keys, markets = market_codes(combined)
        kind_codes, kinds = coded(combined, "kind")
        for label, accepted in (("stated", STATED), ("renewed", RENEWED)):
            is_accepted = np.array([kind in accepted for kind in kinds], dtype=bool)
            places = np.flatnonzero(is_accepted[kind_codes])
            # a key that is assigned several times keeps the last
            last = np.full(len(markets), -1, dtype=np.int64)
            last[keys[places]] = places
            codes = np.flatnonzero(last >= 0)
            # copied, since a slice would keep all of its row group in memory
            newest = taken(combined, last[codes])
            for place, code in enumerate(codes):
                self._newest[label, *markets[code]] = newest.slice(place, 1)
