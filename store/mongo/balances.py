"""Balance rows, and what the exchanges reported before and after a session."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from pymongo import ASCENDING, UpdateOne
from pymongo.errors import DuplicateKeyError

from market.money import ZERO
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow, reported_rows
from store.mongo.leases import check_not_fenced_out
from store.mongo.unit_of_work import balance_update
from store.ports.parts import Balances
from store.server.client import Database, Document, translated_errors
from store.server.clock import server_now
from store.server.documents import BALANCES, SESSION_BALANCES, amounts_document, amounts_of, balance_of
from store.server.transactions import Transaction, in_transaction


class MongoBalances:
    """Balances of one session in one database."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    async def replace(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor,
    ) -> None:
        def step(transaction: Transaction) -> None:
            check_not_fenced_out(transaction, by)
            if moment == "after":
                # a late fill may be in them, and what nobody explained: the rows are for the comparison
                return
            rows = [balance_of(document) for document in transaction.find(BALANCES, {"exchange": exchange})]
            opened_at = transaction.now() if moment == "before" else None
            reported = reported_rows(rows, exchange, balances, opened_at)
            transaction.write(BALANCES, [balance_update(row) for row in reported])

        await in_transaction(self._database, step)
        with translated_errors():
            if moment != "now":
                await self._record(exchange, balances, moment)

    async def correct(self, expected: BalanceRow, corrected: BalanceRow, by: Actor) -> bool:
        """Replace `expected` by `corrected`; False if the row has changed since. Raises FencedOutError."""

        def step(transaction: Transaction) -> bool:
            check_not_fenced_out(transaction, by)
            row = self.row_in(transaction, expected.exchange, expected.currency)
            if row == expected:
                transaction.write(BALANCES, [balance_update(corrected)])
            return row == expected

        return await in_transaction(self._database, step)

    def row_in(self, transaction: Transaction, exchange: str, currency: str) -> BalanceRow:
        document = transaction.find_one(BALANCES, {"exchange": exchange, "currency": currency})
        return BalanceRow(exchange, currency, ZERO, ZERO) if document is None else balance_of(document)

    def book_in(self, transaction: Transaction, row: BalanceRow, settled_at: int | None = None) -> None:
        """Book what is unexplained in `row`, to it and to the opening balances; `settled_at`: if a person settled
        it."""
        transaction.write(BALANCES, [balance_update(row.explained(settled_at))])
        key = f"{self._session_id}|{row.exchange}"
        document = transaction.find_one(SESSION_BALANCES, {"_id": key, "before": {"$exists": True}})
        if document is not None:
            opening = amounts_of(document["before"])
            opening[row.currency] = opening.get(row.currency, ZERO) + row.unexplained
            transaction.write(
                SESSION_BALANCES, [UpdateOne({"_id": key}, {"$set": {"before": amounts_document(opening)}})]
            )

    async def rows(self) -> list[BalanceRow]:
        """By exchange and currency."""
        with translated_errors():
            found = self._database[BALANCES].find().sort([("exchange", ASCENDING), ("currency", ASCENDING)])
            return [balance_of(document) async for document in found]

    async def of_session(self) -> tuple[Balances, Balances]:
        """(before, after)."""
        before: Balances = {}
        after: Balances = {}
        with translated_errors():
            async for document in self._database[SESSION_BALANCES].find({"session_id": self._session_id}):
                for moment, record in (("before", before), ("after", after)):
                    if moment in document:
                        record[str(document["exchange"])] = amounts_of(document[moment])
        return before, after

    async def discard_closing(self, exchanges: Sequence[str]) -> None:
        """Remove the closing balances of these exchanges, which trade again. Raises StoreUnavailableError."""
        which: Document = {"session_id": self._session_id, "exchange": {"$in": list(exchanges)}}
        with translated_errors():
            await self._database[SESSION_BALANCES].update_many(which, {"$unset": {"after": "", "after_at": ""}})

    async def _record(self, exchange: str, balances: dict[str, Decimal], moment: Literal["before", "after"]) -> None:
        """`after` may be taken again, `before` may not: trading has begun since."""
        key = f"{self._session_id}|{exchange}"
        now = await server_now(self._database)
        names = {"session_id": self._session_id, "exchange": exchange, f"{moment}_at": now}
        first_only: Document = {moment: {"$exists": False}} if moment == "before" else {}
        try:
            await self._database[SESSION_BALANCES].update_one(
                {"_id": key, **first_only}, {"$set": {moment: amounts_document(balances), **names}}, upsert=True
            )
        except DuplicateKeyError:
            # recorded before: the filter matched nothing, so the upsert tried to insert the same id
            return
