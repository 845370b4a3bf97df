"""Change stream of the store for the hub: arbitrages, settings, and which parts of the ledger changed."""

from collections.abc import AsyncIterator
from typing import Literal

from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage
from session.session import Session
from store.queries.trade_reader import Change, TradeReader
from store.server.documents import ARBITRAGES, BALANCES, FEEDS, REJECTIONS, SETTINGS, arbitrage_of, settings_of

BOOKS = (BALANCES, FEEDS)

News = Arbitrage | Settings | Literal["books", "totals"]
"""A new state, or the part of the ledger to read again."""


async def news(reader: TradeReader, session: Session) -> AsyncIterator[News | None]:
    """First None, once nothing that follows can be missed; then what happened, at least once.

    Raises HistoryLostError: begin again, and read what there is.
    """
    async for change in reader.watch((ARBITRAGES, SETTINGS, REJECTIONS, *BOOKS)):
        if change is None:
            yield None
        else:
            news_item = _news_of(change, session.session_id)
            if news_item is not None:
                yield news_item


def _news_of(change: Change, session_id: str) -> News | None:
    """None where it is another session's."""
    if change.collection in BOOKS:
        return "books"
    if change.collection == REJECTIONS:
        return "totals"
    if change.document is None:
        return None
    if change.collection == SETTINGS:
        return settings_of(change.document)
    return arbitrage_of(change.document) if change.document.get("session_id") == session_id else None
