"""Sums of what was taken and rejected: by pair, reason and half basis point, of a span and of the session."""

from dataclasses import replace
from decimal import Decimal

from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from store.aggregates.opportunity_sums import OutcomeSum
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, filled, granted, opportunity, reserved

SECOND = 1_000_000


def rejection(number: int, at: int, reason: str, net_bps: float) -> Rejection:
    profit = Decimal("1.5")
    identity = f"rejection-{number}"
    return Rejection(identity, identity, "BTC", "alpha", "beta", "alpha", reason, net_bps, profit, at, 1, profit)


def rejected(why: str, number: int, count: int, pair_seconds: int) -> OutcomeSum:
    sums = (Decimal(0), Decimal(0), pair_seconds)
    return OutcomeSum("BTC", "alpha", "beta", "rejected", why, number, count, *sums)


def by_bin(sums: list[OutcomeSum]) -> list[OutcomeSum]:
    return sorted(sums, key=lambda one: (one.outcome, one.why, one.bin))


async def trade(store: MongoTradeStore, identity: str, net_bps: float) -> None:
    of = replace(opportunity(identity), net_bps=net_bps, expected_profit=2.25)
    await reserved(store, of, "0.01")
    for leg in (await granted(store, identity, "buy"), await granted(store, identity, "sell")):
        await finish_leg(store, identity, leg.role, filled(leg), close, UNFENCED)


async def test_what_is_counted_together_stands_at_the_spread_of_the_first(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    now = wall_now()
    second = now - now % SECOND - 10 * SECOND
    for number, (after, reason, net_bps) in enumerate(
        [
            (0, "stale", 7.4),
            (1, "stale", 90.0),  # the same second: counted with the first, at its spread
            (SECOND, "stale", 7.49),
            (SECOND, "stale", 90.0),
            (2 * SECOND, "pair_busy", -0.1),
            (3 * SECOND, "pair_busy", 7.5),
        ]
    ):
        await mongo_store.reject([rejection(number, second + after, reason, net_bps)])
    await trade(mongo_store, "one-1", 20.2)
    # a five-hundredth of what the levels showed was reserved
    taken = OutcomeSum("BTC", "alpha", "beta", "taken", "closed", 40, 1, Decimal("0.0045"), Decimal(1), 0)
    expected = [
        rejected("pair_busy", -1, 1, 1),
        rejected("pair_busy", 15, 1, 1),
        rejected("stale", 14, 4, 2),
        taken,
    ]
    assert by_bin(await reader.opportunity_sums.of_session()) == expected
    assert by_bin(await reader.opportunity_sums.recent(3_600)) == expected
    part = await reader.opportunity_sums.between(second + SECOND, second + 3 * SECOND)
    assert by_bin(part) == [rejected("pair_busy", -1, 1, 1), rejected("stale", 14, 2, 1)]


async def test_many_who_ask_together_are_answered_by_one_read(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    now = wall_now()
    await mongo_store.reject([rejection(1, now - SECOND, "stale", 5.0)])
    first = await reader.opportunity_sums.recent(86_400)
    await mongo_store.reject([rejection(2, now - SECOND, "stale", 5.0)])
    assert await reader.opportunity_sums.recent(86_400) is first
    assert [one.count for one in await reader.opportunity_sums.recent(3_600)] == [2]
    assert [one.count for one in await reader.opportunity_sums.of_session()] == [2]


async def test_another_session_is_left_out(
    mongodb_uri: str, database: str, reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await mongo_store.reject([rejection(1, wall_now(), "stale", 5.0)])
    other = TradeReader(connect(mongodb_uri), database, "session-2")
    assert (await other.opportunity_sums.of_session(), await other.opportunity_sums.recent(60)) == ([], [])
    assert len(await reader.opportunity_sums.recent(60)) == 1
    await other.close()
