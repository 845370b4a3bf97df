"""What the bot of one exchange tells the store of episodes: who counts, what is decided late, and what expired."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.episode_log import GRACE, EpisodeLog
from market.prices.episodes import EXPIRED, Episode, TradeBounds
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from store.memory.store import MemoryTradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of
from tests.ui.samples import arbitrage

BOOK = levels(("100", "1"))
START = 1_000_000
LIFE = 1_000_000
NOTHING, TWO = Decimal(0), Decimal(2)


def seen(identity: str, after: int = 0, profit: float = 2.0) -> Opportunity:
    """Bought on alpha, sold on beta."""
    made = opportunity_of((USD_MARKET, BOOK), (EUR_MARKET, BOOK), identity, event_time=START + after, lifetime=LIFE)
    return replace(made, expected_profit=profit)


def log_of() -> EpisodeLog:
    return EpisodeLog(lambda _: TradeBounds(base=Decimal(1)))


def ended(of: Opportunity, state: str, strategy: str = "arbitrage") -> Arbitrage:
    made = arbitrage(of.opportunity_id, state)
    return replace(made, opportunity=of, strategy=strategy)  # type: ignore[arg-type]  # of tables of cases


async def written(log: EpisodeLog) -> list[Episode]:
    store = MemoryTradeStore()
    await log.write(store)
    return list(store.episodes.values())


async def test_each_is_counted_once() -> None:
    log = log_of()
    for number in (0, 1, 2, 1):
        log.see(seen(str(number), number), START)
    log.reject(seen("2", 2), "stale")
    log.follow(ended(seen("1", 1), "closed"))
    (found,) = await written(log)
    assert (found.samples, found.first_id, found.is_taken) == (3, "0", True)


@pytest.mark.parametrize(
    ("state", "strategy", "expected"),
    [
        ("reserved", "arbitrage", ("taken", None)),
        ("unwound", "arbitrage", ("taken", None)),
        ("closed", "ma", ("undecided", None)),
    ],
)
async def test_what_became_of_its_arbitrage_decides(
    state: str, strategy: str, expected: tuple[str, str | None]
) -> None:
    log, of = log_of(), seen("1")
    log.see(of, START)
    log.follow(ended(of, state, strategy))
    (found,) = await written(log)
    assert (found.outcome, found.reason) == expected


async def test_one_that_was_rejected_and_then_taken_is_taken() -> None:
    log, of = log_of(), seen("1")
    log.reject(of, "stale")
    log.follow(ended(of, "closed"))
    (found,) = await written(log)
    assert (found.outcome, found.missed, found.rejected, found.profit) == ("taken", NOTHING, TWO, TWO)


async def test_nobody_decided_in_time() -> None:
    log, of = log_of(), seen("1")
    log.see(of, START)
    log.expire(of.expires_at + GRACE)
    assert (await written(log))[0].outcome == "undecided"
    log.expire(of.expires_at + GRACE + 1)
    assert (await written(log))[0].reason == EXPIRED
    # a check that says no only then is still the reason
    log.reject(of, "pair_busy")
    (found,) = await written(log)
    assert (found.reason, found.missed, found.samples) == ("pair_busy", TWO, 1)


async def test_what_came_too_late_for_any_bot_is_seen_and_not_missed() -> None:
    log, late = log_of(), seen("1", profit=9.0)
    log.see(late, late.expires_at + 1)
    (found,) = await written(log)
    assert (found.samples, found.outcome, found.missed, found.profit) == (1, "expired", NOTHING, NOTHING)
    log.reject(seen("2", 1), "stale")
    (found,) = await written(log)
    assert (found.samples, found.outcome, found.missed) == (2, "rejected", TWO)


async def test_a_decision_belongs_to_the_run_in_which_it_was_seen() -> None:
    log, first, second = log_of(), seen("1"), seen("2", 2 * LIFE, profit=5.0)
    log.see(first, START)
    log.see(second, START)
    log.reject(first, "stale")
    log.reject(second, "pair_busy")
    assert [(one.start, one.reason, one.missed) for one in await written(log)] == [
        (START, "stale", TWO),
        (START + 2 * LIFE, "pair_busy", Decimal(5)),
    ]


async def test_what_did_not_change_is_not_written_again() -> None:
    log, of = log_of(), seen("1")
    log.see(of, START)
    log.see(of, START)
    assert [one.samples for one in await written(log)] == [1]
    assert await written(log) == []


async def test_an_arbitrage_of_what_was_never_seen_changes_nothing() -> None:
    log = log_of()
    log.follow(ended(seen("of an earlier process"), "closed"))
    assert await written(log) == []
