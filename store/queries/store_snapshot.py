"""A consistent snapshot of trades, balances and claims, which an audit compares with the exchanges' records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from market.instruments.orders import Fill
from market.money import ZERO
from market.trade.arbitrages import Arbitrage
from market.trade.decision_record import step_of
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow
from session.session import Session as MarketSession
from store.mongo.arbitrages import OLDEST_FIRST
from store.mongo.unit_of_work import LIQUIDITY, PAIR
from store.ports.parts import Balances
from store.server.client import Database, Document, connect, database_of
from store.server.documents import (
    ARBITRAGES,
    BALANCES,
    CLAIMS,
    FILLS,
    LEASES,
    SESSION_BALANCES,
    SESSION_CLAIM,
    STEPS,
    amount_of,
    amounts_of,
    arbitrage_of,
    balance_of,
    fill_of,
    integer_of,
    text_or_none,
)
from store.server.transactions import Transaction, in_transaction


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One row of the ledger: whose fill it is."""

    arbitrage_id: str
    fill: Fill


@dataclass(frozen=True, slots=True)
class TakenStep:
    """One transaction that changed an arbitrage: by whom, and when by the server's clock, microseconds."""

    arbitrage_id: str
    number: int
    by: Actor
    at: int


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """All sessions of one database; balances before and after are the last session's."""

    arbitrages: Sequence[Arbitrage] = ()
    steps: Sequence[TakenStep] = ()
    ledger: Sequence[LedgerEntry] = ()
    balances: Sequence[BalanceRow] = ()
    before: Balances = field(default_factory=dict)
    after: Balances = field(default_factory=dict)
    open_arbitrages: int = 0
    """From the counters, like the next two."""
    notional: Mapping[str, Decimal] = field(default_factory=dict)
    """The notional of the open ones, in the settlement currency."""
    day_net: tuple[str, Decimal] | None = None
    """The last day (UTC) on which any ended, and its realised P&L."""
    pairs: Mapping[str, str | None] = field(default_factory=dict)
    """Claim → the arbitrage that has it."""
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """Side of a quote → base amount taken."""
    leases: Mapping[str, int] = field(default_factory=dict)
    """Exchange → the token of its lease, which is how many holders it had."""


async def read_snapshot(session: MarketSession) -> StoreSnapshot:
    """Raise StoreUnavailableError if MongoDB is not reached, StoreError if it cannot be read."""
    client = connect(session.services.mongodb)
    database = database_of(client, session.services.database)
    try:
        return await _in_one_read(database, session.session_id)
    finally:
        client.close()


async def _in_one_read(database: Database, session_id: str) -> StoreSnapshot:
    def step(transaction: Transaction) -> StoreSnapshot:
        claims = {str(row["_id"]): row for row in _all(transaction, CLAIMS)}
        records = [row for row in _all(transaction, SESSION_BALANCES) if row["session_id"] == session_id]
        counter = claims.get(SESSION_CLAIM, {})
        return StoreSnapshot(
            arbitrages=[arbitrage_of(row) for row in _all(transaction, ARBITRAGES)],
            steps=[_taken_step(row) for row in _all(transaction, STEPS)],
            ledger=[LedgerEntry(str(row["arbitrage_id"]), fill_of(row)) for row in _all(transaction, FILLS)],
            balances=[balance_of(row) for row in _all(transaction, BALANCES)],
            before=_taken(records, "before"),
            after=_taken(records, "after"),
            open_arbitrages=integer_of(counter.get("open_arbitrages")),
            notional=amounts_of(counter.get("notional")),
            day_net=(str(counter["day"]), amount_of(counter["day_net"])) if "day" in counter else None,
            leases={str(row["_id"]): integer_of(row["token"]) for row in _all(transaction, LEASES)},
            pairs=_claimed(claims, PAIR),
            liquidity={
                key.removeprefix(LIQUIDITY): amount_of(row.get("used", str(ZERO)))
                for key, row in claims.items()
                if key.startswith(LIQUIDITY)
            },
        )

    return await in_transaction(database, step)


def _all(transaction: Transaction, collection: str) -> list[Document]:
    return transaction.find(collection, {}, OLDEST_FIRST if collection in (ARBITRAGES, FILLS) else [("_id", 1)])


def _taken_step(row: Document) -> TakenStep:
    read = step_of(str(row["text"])).read
    return TakenStep(str(row["arbitrage_id"]), integer_of(row["number"]), read.by, read.now)


def _taken(records: Sequence[Document], moment: str) -> Balances:
    return {str(record["exchange"]): amounts_of(record[moment]) for record in records if moment in record}


def _claimed(claims: Mapping[str, Document], prefix: str) -> dict[str, str | None]:
    return {key: text_or_none(row.get("arbitrage_id")) for key, row in claims.items() if key.startswith(prefix)}
