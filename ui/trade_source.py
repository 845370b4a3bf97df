"""What the hub follows in the store: each arbitrage, the settings, and that something counted has changed."""

from collections.abc import AsyncIterator
from typing import Literal

from market.arbitrages import Arbitrage
from market.session import Session
from market.settings import Settings
from store.documents import ARBITRAGES, BALANCES, FEEDS, REFUSALS, SETTINGS, arbitrage_of, settings_of
from store.reading import Change, TradeReader
from ui.snapshot import Ledger, Totals

COUNTED = (BALANCES, FEEDS, REFUSALS)

News = Arbitrage | Settings | Literal["ledger"]
"""A new state, whole; or "ledger": read it again."""


async def read_ledger(reader: TradeReader, settlement_currency: str) -> Ledger:
    """Raises StoreUnavailableError."""
    totals = Totals(
        profit=await reader.profit(settlement_currency),
        arbitrages=await reader.arbitrage_counts(),
        refusals=await reader.refusal_counts(),
    )
    return Ledger(tuple(await reader.balance_rows()), tuple(await reader.feed_states()), totals)


async def news(reader: TradeReader, session: Session) -> AsyncIterator[News | None]:
    """First None, once nothing that follows can be missed; then what happened, at least once.

    Raises HistoryLostError: begin again, and read what there is.
    """
    async for change in reader.watch((ARBITRAGES, SETTINGS, *COUNTED)):
        if change is None:
            yield None
        else:
            told = _news_of(change, session.session_id)
            if told is not None:
                yield told


def _news_of(change: Change, session_id: str) -> News | None:
    """None where it is another session's."""
    if change.collection in COUNTED:
        return "ledger"
    if change.document is None:
        return None
    if change.collection == SETTINGS:
        return settings_of(change.document)
    return arbitrage_of(change.document) if change.document.get("session_id") == session_id else None
