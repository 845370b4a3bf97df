"""A bot's subscriptions: opportunities, spread windows and, for paper accounts, quotes."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from exchanges.paper.account import PaperAccount
from market.prices.cycle_opportunities import CycleOpportunity
from market.prices.opportunities import LogMarker, Opportunity
from market.prices.spread_statistics import SpreadWindow
from runtime.clock import SystemClock
from streams.cycle_messages import cycle_opportunity_of
from streams.message_format import WireError, mark_of, opportunity_of, quote_of, row_of, spread_window_of
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topics import CYCLE_OPPORTUNITIES, SPREADS

log = logging.getLogger(__name__)

PATIENT_SECONDS = 0.25
"""How long opportunities may wait while another process decides on them."""
PACE_SECONDS = 0.1
ROWS_AT_ONCE = 16
"""Read without letting anything else run: some milliseconds."""

Signal = Opportunity | SpreadWindow | CycleOpportunity | Record
"""A record: of an opportunity that another process decides on, unread."""


async def signals(reader: TopicReader, decides: Callable[[int], bool]) -> AsyncIterator[Signal]:
    """Spread windows, and the opportunities and cycles of the partitions that this process decides on, endlessly; the
    others' records are not parsed, and those of cycles are over once somebody else would decide. Malformed rows are
    skipped."""
    async for batch in reader.batches():
        for number, record in enumerate(batch, start=1):
            if number % ROWS_AT_ONCE == 0:
                # a burst of cycles is hundreds of rows, and what was decided before them is not sent meanwhile
                await SystemClock().sleep(0)
            if record.topic == CYCLE_OPPORTUNITIES and not decides(record.partition):
                continue
            if record.topic != SPREADS and not decides(record.partition):
                yield record
                continue
            signal = _signal_of(record)
            if signal is not None:
                yield signal
        # the reader never waits while rows are buffered; this lets orders run in between
        await SystemClock().sleep(0)


async def keep_pace(reader: TopicReader, is_urgent: Callable[[], bool]) -> None:
    """Fetch rows at once while `is_urgent`, otherwise together, which costs broker and bot far less; endlessly.

    Raises StreamUnavailableError; the reader goes on as before then.
    """
    while True:
        await reader.fetch_within(0.0 if is_urgent() else PATIENT_SECONDS)
        await SystemClock().sleep(PACE_SECONDS)


async def follow_quotes(reader: TopicReader, account: PaperAccount) -> None:
    """Feed the newest quotes of its exchange to the paper account, endlessly."""
    name = account.exchange.encode()
    async for batch in reader.batches():
        for record in batch:
            if name in record.value:
                _apply_record(account, record)
        await SystemClock().sleep(0)


def opportunity_in(record: Record) -> Opportunity | None:
    """None for a malformed row."""
    signal = _signal_of(record)
    return signal if isinstance(signal, Opportunity) else None


def _signal_of(record: Record) -> Opportunity | SpreadWindow | CycleOpportunity | None:
    """None for a row that is none of these or malformed."""
    try:
        row = row_of(record.value)
        signal = _READS.get(record.topic, opportunity_of)(row, record.time)
    except WireError as error:
        log.warning("malformed row skipped: %s", error, extra={"topic": record.topic, "offset": record.offset})
        return None
    return None if isinstance(signal, LogMarker) else signal


def _window_of(row: Mapping[str, Any], _: int) -> SpreadWindow:
    return spread_window_of(row)


_READS: Mapping[str, Callable[[Mapping[str, Any], int], Opportunity | SpreadWindow | CycleOpportunity | LogMarker]] = {
    SPREADS: _window_of,
    CYCLE_OPPORTUNITIES: cycle_opportunity_of,
}
"""Topic → what reads its rows; those of all others are opportunities."""


def _apply_record(account: PaperAccount, record: Record) -> None:
    try:
        row = row_of(record.value)
        if row.get("exchange") != account.exchange:
            return
        if row.get("kind") == "quote":
            account.update_quote(quote_of(row))
        elif row.get("kind") in ("alive", "withdrawn"):
            account.apply_mark(mark_of(row))
    except WireError as error:
        log.warning("malformed row skipped: %s", error, extra={"topic": record.topic, "offset": record.offset})
