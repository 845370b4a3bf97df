"""What is read one by one comes in small answers, however large the collection is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.aggregates.running_equity import RunningEquity
from store.queries.session_export import SessionExport
from store.server.client import STREAMED, Client, Document, connect, database_of
from store.server.documents import ARBITRAGES, REJECTIONS, rejection_document, stored_amount
from tests.store.test_decision_steps import session_of

STORED = 5 * STREAMED


@dataclass
class AnswerSizes(CommandListener):
    """How many documents each answer of a cursor had. The driver's threads write to it."""

    sizes: list[int] = field(default_factory=list)

    def started(self, event: CommandStartedEvent) -> None:
        """Count nothing: its answer is not known yet."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        cursor = event.reply.get("cursor", {})
        self.sizes += [len(cursor[batch]) for batch in ("firstBatch", "nextBatch") if batch in cursor]

    def failed(self, event: CommandFailedEvent) -> None:
        """Count nothing: it had none."""


def ended_arbitrage(number: int, at: int) -> Document:
    profit: Document = {"currency": "USD", "net": stored_amount(Decimal(number))}
    times: Document = {"ended": at}
    return {"_id": f"a{number}", "session_id": "session-1", "state": "closed", "profit": profit, "times": times}


def rejection(number: int, at: int) -> Document:
    identity = f"r{number}"
    pair = ("BTC", "alpha", "beta", "alpha")
    row = Rejection(identity, identity, *pair, "too_small", 1.0, Decimal(1), at)
    return rejection_document(row) | {"_id": identity, "session_id": "session-1"}


async def read_equity(client: Client, name: str, _uri: str) -> int:
    equity = await RunningEquity(database_of(client, name), {"session_id": "session-1"}).read("USD")
    assert equity.net == sum(range(STORED))
    return equity.endings


async def read_rejections(client: Client, name: str, uri: str) -> int:
    export = SessionExport(client, session_of(uri, name))
    return sum([1 async for _ in export.rejections()])


@pytest.mark.parametrize("read", [read_equity, read_rejections])
async def test_an_answer_has_no_more_documents_however_many_there_are(
    read: Callable[[Client, str, str], Awaitable[int]], mongodb_uri: str, database: str
) -> None:
    sizes = AnswerSizes()
    client = connect(mongodb_uri, listeners=[sizes])
    now = wall_now() - 3_600 * MICROSECONDS
    try:
        await client[database][ARBITRAGES].insert_many([ended_arbitrage(one, now + one) for one in range(STORED)])
        await client[database][REJECTIONS].insert_many([rejection(one, now + one) for one in range(STORED)])
        sizes.sizes.clear()
        assert await read(client, database, mongodb_uri) == STORED
    finally:
        client.close()
    assert sum(sizes.sizes) >= STORED
    assert max(sizes.sizes) <= STREAMED
