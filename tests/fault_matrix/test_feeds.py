"""Every fault on every exchange, as the feed of a session meets it."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import Row
from tests.fault_matrix.feeds import PATIENCE, FeedSeen, feed_under
from tests.fault_matrix.trials import EXCHANGES, FEED_TRIALS, FeedShows, FeedTrial
from tests.fault_matrix.world import moving_world

TRIALS = [pytest.param(trial, id=trial.name, marks=() if trial.is_quick else pytest.mark.soak) for trial in FEED_TRIALS]
LIMIT = int(PATIENCE.stale_after * MICROSECONDS)


@pytest.mark.parametrize("trial", TRIALS)
async def test_a_feed_under(trial: FeedTrial, tmp_path: Path) -> None:
    """On all exchanges at once; `feed_under` ends only with a feed that is live again."""
    async with moving_world(tmp_path) as world:
        seen = dict(
            zip(EXCHANGES, await asyncio.gather(*(feed_under(world, name, trial) for name in EXCHANGES)), strict=True)
        )
    wrong = {name: _reported(one) for name, one in seen.items() if not _is_shown(one, trial.expected(name))}
    assert wrong == {}
    for name, one in seen.items():
        assert one.oldest <= LIMIT + one.stalled, f"{name} believed what was {one.oldest / 1_000:g} ms old"
        assert not [row for row in one.rows if isinstance(row, Quote) and not _is_possible(row)]
        assert _longest_without_a_word(one.rows) <= LIMIT + one.stalled


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
