"""The price feeds of a session: the store remembers those of earlier ones, with other exchanges, too."""

from collections.abc import Iterable

from market.prices.feed_state import FeedState
from session.session import Session


def feeds_of(session: Session, states: Iterable[FeedState], now: int) -> list[FeedState]:
    """Those of the session's markets, as seen at `now` (market time, microseconds)."""
    ours = {(market.exchange, market.symbol) for market in session.markets}
    return [state.as_seen(now, session.stale_after_ms) for state in states if (state.exchange, state.symbol) in ours]
