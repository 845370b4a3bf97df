"""Writes the log: routes rows to the partitions of `ticks`, so that all rows of a base have one total order."""

from market.decide.settings import Settings
from market.prices.quotes import FeedMark, Quote
from streams.message_format import mark_row, marker_row, quote_row, settings_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS, bases_by_partition, partition_of


class TickWriter:
    """Writes rows of a base to the base's partition; FX and settings rows once to every partition that has bases.

    Every method returns at once and raises as `TopicWriter.write` does.
    """

    def __init__(
        self, writer: TopicWriter, bases: tuple[str, ...], partitions: int, copies: tuple[str, ...] = ()
    ) -> None:
        """Write to `ticks` and to `copies`: topics that get each quote and mark after `ticks`, in the same partition. A
        process that is killed in between has written to `ticks` alone."""
        self._writer = writer
        self._feed_topics = (TICKS, *copies)
        self._partitions = partitions
        self._bases = bases_by_partition(bases, partitions)

    def row(self, row: Quote | FeedMark) -> None:
        """Write a recorded row of either kind."""
        if isinstance(row, Quote):
            self.quote(row)
        else:
            self.mark(row)

    def quote(self, quote: Quote) -> None:
        if quote.kind == "fx":
            for partition, bases in self._bases.items():
                self._from_feed(quote_row(quote, bases), quote.symbol, partition)
        else:
            self._from_feed(quote_row(quote), quote.base, partition_of(quote.base, self._partitions))

    def mark(self, mark: FeedMark) -> None:
        if mark.kind in ("fx_alive", "fx_withdrawn"):
            for partition, bases in self._bases.items():
                self._from_feed(mark_row(mark, bases), mark.symbol, partition)
        else:
            self._from_feed(mark_row(mark), mark.base, partition_of(mark.base, self._partitions))

    def settings(self, settings: Settings, received_time: int) -> None:
        for partition, bases in self._bases.items():
            self._writer.write(TICKS, settings_row(settings, received_time, bases), "settings", partition)

    def marker(self, kind: str, base: str, marker_id: str, received_time: int) -> None:
        """Write a `probe` or `end` row."""
        row = marker_row(kind, base, marker_id, received_time)
        self._writer.write(TICKS, row, base, partition_of(base, self._partitions))

    def _from_feed(self, row: bytes, key: str, partition: int) -> None:
        for topic in self._feed_topics:
            self._writer.write(topic, row, key, partition)
