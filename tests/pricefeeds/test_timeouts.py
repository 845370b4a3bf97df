"""What a feeder waits for fits into the limit that it was given."""

import pytest

from pricefeeds.feed.timeouts import FeedTimeouts


@pytest.mark.parametrize("stale_after", [1.5, 2.0, 3.0, 60.0])
def test_a_lost_message_is_found_within_the_limit(stale_after: float) -> None:
    """A level is doubted once it stood for as long as REST may lag: in the look after that, and in a second one."""
    patience = FeedTimeouts.of_limit(stale_after)
    interval = 1.1 * patience.compare_often
    looks = 3 * patience.stream_lag + interval + patience.compare_again
    assert patience.rest_lag + looks < stale_after * 0.95


def test_rest_is_never_thought_slower_than_it_is() -> None:
    assert FeedTimeouts.of_limit(60.0).rest_lag == FeedTimeouts().rest_lag == 1.0
    assert FeedTimeouts.of_limit(0.9).rest_lag == pytest.approx(0.3)


def test_the_first_books_of_many_symbols_may_wait_for_one_another() -> None:
    usual = FeedTimeouts()
    assert usual.of_many(2.0) == usual
    assert usual.of_many(50.0).first_book == 50.0
