"""The result of each day of the session, for figures of performance."""

from collections.abc import Iterable

from market.accounting.performance import DayResult, day_results
from market.accounting.profit_groups import ProfitGroup, profit_by
from market.time_units import MICROSECONDS
from session.session import Session

DAY = 86_400 * MICROSECONDS


def trading_days(session: Session, groups: Iterable[ProfitGroup]) -> list[DayResult]:
    """Return the days since the session began, or since the oldest one whose arbitrages are all kept."""
    now, since, kept_days = session.clock().now(), session.began_at, session.upkeep.keep_trades_days
    if since is not None and kept_days:
        since = max(since, now - kept_days * DAY)
    return day_results(profit_by(groups, "day"), since, now)
