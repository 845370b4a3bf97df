"""Trades, fills and rejections of a recorded session, as rows of an app's input log."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backtest.verify.recorded_session import RecordedSession
from cep.apps.hosts.input_log import SourceRow
from cep.apps.hosts.product_streams import STORE, ProductStream
from cep.apps.hosts.trading_rows import base_of, fill_row, rejection_row, trade_rows
from streams.topics import partition_of

_Found = tuple[int, Mapping[str, Any]]
"""When it was, microseconds, and its row."""


@dataclass(frozen=True, slots=True)
class RecordedBooks:
    """The rows of one partition, by time: a trade's is that of its step, a fill's the exchange's, a rejection's that of
    its first. At one time trades come first, then fills, each as exported, which is by their own time."""

    partition: int
    session: RecordedSession

    def rows(self, streams: Iterable[ProductStream]) -> Iterator[SourceRow]:
        """Return the rows of the wanted streams; all are in memory at once. Raises CannotVerifyError if the files are
        damaged."""
        wanted = {stream.name: stream for stream in streams if stream.topic == STORE}
        found = [one for name in ("trades", "fills", "rejections") if name in wanted for one in self._found(name)]
        mine = [one for one in found if self._is_mine(str(one[1]["base"]))]
        for number, (at, row) in enumerate(sorted(mine, key=lambda one: one[0])):
            name, base = str(row["kind"]), str(row["base"])
            values = wanted[name].row_of(row)
            if values is not None:
                yield SourceRow(STORE, self.partition, number, at, ((name, values),), base)

    def _found(self, name: str) -> Iterator[_Found]:
        match name:
            case "trades":
                for exported in self.session.arbitrages():
                    arbitrage = exported.arbitrage
                    for row in trade_rows(arbitrage, range(len(arbitrage.history))):
                        yield row["at"], row
            case "fills":
                for one in self.session.fills():
                    base = base_of(one.fill, self.session.markets)
                    yield one.fill.filled_at, fill_row(one.fill, one.arbitrage_id, base)
            case _:
                for rejection in self.session.rejections():
                    yield rejection.rejected_at, rejection_row(rejection, 0)

    def _is_mine(self, base: str) -> bool:
        return partition_of(base, self.session.head.span.partitions) == self.partition


def recorded_books(session: RecordedSession) -> list[RecordedBooks]:
    """Return the session's books, by partition."""
    whole = RecordedSession(Path(session.folder).resolve(), session.head)
    return [RecordedBooks(partition, whole) for partition in sorted(session.head.span.first)]
