"""Publishes a feeder's rows: quotes and marks to the log, rejected quotes to their own topic."""

from market.prices.quotes import Quote
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row
from streams.message_format import reject_row
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter
from streams.topics import REJECTS


class FeedPublisher:
    """Calls return at once and raise as `TopicWriter.write` does."""

    def __init__(self, writer: TopicWriter, log: TickWriter) -> None:
        self._writer = writer
        self._log = log

    def publish(self, rows: list[Row]) -> None:
        for row in rows:
            if isinstance(row, Quote):
                self._log.quote(row)
            elif isinstance(row, RejectedQuote):
                reject = reject_row(row.quote, row.reason)
                self._writer.write(REJECTS, reject, row.quote.exchange, partition=0)
            else:
                self._log.mark(row)
