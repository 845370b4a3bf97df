"""One order for the rows of several topics. Pure: what follows, and what has to wait.

What was written before the merging began is put in the order of its times, as over a recording, so that an app that is
started late sees what one saw that was there from the beginning. From then on rows come in the order in which they are
seen. Rows of one topic never overtake each other.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge

from cep.apps.hosts.input_log import SourceRow

_Placed = tuple[int, int, SourceRow]


class RowMerge:
    """`topics`: all of them; of rows with one time those of an earlier topic are first. `leading`: the one whose rows
    come before all others', whatever their times: a clock that was set back gives others earlier ones."""

    def __init__(self, topics: Sequence[str], leading: str | None = None) -> None:
        self._leading = leading
        self._waiting: dict[str, deque[tuple[int, SourceRow]]] = {topic: deque() for topic in topics}
        self._newest = dict.fromkeys(topics, 0)
        self._behind = set(topics)

    def add(self, topic: str, rows: Iterable[SourceRow]) -> None:
        """Add the next rows of the topic."""
        for row in rows:
            if topic != self._leading:
                self._newest[topic] = max(self._newest[topic], row.time)
            self._waiting[topic].append((self._newest[topic], row))

    def note_present(self, topics: Iterable[str]) -> None:
        """All rows of these topics are here that were written before the merging began."""
        self._behind.difference_update(topics)

    def waiting(self, topic: str) -> int:
        """Rows of the topic that are here and had to wait."""
        return len(self._waiting[topic])

    def ready(self) -> Iterator[SourceRow]:
        """Rows whose turn it is. While a topic is behind and none of its rows is here, nobody knows whose it is."""
        while all(self._waiting[topic] for topic in self._behind):
            heads = [(waiting[0][0], rank) for rank, waiting in enumerate(self._waiting.values()) if waiting]
            if not heads:
                return
            _, rank = min(heads)
            yield tuple(self._waiting.values())[rank].popleft()[1]


def by_time(sources: Sequence[Iterable[SourceRow]]) -> Iterator[SourceRow]:
    """Return the rows of topics that have ended, in the order of their times; at one time in that of `sources`."""
    return (row for _, _, row in merge(*map(_placed, range(len(sources)), sources), key=lambda placed: placed[:2]))


def _placed(rank: int, rows: Iterable[SourceRow]) -> Iterator[_Placed]:
    newest = 0
    for row in rows:
        newest = max(newest, row.time)
        yield newest, rank, row
