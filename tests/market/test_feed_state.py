"""What a feed's last words mean once nobody renews them."""

import pytest

from market.prices.feed_state import SAVED_WITHIN, FeedState, FeedStatus

OVER = 100 + 3_000_000 + SAVED_WITHIN


@pytest.mark.parametrize(
    ("status", "now", "seen", "changed_at"),
    [
        ("live", 100, "live", 50),
        ("live", OVER, "live", 50),
        ("live", OVER + 1, "down", 100),
        ("resyncing", OVER + 1, "resyncing", 50),
        ("down", OVER + 1, "down", 50),
    ],
)
def test_a_live_feed_that_is_not_renewed_is_down(
    status: FeedStatus, now: int, seen: FeedStatus, changed_at: int
) -> None:
    state = FeedState("alpha", "us", "BTC/USD", status, changed_at=50, last_received=100).as_seen(now, 3_000)
    assert (state.status, state.changed_at) == (seen, changed_at)
