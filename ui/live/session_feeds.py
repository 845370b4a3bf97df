"""The price feeds of a session; the store also remembers those of earlier ones, with other exchanges."""

from collections.abc import Iterable

from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from session.session import Session


def feeds_of(session: Session, settings: Settings | None, states: Iterable[FeedState], now: int) -> list[FeedState]:
    """Return the feeds of the markets that are fed under these settings, as seen at `now` (market time,
    microseconds)."""
    ours = {(market.exchange, market.symbol) for market in session.fed_markets(settings)}
    return [state.as_seen(now, session.stale_after_ms) for state in states if (state.exchange, state.symbol) in ours]
