"""What people look at: pages, counts, sums and changes."""

import asyncio
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.profit_groups import profit_by, profit_from
from market.prices.feed_state import FeedState
from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from store.aggregates.session_totals import SessionTotals
from store.errors import CursorError
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import ALL, TradeReader
from store.server.client import connect
from store.server.documents import ARBITRAGES, FEEDS, OPPORTUNITIES, REJECTIONS, microseconds_of
from tests.market.samples import settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import FREE, PROFIT, close, filled, granted, opportunity, reserved

SECOND = 1_000_000
NOW = 1_700_000_000_000_000
DEADLINE_SECONDS = 20


def rejection(index: int, reason: str = "too_small", second: int = 0) -> Rejection:
    at, profit = NOW + second * SECOND, Decimal("1E-7")
    return Rejection(
        f"rejection-{index}", "o", "BTC", "alpha", "beta", "alpha", reason, 4.5, profit, at, tradable=profit
    )


async def close_one(store: MongoTradeStore, identity: str) -> None:
    of = opportunity(identity, sequence=int(identity.rpartition("-")[2]))
    await reserved(store, of, "0.01")
    for leg in (await granted(store, identity, "buy"), await granted(store, identity, "sell")):
        await finish_leg(store, identity, leg.role, filled(leg), close, UNFENCED)


async def test_pages_hold_each_row_once_newest_first(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    for index in range(7):
        await mongo_store.reject([rejection(index, second=index // 3, reason=f"reason-{index % 3}")])
    seen: list[Rejection] = []
    cursor: str | None = None
    while True:
        page = await reader.rejections(None, cursor, 3)
        assert 0 < len(page.items) <= 3
        seen += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(one.rejection_id for one in seen) == [f"rejection-{index}" for index in range(7)]
    assert [one.rejected_at for one in seen] == sorted((one.rejected_at for one in seen), reverse=True)
    assert seen[0].expected_profit == Decimal("1E-7")
    of_reason = await reader.rejections("reason-1", None, 500)
    assert {one.reason for one in of_reason.items} == {"reason-1"}
    assert of_reason.next_cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "W10=", "WyJhIiwxXQ==", "ÿ"])
async def test_a_foreign_cursor_is_rejected(reader: TradeReader, cursor: str) -> None:
    with pytest.raises(CursorError):
        await reader.rejections(None, cursor, 3)


async def test_rejections_of_one_second_are_counted_on_the_first(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    repeated = [rejection(index % 5) for index in range(10)]
    await asyncio.gather(*(mongo_store.reject([one]) for one in [*repeated, rejection(9, "stale")]))
    assert await reader.rejection_counts() == {"too_small": 5, "stale": 1}
    assert await mongo_store.rejection_counts() == {"too_small": 5, "stale": 1}
    assert sorted(one.count for one in (await reader.rejections(None, None, 9)).items) == [1, 5]


async def test_sums_are_exact_and_of_the_session(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    for index in range(3):
        await close_one(mongo_store, f"opportunity-{index}")
    async with MongoTradeStore(connect(mongodb_uri), database, "session-2") as later:
        await later.reject([rejection(1)])
        await later.save_opportunities([opportunity("opportunity-9")])
        await close_one(later, "opportunity-9")
        assert len(await later.session_arbitrages()) == 1
        assert await later.rejection_counts() == {"too_small": 1}
        assert len(await later.fills()) == 2
    expected = profit_from("USD", {name: 3 * Decimal(part) for name, part in PROFIT.items()})
    assert await reader.profit("USD") == expected
    assert await reader.profit("EUR") == profit_from("EUR", {})
    assert (await reader.totals("USD")).arbitrages == {"closed": 3}
    assert await reader.rejection_counts() == {}
    assert await reader.opportunity_count() == 0
    everything = TradeReader(connect(mongodb_uri), database, ALL)
    assert (await everything.totals("USD")).arbitrages == {"closed": 4}
    await everything.close()


async def test_everything_is_read_as_it_was_written(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    found = opportunity()
    feed = FeedState("alpha", "us", "BTC/USD", "live", 1, 2, quotes=3, rejected={"crossed": 1})
    await mongo_store.save_opportunities([found])
    await mongo_store.save_feed_states([replace(feed, quotes=2)])
    await mongo_store.save_feed_states([feed])
    await close_one(mongo_store, "opportunity-1")
    changed = await mongo_store.settings.change(settings_of(min_net_bps=7), 1, "somebody")
    closed = await mongo_store.arbitrage("opportunity-1")
    assert closed is not None
    assert (await reader.opportunities(None, 5)).items == (found,)
    assert await reader.opportunity("opportunity-1") == found
    assert await reader.opportunity("unknown") is None
    assert (await reader.arbitrages(("closed",), None, 5)).items == (closed,)
    assert (await reader.arbitrages((), None, 5)).items == (closed,)
    assert (await reader.arbitrages(("residual", "unfilled"), None, 5)).items == ()
    assert await reader.arbitrage("opportunity-1") == closed
    assert len((await reader.fills(None, 5)).items) == 2
    assert await reader.feed_states() == [feed]
    assert await reader.balances.rows() == await mongo_store.balances.rows()
    assert await reader.balances.of_session() == await mongo_store.balances.of_session()
    assert await reader.settings.current() == changed
    history = (await reader.settings_history(None, 5)).items
    assert [(one.version, one.who, one.before, one.after) for one in history] == [
        (2, "somebody", FREE, changed),
        (1, "start", None, FREE),
    ]
    assert history[0].at >= history[1].at > NOW


async def test_notes_are_deleted_a_week_after_they_were_written(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    """By MongoDB itself: it needs a date in each, and the date of an old event would delete it at once."""
    await mongo_store.save_opportunities([opportunity()])
    await mongo_store.reject([rejection(1)])
    client = connect(mongodb_uri)
    for name in (OPPORTUNITIES, REJECTIONS):
        kept = [
            index
            for index in (await client[database][name].index_information()).values()
            if "expireAfterSeconds" in index
        ]
        assert [(index["key"], index["expireAfterSeconds"]) for index in kept] == [([("recorded_at", 1)], 7 * 86_400)]
        document = await client[database][name].find_one({})
        assert document is not None
        assert abs(microseconds_of(document["recorded_at"]) - wall_now()) < 60 * SECOND
    client.close()


async def test_running_totals_are_those_of_a_full_count(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    """Rows settle in between by their age, but one arbitrage, the oldest, ends after all the others."""
    client = connect(mongodb_uri)
    rows = client[database][ARBITRAGES]

    async def assert_totals_are_right() -> None:
        whole = (
            await reader.profit("USD"),
            dict(Counter(str(one.state) for one in (await reader.arbitrages((), None, 1_000)).items)),
            await reader.rejection_counts(),
            await reader.rejected_profit(),
        )
        totals = await reader.totals("USD")
        assert replace(totals, groups=(), episodes={}) == SessionTotals(*whole)
        for by in ("exchange", "asset", "day"):
            assert sum(line.profit.net for line in profit_by(totals.groups, by)) == totals.profit.net

    await close_one(mongo_store, "opportunity-0")
    await rows.update_one({"_id": "opportunity-0"}, {"$set": {"at": NOW, "state": "reserved"}})
    for index in range(1, 9):
        for again in (0, 100):
            await mongo_store.reject([rejection(again + index, f"reason-{index % 2}", second=index * 40)])
        await close_one(mongo_store, f"opportunity-{index}")
        await rows.update_one({"_id": f"opportunity-{index}"}, {"$set": {"at": NOW + index * 40 * SECOND}})
        await assert_totals_are_right()
        await assert_totals_are_right()
    await rows.update_one({"_id": "opportunity-0"}, {"$set": {"state": "closed"}})
    await assert_totals_are_right()
    await close_one(mongo_store, "opportunity-9")
    await assert_totals_are_right()
    totals = await reader.totals("USD")
    assert (totals.arbitrages, totals.rejections) == ({"closed": 10}, {"reason-0": 8, "reason-1": 8})
    client.close()


async def test_a_dropped_collection_is_a_change_too(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    changes = reader.watch()
    client = connect(mongodb_uri)
    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await anext(changes) is None
        await client[database].drop_collection(ARBITRAGES)
        changed = await mongo_store.settings.change(settings_of(min_net_bps=7), 1, "somebody")
        assert await anext(changes) == changed
    await changes.aclose()
    client.close()


async def test_a_change_is_a_new_state_of_this_session_and_never_behind_ledger_and_rejections(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    changes = reader.watch()
    client = connect(mongodb_uri)
    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await anext(changes) is None
        begun = await reserved(mongo_store)
        assert await anext(changes) == begun
        await mongo_store.reject([rejection(index, second=index) for index in range(300)])
        await client[database][FEEDS].insert_one({"_id": "alpha BTC/USD"})
        await client[database][ARBITRAGES].update_one({"_id": begun.arbitrage_id}, {"$set": {"session_id": "another"}})
        changed = await mongo_store.settings.change(settings_of(min_net_bps=7), 1, "somebody")
        assert await anext(changes) == changed
    await changes.aclose()
    client.close()
