"""Where the rows of a feeder go: quotes and marks to the log, rejected quotes to their own topic."""

from market.quotes import Quote
from pricefeeds.symbolfeed import RejectedQuote, Row
from streams.log import LogWriter
from streams.topics import REJECTS
from streams.wire import reject_row
from streams.writer import TopicWriter


class FeedPublisher:
    """Every call returns at once and raises as `TopicWriter.write` does."""

    def __init__(self, writer: TopicWriter, log: LogWriter) -> None:
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
