"""Opportunities with what became of them: filters, cursors, and what a page costs among a hundred thousand."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from store.errors import CursorError
from store.mongo.store import MongoTradeStore
from store.queries.opportunity_outcomes import OpportunityOutcome, outcome_of
from store.queries.opportunity_pages import SCANNED_KEYS, SCANNED_OUTCOMES, OpportunityFilter, StoredOpportunity
from store.queries.trade_reader import TradeReader
from store.server.client import Document, connect
from store.server.documents import OPPORTUNITIES, REJECTIONS, opportunity_document, rejection_document
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, filled, granted, opportunity, reserved

START = 1_700_000_000_000_000
SECOND = 1_000_000
MANY = 100_000


def seen(number: int, net_bps: float = 10.0) -> Opportunity:
    return replace(opportunity(f"seen-{number}", number), event_time=START + number * SECOND, net_bps=net_bps)


def rejection(of: Opportunity, reason: str = "too_small", count: int = 1) -> Rejection:
    profit = Decimal(str(of.expected_profit))
    return Rejection(
        rejection_id=f"{of.opportunity_id}:alpha:{reason}",
        opportunity_id=of.opportunity_id,
        base=of.base,
        buy_exchange=of.buy.exchange,
        sell_exchange=of.sell.exchange,
        exchange="alpha",
        reason=reason,
        net_bps=of.net_bps,
        expected_profit=profit,
        rejected_at=of.event_time,
        count=count,
        tradable=profit,
    )


async def keep(store: MongoTradeStore, of: Opportunity, *reasons: str) -> None:
    await store.save_opportunities([of])
    for moment, reason in enumerate(reasons):
        await store.reject([replace(rejection(of, reason), rejected_at=of.event_time + moment)])


async def trade(store: MongoTradeStore, of: Opportunity) -> None:
    await store.save_opportunities([of])
    await reserved(store, of, "0.01")
    for leg in (await granted(store, of.opportunity_id, "buy"), await granted(store, of.opportunity_id, "sell")):
        await finish_leg(store, of.opportunity_id, leg.role, filled(leg), close, UNFENCED)


async def all_pages(reader: TradeReader, wanted: OpportunityFilter, limit: int) -> list[StoredOpportunity]:
    kept: list[StoredOpportunity] = []
    cursor: str | None = None
    while True:
        page = await reader.kept_opportunities.page(wanted, cursor, limit)
        assert len(page.items) <= limit
        kept += page.items
        cursor = page.next_cursor
        if cursor is None:
            return kept


def ids(kept: list[StoredOpportunity]) -> list[str]:
    return [one.opportunity.opportunity_id for one in kept]


@pytest.mark.parametrize(
    ("arbitrage", "reason", "expected"),
    [
        (None, None, OpportunityOutcome("expired")),
        (None, "stale", OpportunityOutcome("rejected", reason="stale")),
        (
            {"state": "closed", "profit": {"net": "1.5"}},
            None,
            OpportunityOutcome("taken", "closed", None, Decimal("1.5")),
        ),
        ({"state": "unfilled", "reason": "halted"}, "stale", OpportunityOutcome("taken", "unfilled", "halted")),
        ({"state": "reserved"}, None, OpportunityOutcome("taken", "reserved")),
        ({"state": "reserved"}, "no_bot", OpportunityOutcome("taken", "reserved")),
    ],
)
def test_the_arbitrage_speaks_before_the_rejection(
    arbitrage: dict[str, object] | None, reason: str | None, expected: OpportunityOutcome
) -> None:
    assert outcome_of(arbitrage, reason) == expected


async def test_each_comes_once_newest_first_with_what_became_of_it(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await keep(mongo_store, seen(1), "too_small", "pair_busy")
    await trade(mongo_store, seen(2))
    await keep(mongo_store, seen(3))
    await keep(mongo_store, seen(4))
    await reserved(mongo_store, seen(4), "0.01")
    for limit in (1, 2, 3, 500):
        kept = await all_pages(reader, OpportunityFilter(), limit)
        assert ids(kept) == ["seen-4", "seen-3", "seen-2", "seen-1"]
    outcomes = [(one.outcome.name, one.outcome.state, one.outcome.reason, one.outcome.net) for one in kept]
    assert outcomes == [
        ("taken", "reserved", None, None),
        ("expired", None, None, None),
        ("taken", "closed", None, Decimal(1)),
        ("rejected", None, "too_small", None),
    ]
    one = await reader.kept_opportunities.one("seen-2")
    assert one == kept[2]
    assert await reader.kept_opportunities.one("seen-9") is None


FILTERS = [
    (OpportunityFilter(outcome="taken"), [4]),
    (OpportunityFilter(outcome="rejected"), [3, 2]),
    (OpportunityFilter(outcome="rejected", reason="stale"), [2]),
    (OpportunityFilter(reason="too_small"), [3]),
    (OpportunityFilter(outcome="expired"), [1]),
    (OpportunityFilter(min_net_bps=12.0), [4, 3, 2]),
    (OpportunityFilter(min_net_bps=12.0, outcome="taken"), [4]),
    (OpportunityFilter(since=START + 2 * SECOND, until=START + 4 * SECOND), [3, 2]),
    (OpportunityFilter(since=START + 5 * SECOND, outcome="taken"), []),
    (OpportunityFilter(exchange="beta"), [4, 3, 2, 1]),
    (OpportunityFilter(buy_exchange="beta"), []),
    (OpportunityFilter(sell_exchange="beta", base="BTC", outcome="taken"), [4]),
    (OpportunityFilter(base="ETH"), []),
    (OpportunityFilter(base="$base"), []),
]


async def test_filters_leave_the_others_out_on_every_page(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    await keep(mongo_store, seen(1, 11.0))
    await keep(mongo_store, seen(2, 12.0), "stale")
    await keep(mongo_store, seen(3, 13.0), "too_small")
    await trade(mongo_store, seen(4, 14.0))
    for wanted, expected in FILTERS:
        for limit in (1, 10):
            kept = await all_pages(reader, wanted, limit)
            assert ids(kept) == [f"seen-{number}" for number in expected], wanted


async def test_a_foreign_cursor_is_rejected(reader: TradeReader) -> None:
    with pytest.raises(CursorError):
        await reader.kept_opportunities.page(OpportunityFilter(), "x", 3)


async def fill(store_database: str, mongodb_uri: str) -> None:
    """Store a hundred thousand, the newest rejected; one in a thousand is wide, the widest of all is the oldest."""
    client = connect(mongodb_uri)
    of, no = opportunity_document(seen(0)), rejection_document(rejection(seen(0)))
    opportunities, rejections = [], []
    for number in range(MANY):
        at, identity = START + number * SECOND, f"seen-{number}"
        net_bps = 900.0 if number == 0 else 200.0 if number % 1_000 == 0 else 10.0
        opportunities.append(of | {"_id": identity, "at": at, "net_bps": net_bps, "session_id": "session-1"})
        if number >= MANY - 2 * SCANNED_OUTCOMES:
            rejections.append(no | {"_id": identity, "opportunity_id": identity, "at": at, "session_id": "session-1"})
    await client[store_database][OPPORTUNITIES].insert_many(opportunities, ordered=False)
    await client[store_database][REJECTIONS].insert_many(rejections, ordered=False)
    client.close()


async def examined(reader: TradeReader, wanted: OpportunityFilter, cursor: str | None) -> tuple[int, int, int]:
    """(rows of a page of 50, documents, index entries) that MongoDB's own profiler counted for it."""
    database = reader._database
    await database.command("profile", 2)
    page = await reader.kept_opportunities.page(wanted, cursor, 50)
    await database.command("profile", 0)
    noted: list[Document] = [one async for one in database["system.profile"].find({"docsExamined": {"$exists": True}})]
    await database.drop_collection("system.profile")
    documents, keys = (sum(int(str(one[name])) for one in noted) for name in ("docsExamined", "keysExamined"))
    return len(page.items), documents, keys


async def test_among_a_hundred_thousand_a_page_reads_little_more_than_it_shows(
    reader: TradeReader, mongodb_uri: str, database: str
) -> None:
    await fill(database, mongodb_uri)
    first = await reader.kept_opportunities.page(OpportunityFilter(), None, 500)
    for cursor in (None, first.next_cursor):
        rows, documents, keys = await examined(reader, OpportunityFilter(), cursor)
        assert (rows, documents <= 160, keys <= 500) == (50, True, True), (documents, keys)
    # rare ones: many entries of the index are looked at, and no document but those shown
    rows, documents, keys = await examined(reader, OpportunityFilter(min_net_bps=150.0), None)
    assert (rows, documents <= 60, keys <= 2 * SCANNED_KEYS) == (10, True, True), (documents, keys)
    # none at all within reach: the page is empty and cheap, and says that there may be more
    rows, documents, keys = await examined(reader, OpportunityFilter(reason="stale"), None)
    assert (rows, documents, keys <= 4 * SCANNED_OUTCOMES) == (0, 0, True), (documents, keys)
    page = await reader.kept_opportunities.page(OpportunityFilter(min_net_bps=900.0), None, 50)
    assert (page.items, page.next_cursor is None) == ((), False)
    wide = await all_pages(reader, OpportunityFilter(min_net_bps=900.0), 50)
    assert ids(wide) == ["seen-0"]
