"""What readers of a region's `ticks` must know of rows that came from other regions: they may repeat.

After a kill of MirrorMaker the rows of its last second or so come again, each source's in their order. A reader that
took them as they come would have old quotes in force until the mirror has caught up. So in the log of a region, and
only there, a row counts if its sequence is above those of all rows of its exchange and symbol before it.
"""

from collections.abc import Mapping
from typing import Any

REPEATED = "repeated"
"""The kind that a row which does not count has in the tick set of a session, so that no reader of the set takes it."""

Source = tuple[object, ...]
"""Whose rows have one order: exchange and symbol, with the partition, or the base, if a reader has several."""


class UnrepeatedRows:
    """Tells rows of `ticks` that count from those that do not.

    Sequences of a symbol at an exchange grow from row to row, marks included, and over restarts of its feed. Rows
    without sequences (settings, markers) are of the region itself and always count. Only the order of one source's rows
    matters.
    """

    def __init__(self) -> None:
        self.last: dict[Source, int] = {}
        """The highest sequence of each source so far."""

    def is_new(self, partition: int, row: Mapping[str, Any]) -> bool:
        """Whether this row of that partition (as `message_format.row_of` gives it) counts; it is noted."""
        # an FX row is in several partitions, with the same sequence in each
        return self.counts((partition, *market_of(row)), row.get("sequence"))

    def counts(self, source: Source, sequence: object) -> bool:
        """As `is_new`, of a row of that source."""
        if not isinstance(sequence, int):
            return True
        if sequence <= self.last.get(source, -1):
            return False
        self.last[source] = sequence
        return True


def market_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Exchange and symbol, whatever stands in their place."""
    return str(row.get("exchange")), str(row.get("symbol"))


def unrepeated_rows(region: str | None) -> UnrepeatedRows | None:
    """`region`: the session's. None if it has none, so that nothing comes again and nothing need be looked at."""
    return None if region is None else UnrepeatedRows()
