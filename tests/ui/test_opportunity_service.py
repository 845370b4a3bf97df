"""What is counted of opportunities, in bars."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as some

from store.aggregates.episode_sums import BINS_PER_BPS
from ui.services.opportunity import MAX_BARS, histogram


@given(some.dictionaries(some.integers(-(2**40), 2**40), some.integers(1, 9), min_size=1, max_size=5))
def test_bars_are_few_however_wide_the_spreads_and_count_each_once(counts: dict[int, int]) -> None:
    bars = histogram(Counter(counts), (), ())
    assert len(bars) <= MAX_BARS
    assert sum(bar["seen"] for bar in bars) == sum(counts.values())
    assert bars[0]["from_bps"] <= min(counts) / BINS_PER_BPS
    assert bars[-1]["to_bps"] > max(counts) / BINS_PER_BPS
    assert all(bar["to_bps"] == after["from_bps"] for bar, after in itertools.pairwise(bars))
