"""What a backtest keeps of rejected opportunities: how many for each reason, and what they missed, once per episode."""

from collections.abc import Callable, Iterable

from backtest.result.trading_outcome import RejectedSum
from market.money import ZERO
from market.prices.episodes import Episode, MissedProfit, missed_by_reason
from market.prices.opportunities import Opportunity

EXPIRED = "expired"
"""Not a rejection: it was over before anybody decided."""


class RejectionCounts:
    """Takes the place of a live bot's notes."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._newest: tuple[str, str] | None = None

    def record_opportunity(self, opportunity: Opportunity) -> None:
        """Do nothing: opportunities that were acted on are in the arbitrages."""

    def reject(
        self,
        opportunity: Opportunity,
        reason: str,
        rejected_at: int,
        record: Callable[[], str] | None = None,
    ) -> None:
        # the store may reject both bots, yet it is one opportunity
        if self.newest_reason(opportunity.opportunity_id) is None:
            self.count(reason)
            self._newest = (opportunity.opportunity_id, reason)

    def count(self, reason: str, number: int = 1) -> None:
        """Count so many opportunities that nobody else rejects."""
        if number:
            self._counts[reason] = self._counts.get(reason, 0) + number

    def newest_reason(self, identity: str) -> str | None:
        """Return why the opportunity that was decided upon last was rejected; None if it was not."""
        return self._newest[1] if self._newest is not None and self._newest[0] == identity else None

    def sums(self, episodes: Iterable[Episode]) -> dict[str, RejectedSum]:
        """Return the sums by reason, in the order of their names, including those of episodes that merely expired."""
        missed = missed_by_reason(episodes)
        none = MissedProfit(0, ZERO)
        return {
            reason: RejectedSum(
                self._counts.get(reason, 0), missed.get(reason, none).episodes, missed.get(reason, none).profit
            )
            for reason in sorted(self._counts.keys() | missed.keys())
        }
