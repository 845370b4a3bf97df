"""A consistent snapshot of trades, balances and claims, which an audit compares with the exchanges' records."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from market.accounting.transfer_lifecycle import MoneyTransfer
from market.instruments.orders import Fill
from market.money import ZERO
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_reservations import liquidity_keys
from market.trade.cycle_trades import CycleTrade
from market.trade.decision_record import step_of
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow, RowsRead
from session.session import Session as MarketSession
from store.mongo.arbitrages import OLDEST_FIRST
from store.mongo.cycle_unit import CYCLE
from store.mongo.unit_of_work import LIQUIDITY, PAIR
from store.ports.parts import Balances
from store.records.cycle_step import CycleStep, cycle_step_of
from store.server.client import Database, Document, connect, database_of
from store.server.documents import (
    ARBITRAGES,
    BALANCES,
    CLAIMS,
    CYCLE_TRADES,
    FILLS,
    LEASES,
    SESSION_BALANCES,
    SESSION_CLAIM,
    STEPS,
    TRANSFERS,
    amount_of,
    amounts_of,
    arbitrage_of,
    balance_of,
    cycle_trade_of,
    fill_of,
    integer_of,
    text_or_none,
)
from store.server.transactions import Transaction, in_transaction
from store.server.transfer_documents import transfer_of


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
    cycles: Sequence[CycleTrade] = ()
    used_by_cycles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Trade on a cycle → for each of its legs the side of a quote that it used."""
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
    """Claim on a pair or a cycle → the trade that has it."""
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """Side of a quote → base amount taken."""
    transfers: Sequence[MoneyTransfer] = ()
    leases: Mapping[str, int] = field(default_factory=dict)
    """Exchange → the token of its lease, which is how many holders it had."""

    @property
    def trades(self) -> Sequence[Arbitrage | CycleTrade]:
        """Return those of pairs and of cycles."""
        return [*self.arbitrages, *self.cycles]


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
        cycles = {str(row["_id"]): cycle_trade_of(row) for row in _all(transaction, CYCLE_TRADES)}
        of_pairs, of_cycles = _apart(_all(transaction, STEPS), cycles)
        return StoreSnapshot(
            arbitrages=[arbitrage_of(row) for row in _all(transaction, ARBITRAGES)],
            cycles=list(cycles.values()),
            used_by_cycles=_used(of_cycles),
            steps=[
                *(_taken_step(row, step_of(str(row["text"])).read) for row in of_pairs),
                *(_taken_step(row, step.read) for row, step in of_cycles),
            ],
            ledger=[LedgerEntry(str(row["arbitrage_id"]), fill_of(row)) for row in _all(transaction, FILLS)],
            balances=[balance_of(row) for row in _all(transaction, BALANCES)],
            before=_taken(records, "before"),
            after=_taken(records, "after"),
            open_arbitrages=integer_of(counter.get("open_arbitrages")),
            notional=amounts_of(counter.get("notional")),
            day_net=(str(counter["day"]), amount_of(counter["day_net"])) if "day" in counter else None,
            transfers=[transfer_of(row) for row in _all(transaction, TRANSFERS)],
            leases={str(row["_id"]): integer_of(row["token"]) for row in _all(transaction, LEASES)},
            pairs=_claimed(claims, PAIR) | _claimed(claims, CYCLE),
            liquidity={
                key.removeprefix(LIQUIDITY): amount_of(row.get("used", str(ZERO)))
                for key, row in claims.items()
                if key.startswith(LIQUIDITY)
            },
        )

    return await in_transaction(database, step)


def _all(transaction: Transaction, collection: str) -> list[Document]:
    return transaction.find(
        collection, {}, OLDEST_FIRST if collection in (ARBITRAGES, CYCLE_TRADES, FILLS) else [("_id", 1)]
    )


def _apart(
    rows: Sequence[Document], cycles: Collection[str]
) -> tuple[list[Document], list[tuple[Document, CycleStep]]]:
    """Return the steps of pairs, and those of cycles with what they record."""
    of_cycles = [row for row in rows if row["arbitrage_id"] in cycles]
    of_pairs = [row for row in rows if row["arbitrage_id"] not in cycles]
    return of_pairs, [(row, cycle_step_of(str(row["text"]))) for row in of_cycles]


def _used(steps: Iterable[tuple[Document, CycleStep]]) -> dict[str, tuple[str, ...]]:
    reserved = ((row, step.request.request) for row, step in steps)
    return {str(row["arbitrage_id"]): liquidity_keys(request) for row, request in reserved if request is not None}


def _taken_step(row: Document, read: RowsRead) -> TakenStep:
    return TakenStep(str(row["arbitrage_id"]), integer_of(row["number"]), read.by, read.now)


def _taken(records: Sequence[Document], moment: str) -> Balances:
    return {str(record["exchange"]): amounts_of(record[moment]) for record in records if moment in record}


def _claimed(claims: Mapping[str, Document], prefix: str) -> dict[str, str | None]:
    return {key: text_or_none(row.get("arbitrage_id")) for key, row in claims.items() if key.startswith(prefix)}
