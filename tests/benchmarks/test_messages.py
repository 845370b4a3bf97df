"""The prepared streams are what they say: a reader takes each message, and the last one shows the amount waited for."""

from decimal import Decimal

import pytest

from benchmarks.messages import EXCHANGES, LAST_AMOUNT, STEP, prepared_stream
from exchanges.catalogue import wire_of
from market.prices.quotes import Quote
from pricefeeds.feed.session import FeedSession
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import NoRecorder

START = 1_700_000_000_000_000
MESSAGES = 500


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_a_reader_takes_every_message(exchange: str) -> None:
    stream, rows = prepared_stream(exchange, MESSAGES, START, STEP), list[Row]()
    feed, now = SymbolFeed(stream.market, 0, START), START
    feed_session = FeedSession(feed, rows.extend, NoRecorder())
    feed_session.open(wire_of(exchange).conversation(stream.market, None), now)
    for text in stream.greeting:
        feed_session.frame(text.encode(), now)
    feed_session.snapshot(stream.rest_book.encode(), now)
    before = len(rows)
    for text in stream.messages:
        now += STEP
        feed_session.frame(text.encode(), now)
    quotes = [row for row in rows if isinstance(row, Quote)]
    assert len(quotes) == len(rows)
    # a change of a level behind the tenth is no quote
    assert len(quotes) - before > MESSAGES // 2
    assert len(stream.messages) == MESSAGES
    last = Decimal(LAST_AMOUNT).scaleb(-8)
    assert [quote.bids[0].amount == last for quote in quotes].index(True) == len(quotes) - 1
    assert len(quotes[-1].bids) == len(quotes[-1].asks) == 10
