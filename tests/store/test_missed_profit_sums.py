"""The server gathers the episodes that `market.accounting.episodes` defines, and a memory store the same."""

from dataclasses import replace
from decimal import Decimal
from random import Random

from market.accounting.episodes import EpisodeSample, episodes_of, missed_by_reason
from market.accounting.missed_profit import missed_profit, rejected_sample
from market.money import total
from market.trade.arbitrages import Rejection
from session.clock import wall_now
from store.aggregates.missed_profit_sums import MissedProfits, missed_sums, profit_by_reason
from store.memory.memory_store import MemoryTradeStore
from store.mongo.mongo_store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.documents import ARBITRAGES
from store.server.mongo_client import connect
from tests.store.reservation_requests import open_books, opportunity, reserve_both

SECOND = 1_000_000
NOW = 1_700_000_000_000_000
SESSION = {"session_id": "session-1"}
REASONS = ("pair_busy", "stale", "below_threshold")


def rejection(number: int, at: int, tradable: str, reason: str = "pair_busy", **changes: object) -> Rejection:
    made = Rejection(
        f"rejection-{number}", f"o-{number}", "BTC", "alpha", "beta", "alpha", reason, 9.0, Decimal(300), at,
        tradable=Decimal(tradable), until=at + SECOND,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]  # from tables of cases


async def test_a_second_keeps_the_most_that_one_of_it_could_bring(store: MongoTradeStore | MemoryTradeStore) -> None:
    second = NOW - NOW % SECOND
    await store.reject(rejection(1, second, "1"))
    await store.reject(rejection(2, second + 400_000, "3"))
    await store.reject(rejection(3, second + 500_000, "2"))
    # it came while the last of the second before was alive
    await store.reject(rejection(4, second + SECOND + 400_000, "2.5", "stale"))
    await store.reject(rejection(5, second + 10 * SECOND, "0.5", "stale"))
    assert await store.rejected_profit() == {"pair_busy": Decimal(3), "stale": Decimal("0.5")}


async def test_a_gap_that_was_traded_was_not_missed(store: MongoTradeStore | MemoryTradeStore) -> None:
    await open_books(store)
    now = await store.server_now()
    await store.reject(rejection(1, now, "2", until=now + 3_600 * SECOND))
    assert await store.rejected_profit() == {"pair_busy": Decimal(2)}
    await reserve_both(store, opportunity("opportunity-1"), ("0.01", "0.01"))
    assert await store.rejected_profit() == {}


def sightings(random: Random) -> list[EpisodeSample]:
    """Of three pairs, some of them taken, at times of their own."""
    times = random.sample(range(NOW, NOW + 400 * SECOND), 300)
    made = []
    for at in sorted(times):
        buy = random.choice(("alpha", "beta", "gamma"))
        reason = None if random.random() < 0.05 else random.choice(REASONS)
        profit = Decimal(0) if reason is None else Decimal(random.randrange(-2, 9)) / 8
        lives = random.choice((1, SECOND // 2, 4 * SECOND))
        net_bps = random.randrange(-10, 40) / 4
        made.append(
            EpisodeSample(("BTC", buy, "", "delta", ""), at, at + lives, net_bps, max(profit, Decimal(0)), reason)
        )
    return made


async def write(store: MongoTradeStore, uri: str, database: str, seen: list[EpisodeSample]) -> None:
    """What was rejected as bots write it; of what was taken the fields that are read."""
    client = connect(uri)
    for number, one in enumerate(seen):
        base, buy, _, sell, _ = one.pair
        if one.reason is not None:
            # by a bot of its own each: none is counted on another
            reported = (f"r-{number}", f"o-{number}", base, buy, sell, f"bot-{number}", one.reason, one.net_bps)
            await store.reject(Rejection(*reported, Decimal(9), one.at, tradable=one.profit, until=one.expires_at))
            continue
        sides = {"buy": {"exchange": buy}, "sell": {"exchange": sell}}
        of = {"base": base, **sides, "net_bps": one.net_bps, "event_time": 0, "expires_at": one.expires_at - one.at}
        rest = {"at": one.at, "state": "closed", "strategy": "arbitrage", "opportunity": of}
        await client[database][ARBITRAGES].insert_one({"_id": f"a-{number}", **SESSION, **rest})
    client.close()


async def test_the_server_finds_the_episodes_of_the_definition(
    mongodb_uri: str, database: str, mongo_store: MongoTradeStore
) -> None:
    seen = sightings(Random(7))
    await write(mongo_store, mongodb_uri, database, seen)
    client = connect(mongodb_uri)
    for which, reasons in (("all", REASONS), ("below", REASONS[2:]), ("others", REASONS[:2])):
        looked_at = [one for one in seen if one.reason is None or one.reason in reasons]
        found = await missed_sums(client[database], SESSION, which=which)  # type: ignore[arg-type]  # of a table
        expected = missed_by_reason(episodes_of(looked_at))
        assert len(expected) == len(reasons)
        assert profit_by_reason(found) == {reason: missed.profit for reason, missed in expected.items()}
        by_reason = {reason: sum(one.episodes for one in found if one.reason == reason) for reason in reasons}
        assert by_reason == {reason: missed.episodes for reason, missed in expected.items()}
    bins = {(one.buy_exchange, one.bin) for one in found}
    best = {(one.pair[1], int(one.best_net_bps * 2 // 1)) for one in episodes_of(looked_at) if not one.is_taken}
    assert bins == best
    part = await missed_sums(client[database], SESSION, {"$gte": NOW, "$lt": NOW + 9 * SECOND})
    assert 0 < total(one.profit for one in part) < total(missed_profit(seen).values())
    client.close()


async def test_many_who_ask_together_are_answered_by_one_read(
    mongodb_uri: str, database: str, reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await mongo_store.reject(rejection(1, wall_now() - SECOND, "2"))
    client = connect(mongodb_uri)
    missed = MissedProfits(client[database], SESSION)
    first = await missed.sums(86_400)
    await mongo_store.reject(rejection(2, wall_now() - 30 * SECOND, "3"))
    assert await missed.sums(86_400) is first
    assert total(one.profit for one in await missed.sums(3_600)) == 5
    assert await missed.by_reason() == {"pair_busy": Decimal(5)}
    assert await reader.rejected_profit() == {"pair_busy": Decimal(5)}
    client.close()


async def test_another_session_is_left_out(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> None:
    await mongo_store.reject(rejection(1, wall_now(), "2"))
    other = TradeReader(connect(mongodb_uri), database, "session-2")
    assert await other.rejected_profit() == {}
    await other.close()


def test_a_rejection_of_an_earlier_version_is_a_sighting_of_a_moment() -> None:
    assert rejected_sample(rejection(1, NOW, "2", until=0)).expires_at == NOW
