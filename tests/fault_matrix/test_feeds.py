"""Every fault on every exchange, as the feed of a session meets it."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import Row
from tests.fault_matrix.feeds import FeedSeen, feed_under, patience_under
from tests.fault_matrix.trials import FEED_TRIALS, FeedShows, FeedTrial
from tests.fault_matrix.world import moving_world

QUICK_THROUGH_CCXT = ("garbage frame", "silent stream")
MOST_ATTEMPTS = 4
STALLED = 6
"""A trial in which this machine stood still for such a part of the limit shows what the machine does."""
TRIALS = [
    pytest.param(
        trial,
        is_generic,
        id=f"{trial.name}{', through ccxt' if is_generic else ''}",
        marks=() if trial.is_quick and (not is_generic or trial.name in QUICK_THROUGH_CCXT) else pytest.mark.soak,
    )
    for is_generic in (False, True)
    for trial in FEED_TRIALS
]


@pytest.mark.parametrize(("trial", "is_generic"), TRIALS)
async def test_a_feed_under(trial: FeedTrial, is_generic: bool, tmp_path: Path) -> None:
    """On all exchanges at once; `feed_under` ends only with a feed that is live again."""
    names, limit = trial.exchanges(is_generic=is_generic), int(patience_under(trial).stale_after * MICROSECONDS)
    for attempt in range(MOST_ATTEMPTS):
        home = tmp_path / str(attempt)
        home.mkdir()
        async with moving_world(home, is_generic=is_generic, parties=len(names)) as world:
            shown = await asyncio.gather(*(feed_under(world, name, trial) for name in names))
        seen = dict(zip(names, shown, strict=True))
        wrong = {
            name: _reported(one)
            for name, one in seen.items()
            if not _is_shown(one, trial.expected(name, is_generic=is_generic))
        }
        # a machine that stood still for a good part of the limit withdraws quotes by itself, whatever the fault does
        if not any(seen[name].stalled > limit / STALLED for name in wrong):
            break
    assert wrong == {}
    for name, one in seen.items():
        assert one.oldest <= limit + one.stalled, f"{name} believed what was {one.oldest / 1_000:g} ms old"
        assert not [row for row in one.rows if isinstance(row, Quote) and not _is_possible(row)]
        assert _longest_without_a_word(one.rows) <= limit + one.stalled


def _is_shown(seen: FeedSeen, expected: FeedShows) -> bool:
    if seen.withdrawn not in expected.withdrawn:
        return False
    return seen.withdrawn == "never" or (
        seen.status in expected.status and not seen.counted.isdisjoint(expected.counted)
    )


def _reported(seen: FeedSeen) -> str:
    return f"{seen.withdrawn}, {seen.status}, {sorted(seen.counted)}"


def _is_possible(quote: Quote) -> bool:
    return quote.bid < quote.ask and all(level.price > 0 and level.amount > 0 for level in (*quote.bids, *quote.asks))


def _longest_without_a_word(rows: tuple[Row, ...]) -> int:
    """While a quote stood in the log, from one row about it to the next, in microseconds."""
    said = [row for row in rows if isinstance(row, Quote | FeedMark)]
    standing = [(one, two) for one, two in pairwise(said) if one.kind != "withdrawn"]
    return max(two.received_time - one.received_time for one, two in standing)
