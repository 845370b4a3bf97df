"""What readers of a region's `ticks` must know of rows that came from other regions: they may repeat, and are late."""

from collections.abc import Iterable, Mapping
from typing import Any


class UnrepeatedRows:
    """Tells rows of `ticks` from their repeats: after a kill of MirrorMaker the rows of its last second come again.

    Sequences of a symbol at an exchange grow from row to row, so a row whose sequence is not above the last one is a
    repeat. Rows without sequences (settings, markers) are of the region itself and never are. Only the order within a
    partition matters.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[int, str, str], int] = {}

    def is_new(self, partition: int, row: Mapping[str, Any]) -> bool:
        """Whether this row of that partition (as `message_format.row_of` gives it) counts; it is noted."""
        sequence = row.get("sequence")
        if not isinstance(sequence, int):
            return True
        # an FX row is in several partitions, with the same sequence in each
        source = partition, str(row.get("exchange")), str(row.get("symbol"))
        if sequence <= self._last.get(source, -1):
            return False
        self._last[source] = sequence
        return True


def mirror_lags(rows: Iterable[Mapping[str, Any]], region: str, now: int) -> dict[str, int]:
    """Source region → how long ago the newest row of it that arrived in `region` was received there, microseconds.

    `rows` are the newest ones of `ticks`. Feeds write at least once a second, so a lag that grows means a mirror that
    stands still. A clock of the source that is ahead makes it smaller, below zero at the most. A region without any row
    is missing.
    """
    newest: dict[str, int] = {}
    for row in rows:
        source, received = row.get("region"), row.get("received_time")
        if isinstance(source, str) and source != region and isinstance(received, int):
            newest[source] = max(received, newest.get(source, received))
    return {source: now - received for source, received in newest.items()}
