"""Transfers in MongoDB: each step one transaction over the transfer and the balance rows that it moves."""

from collections.abc import Callable
from decimal import Decimal

from pymongo import ASCENDING, ReplaceOne, UpdateOne

from market.accounting.transfer_lifecycle import OPEN_TRANSFERS, MoneyTransfer, confirmed
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow
from store.aggregates.session_totals import RunningNet
from store.mongo.balances import MongoBalances
from store.mongo.leases import check_not_fenced_out
from store.mongo.unit_of_work import balance_update
from store.server.client import Database, Document, translated_errors
from store.server.documents import BALANCES, CLAIMS, TRANSFERS
from store.server.transactions import Transaction, in_transaction
from store.server.transfer_documents import transfer_document, transfer_of
from store.transfer_steps import NotProposed, RowOf, Step, asked_step, changed_rows, refusal

WANTED: Document = {"state": {"$in": ["proposed", *OPEN_TRANSFERS]}}
NOW_WANTED: Document = {"$or": [WANTED, {"is_across": True}]}
"""Those that `store.ports.trading.Overview` has."""
StepOf = Callable[[RowOf], Step]
_TURN = "transfers"
"""The claim that every proposal writes: of two at a time one is tried again, and sees the other."""


class MongoTransfers:
    """`store.ports.transfers.Transfers` in one database, for one of its sessions."""

    def __init__(self, database: Database, balances: MongoBalances, session_id: str) -> None:
        self._database = database
        self._balances = balances
        self._session_id = session_id
        self._net = RunningNet(database, {"session_id": session_id})

    async def propose(self, transfer: MoneyTransfer, net: Decimal, by: Actor) -> NotProposed | None:
        def step(transaction: Transaction) -> NotProposed | None:
            check_not_fenced_out(transaction, by)
            transaction.write(CLAIMS, [UpdateOne({"_id": _TURN}, {"$inc": {"proposed": 1}}, upsert=True)])
            either: Document = {"$or": [WANTED, {"session_id": transfer.session_id}]}
            reason = refusal(transfer, map(transfer_of, transaction.find(TRANSFERS, either)), net)
            if reason is None:
                _write(transaction, transfer)
            return reason

        return await in_transaction(self._database, step)

    async def confirm(self, transfer_id: str, who: str) -> MoneyTransfer | None:
        def step(transaction: Transaction) -> MoneyTransfer | None:
            known = _read(transaction, transfer_id)
            if known is None:
                return None
            agreed = confirmed(known, who, transaction.now())
            _write(transaction, agreed)
            return agreed

        return await in_transaction(self._database, step)

    async def ask(self, transfer_id: str, by: Actor) -> MoneyTransfer | None:
        after = await self._stepped(transfer_id, lambda row_of: asked_step(row_of, by), by)
        return after if after is not None and after.state == "asked" else None

    async def step(self, transfer_id: str, step: Step, by: Actor) -> MoneyTransfer | None:
        return await self._stepped(transfer_id, lambda _row_of: step, by)

    async def _stepped(self, transfer_id: str, step_of: StepOf, by: Actor) -> MoneyTransfer | None:
        def step(transaction: Transaction) -> MoneyTransfer | None:
            check_not_fenced_out(transaction, by)
            known = _read(transaction, transfer_id)
            if known is None:
                return None

            def row_of(exchange: str, currency: str) -> BalanceRow:
                return self._balances.row_in(transaction, exchange, currency)

            after = step_of(row_of)(known, transaction.now())
            if after == known:
                return None
            transaction.write(BALANCES, [balance_update(row) for row in changed_rows(known, after, row_of)])
            _write(transaction, after)
            return after

        return await in_transaction(self._database, step)

    async def known(self, since: int) -> list[MoneyTransfer]:
        own: Document = {"session_id": self._session_id}
        either: Document = {"$or": [WANTED, own, {"is_across": True}, {"changed_at": {"$gte": since}}]}
        with translated_errors():
            found = self._database[TRANSFERS].find(either).sort([("at", ASCENDING), ("_id", ASCENDING)])
            return [transfer_of(document) async for document in found]

    async def net(self, currency: str) -> Decimal:
        return await self._net.read(currency)


def _read(transaction: Transaction, transfer_id: str) -> MoneyTransfer | None:
    document = transaction.find_one(TRANSFERS, {"_id": transfer_id})
    return None if document is None else transfer_of(document)


def _write(transaction: Transaction, transfer: MoneyTransfer) -> None:
    document = transfer_document(transfer)
    transaction.write(TRANSFERS, [ReplaceOne({"_id": transfer.transfer_id}, document, upsert=True)])
