"""Episodes in both stores: written again, late or twice they stay what they are, and what they missed is what the
definition says, live as in a backtest."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import permutations
from random import Random

import pytest

from backtest.detect.sightings import sighting_of
from backtest.simulate.seen_spreads import SpreadStatistics
from backtest.simulate.simulated_rejections import RejectionCounts
from bots.execute.episode_log import GRACE
from bots.execute.rejection_log import RejectionLog
from market.prices.episodes import (
    EXPIRED,
    Episode,
    EpisodeOutcome,
    EpisodeSample,
    TradeBounds,
    missed_by_reason,
    tradable_profit,
)
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from runtime.clock import wall_now
from store.memory.store import MemoryTradeStore
from store.mongo.store import MongoTradeStore
from store.queries.episode_pages import EpisodeFilter
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET, episodes_of, levels, opportunity_of
from tests.ui.samples import arbitrage

SECOND = 1_000_000
START = 1_700_000_000_000_000
REASONS = ("pair_busy", "stale", "below_threshold")
HERE = ("BTC", "alpha", "BTC/USD", "beta", "BTC/EUR")


def episode(start: int = START, **changes: object) -> Episode:
    made = Episode(
        HERE, start, start + SECOND, 3, 8.5, False, Decimal("1.5"), "pair_busy", start + 2 * SECOND, Decimal(2),
        start, f"first-{start}", f"best-{start}",
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]  # of an episode, from tables of cases


EARLIER = episode(end=START, samples=1, best_net_bps=3.0, best_id="a", rejected=Decimal(1), profit=Decimal(1))
LATER = episode(samples=4, rejected=Decimal(1), rejected_at=START + SECOND, reason="stale", until=START + 9 * SECOND)
TAKEN = episode(samples=2, is_taken=True, profit=Decimal(3))


async def stored(store: MongoTradeStore | MemoryTradeStore) -> list[Episode]:
    return await store.running_episodes(0)


@pytest.mark.parametrize("states", list(permutations((EARLIER, LATER, TAKEN))))
async def test_whichever_state_comes_first_and_however_often_the_same_is_kept(
    store: MongoTradeStore | MemoryTradeStore, states: tuple[Episode, ...]
) -> None:
    for state in (*states, *states):
        await store.save_episodes([state])
    assert await stored(store) == [
        episode(
            samples=4,
            until=START + 9 * SECOND,
            is_taken=True,
            profit=Decimal(3),
            rejected=Decimal("1.5"),
            reason="pair_busy",
            rejected_at=START,
        )
    ]


async def test_what_a_check_said_counts_before_nobody_having_decided(
    store: MongoTradeStore | MemoryTradeStore,
) -> None:
    for reason in ("stale", EXPIRED):
        await store.save_episodes([episode(reason=reason)])
    assert [one.reason for one in await stored(store)] == ["stale"]


async def test_one_batch_has_many_and_one_more_than_once(store: MongoTradeStore | MemoryTradeStore) -> None:
    second = episode(START + 60 * SECOND, reason=None, rejected=Decimal(0), rejected_at=0)
    await store.save_episodes([EARLIER, second, LATER, EARLIER])
    await store.save_episodes([])
    assert [(one.start, one.samples, one.reason) for one in await stored(store)] == [
        (START, 4, "pair_busy"),
        (START + 60 * SECOND, 3, None),
    ]
    assert [one.start for one in await store.running_episodes(START + 10 * SECOND)] == [second.start]


def sightings(random: Random) -> list[tuple[Opportunity, str | None]]:
    """Return sightings of three pairs, at rising times, with what became of each; None: it was traded."""
    pairs = ((USD_MARKET, EUR_MARKET), (USD_MARKET, JPY_MARKET), (USD_MARKET, replace(EUR_MARKET, symbol="BTC/GBP")))
    book = levels(("100", "1"))
    made = []
    for number, at in enumerate(sorted(random.sample(range(START, START + 400 * SECOND), 300))):
        buy, sell = random.choice(pairs)
        of = opportunity_of((buy, book), (sell, book), identity=f"o-{number}", net_bps=random.randrange(-10, 40) / 4)
        lives = random.choice((1, SECOND // 2, 4 * SECOND))
        expected = random.randrange(-2, 9) / 8
        of = replace(of, event_time=at, expires_at=at + lives, expected_profit=expected)
        made.append((of, random.choice((*REASONS, EXPIRED)) if random.random() < 0.97 else None))
    return made


def at_most(_: Opportunity) -> TradeBounds:
    return TradeBounds(base=Decimal("0.5"))


def taken(of: Opportunity) -> Arbitrage:
    return replace(arbitrage("closed"), arbitrage_id=of.opportunity_id, opportunity=of, base=of.base)


def backtested(seen: list[tuple[Opportunity, str | None]]) -> dict[str, tuple[int, Decimal]]:
    """Return what a backtest says of them: reason → (episodes, missed profit)."""
    statistics, counts = SpreadStatistics(), RejectionCounts()
    for of, reason in seen:
        statistics.see(sighting_of(of), reason, lambda one: tradable_profit(one.opportunity, at_most(one.opportunity)))
    return {reason: (one.episodes, one.missed) for reason, one in counts.sums(statistics.episodes()).items()}


def lived(log: RejectionLog, seen: list[tuple[Opportunity, str | None]]) -> Iterator[int]:
    """Give it to a bot's log as the stream does, twice, and what was decided a little later; yields the times at which
    a round writes."""
    undone: list[tuple[Opportunity, str | None]] = []
    for number, (of, reason) in enumerate(seen):
        log.see(of, of.event_time)
        log.see(of, of.event_time)
        undone.append((of, reason))
        if number % 7 == 6:
            for decided, why in reversed(undone):
                if why is None:
                    log.follow(taken(decided))
                elif why != EXPIRED:
                    log.reject(decided, why, decided.event_time)
            undone.clear()
            yield of.event_time
    yield seen[-1][0].expires_at + GRACE + 4 * SECOND


async def test_a_session_missed_what_a_backtest_of_the_same_events_says(
    store: MongoTradeStore | MemoryTradeStore,
) -> None:
    seen = sightings(Random(7))
    seen = seen[: len(seen) // 7 * 7]
    expected = backtested(seen)
    assert len(expected) == 4
    assert sum(episodes for episodes, _ in expected.values()) > 60
    log = RejectionLog(at_most)
    for now in lived(log, seen):
        await log.write(store, now)
    assert await store.rejected_profit() == {reason: missed for reason, (_, missed) in expected.items()}
    found = await store.running_episodes(0)
    assert {reason: one.episodes for reason, one in missed_by_reason(found).items()} == {
        reason: episodes for reason, (episodes, _) in expected.items()
    }
    assert sum(one.samples for one in found) == len(seen)


async def test_a_bot_that_starts_again_goes_on_with_the_episode_that_runs(
    store: MongoTradeStore | MemoryTradeStore,
) -> None:
    first = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))), identity="first")
    second = replace(first, opportunity_id="later", event_time=first.event_time + 10, expires_at=first.expires_at + 10)
    log = RejectionLog(at_most)
    log.see(first, first.event_time)
    await log.write(store, first.event_time)
    again = RejectionLog(at_most)
    again.episodes.resume(await store.running_episodes(first.event_time))
    # the stream is read from a little before
    for of in (first, second):
        again.see(of, of.event_time)
    again.reject(second, "stale", second.event_time)
    await again.write(store, second.event_time)
    (found,) = await stored(store)
    assert (found.start, found.end, found.samples, found.reason) == (first.event_time, second.event_time, 2, "stale")


async def test_sums_count_each_episode_once_by_outcome_and_bin(
    mongo_store: MongoTradeStore, reader: TradeReader
) -> None:
    samples = [
        EpisodeSample(
            HERE, START + number * 10 * SECOND, START + number * 10 * SECOND + 1, bps, Decimal(profit), reason
        )
        for number, (bps, profit, reason) in enumerate(
            ((5.1, "2", "stale"), (5.3, "3", "stale"), (7.9, "1", EXPIRED), (8.0, "4", None), (9.9, "0", "pair_busy"))
        )
    ]
    known = episodes_of(samples)
    await mongo_store.save_episodes([*known, episode(START + 900 * SECOND, reason=None, rejected=Decimal(0))])
    sums = await reader.opportunity_sums.episodes.of_session()
    assert sorted((one.outcome, one.reason, one.bin, one.episodes, one.samples, one.missed) for one in sums) == [
        ("expired", EXPIRED, 15, 1, 1, Decimal(1)),
        ("rejected", "pair_busy", 19, 1, 1, Decimal(0)),
        ("rejected", "stale", 10, 2, 2, Decimal(5)),
        ("taken", "", 16, 1, 1, Decimal(0)),
        ("undecided", "", 17, 1, 3, Decimal(0)),
    ]
    assert sorted(map(repr, await reader.opportunity_sums.episodes.recent(3_600))) == sorted(map(repr, sums))
    totals = await reader.totals("USD")
    assert totals.episodes == {"taken": 1, "rejected": 3, "expired": 1, "undecided": 1}
    assert totals.missed_profit == {EXPIRED: Decimal(1), "pair_busy": Decimal(0), "stale": Decimal(5)}
    assert totals.missed_episodes == {EXPIRED: 1, "pair_busy": 1, "stale": 2}
    assert await mongo_store.episode_counts() == totals.episodes


async def test_sums_follow_what_changes(mongo_store: MongoTradeStore, reader: TradeReader) -> None:
    await mongo_store.save_episodes([episode()])
    assert await reader.rejected_profit() == {"pair_busy": Decimal("1.5")}
    await mongo_store.save_episodes([episode(rejected=Decimal(4), samples=9), episode(START + 900 * SECOND)])
    assert await reader.rejected_profit() == {"pair_busy": Decimal("5.5")}
    await mongo_store.save_episodes([TAKEN])
    assert await reader.rejected_profit() == {"pair_busy": Decimal("1.5")}


async def test_another_session_is_left_out(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> None:
    await mongo_store.save_episodes([episode()])
    other = TradeReader(connect(mongodb_uri), database, "session-2")
    assert await other.rejected_profit() == {}
    assert (await other.episodes(EpisodeFilter(), None, 10)).items == ()
    await other.close()
    async with MongoTradeStore(connect(mongodb_uri), database, "session-2") as later:
        assert await later.running_episodes(0) == []


PAGED: list[tuple[EpisodeFilter, list[int]]] = [
    (EpisodeFilter(), [4, 3, 2, 1, 0]),
    (EpisodeFilter(outcome="taken"), [3]),
    (EpisodeFilter(outcome="rejected"), [1, 0]),
    (EpisodeFilter(outcome="expired"), [2]),
    (EpisodeFilter(outcome="undecided"), [4]),
    (EpisodeFilter(reason="stale"), [1]),
    (EpisodeFilter(reason=EXPIRED), [2]),
    # an episode that was traded has no reason
    (EpisodeFilter(reason="too_small"), []),
    (EpisodeFilter(min_net_bps=7.0), [4, 3, 2]),
    (EpisodeFilter(base="BTC", exchange="beta", buy_exchange="alpha", sell_exchange="beta"), [4, 3, 2, 1, 0]),
    (EpisodeFilter(exchange="gamma"), []),
    (EpisodeFilter(since=START + SECOND, until=START + 3 * SECOND), [2, 1]),
]


@pytest.mark.parametrize(("wanted", "expected"), PAGED)
async def test_pages_have_what_is_asked_for_newest_first(
    mongo_store: MongoTradeStore, reader: TradeReader, wanted: EpisodeFilter, expected: list[int]
) -> None:
    reasons: tuple[str | None, ...] = ("pair_busy", "stale", EXPIRED, "too_small", None)
    known = [
        episode(START + number * SECOND, best_net_bps=5.0 + number, reason=reason, is_taken=number == 3)
        for number, reason in enumerate(reasons)
    ]
    await mongo_store.save_episodes(known)
    names: list[EpisodeOutcome] = [one.outcome for one in known]
    assert names == ["rejected", "rejected", "expired", "taken", "undecided"]
    found: list[int] = []
    cursor = None
    while True:
        page = await reader.episodes(wanted, cursor, 2)
        found += [(one.start - START) // SECOND for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == expected


async def test_a_sum_of_the_last_minutes_leaves_out_what_was_over_before(
    mongodb_uri: str, database: str, mongo_store: MongoTradeStore, reader: TradeReader
) -> None:
    await mongo_store.save_episodes([episode(), episode(START + 900 * SECOND)])
    client = connect(mongodb_uri)
    rows = client[database]["episodes"]
    await rows.update_one({"at": START}, {"$set": {"alive_until": wall_now() - 700 * SECOND}})
    client.close()
    assert sum(one.episodes for one in await reader.opportunity_sums.episodes.recent(600)) == 1
    assert sum(one.episodes for one in await reader.opportunity_sums.episodes.of_session()) == 2
