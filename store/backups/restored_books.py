"""Reads the books of a database that nobody writes to, row by row, however many there are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.accounting.transfer_lifecycle import MoneyTransfer
from market.trade.arbitrages import TradeOfLegs
from market.trade.reservation_state import BalanceRow
from store.queries.store_snapshot import LedgerEntry
from store.server.client import STREAMED, BlockingDatabase, translated_errors
from store.server.documents import (
    ARBITRAGES,
    BALANCES,
    CLAIMS,
    CYCLE_TRADES,
    DIFFERENCES,
    FILLS,
    SESSION_BALANCES,
    SESSION_CLAIM,
    TRANSFERS,
    amounts_of,
    arbitrage_of,
    balance_of,
    cycle_trade_of,
    fill_of,
    integer_of,
    text_or_none,
)
from store.server.transfer_documents import transfer_of


@dataclass(frozen=True, slots=True)
class Opening:
    """What an exchange reported at the beginning of the last session that it took part in; `at` the server's time."""

    session_id: str
    at: int
    amounts: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class StoredBooks:
    """All of it but arbitrages and ledger."""

    balances: tuple[BalanceRow, ...] = ()
    openings: Mapping[str, Opening] = field(default_factory=dict)
    """Exchange → the last one."""
    open_arbitrages: int = 0
    """As they are counted."""
    pairs: Mapping[str, str] = field(default_factory=dict)
    """Claim on a pair or a cycle → the trade that has it."""
    transfers: tuple[MoneyTransfer, ...] = ()
    differences: Mapping[str, int] = field(default_factory=dict)
    """Exchange → when reconciliation found the last one there, the server's time."""


def read_ledger(database: BlockingDatabase) -> Iterator[tuple[str, LedgerEntry]]:
    """(session, entry) of every fill. Raises StoreError."""
    with translated_errors():
        for row in database[FILLS].find(batch_size=STREAMED):
            yield str(row["session_id"]), LedgerEntry(str(row["arbitrage_id"]), fill_of(row))


def read_all_trades(database: BlockingDatabase) -> Iterator[TradeOfLegs]:
    """Yield arbitrages, then trades on cycles. Raises StoreError."""
    with translated_errors():
        for row in database[ARBITRAGES].find(batch_size=STREAMED):
            yield arbitrage_of(row)
        for row in database[CYCLE_TRADES].find(batch_size=STREAMED):
            yield cycle_trade_of(row)


def read_stored_books(database: BlockingDatabase) -> StoredBooks:
    """Raise StoreError."""
    with translated_errors():
        claims = {
            str(row["_id"]): row
            for row in database[CLAIMS].find({"_id": {"$regex": f"^({SESSION_CLAIM}$|pair|cycle)"}})
        }
        holders = {key: text_or_none(row.get("arbitrage_id")) for key, row in claims.items() if key != SESSION_CLAIM}
        return StoredBooks(
            balances=tuple(balance_of(row) for row in database[BALANCES].find()),
            openings=_last_openings(database),
            open_arbitrages=integer_of(claims.get(SESSION_CLAIM, {}).get("open_arbitrages")),
            pairs={key: holder for key, holder in holders.items() if holder is not None},
            transfers=tuple(transfer_of(row) for row in database[TRANSFERS].find()),
            differences={
                str(row["_id"]): integer_of(row["at"])
                for row in database[DIFFERENCES].aggregate([{"$group": {"_id": "$exchange", "at": {"$max": "$at"}}}])
            },
        )


def _last_openings(database: BlockingDatabase) -> dict[str, Opening]:
    found: dict[str, Opening] = {}
    for row in database[SESSION_BALANCES].find({"before_at": {"$exists": True}}).sort("before_at", 1):
        at = integer_of(row["before_at"])
        found[str(row["exchange"])] = Opening(str(row["session_id"]), at, amounts_of(row["before"]))
    return found
