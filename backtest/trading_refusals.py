"""What a backtest keeps of refused opportunities: how many for each reason, and what they were expected to bring."""

from collections.abc import Callable
from decimal import Decimal

from backtest.outcome import RefusedSum
from market.money import ZERO, decimal_of_double
from market.opportunities import Opportunity


class RefusalSums:
    """In the place of a live bot's notes."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._forgone: dict[str, Decimal] = {}

    def keep(self, opportunity: Opportunity) -> None:
        """Those that were acted on are in the arbitrages."""

    def refuse(
        self,
        opportunity: Opportunity,
        reason: str,
        refused_at: int,
        grounds: Callable[[], str] | None = None,
    ) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        forgone = self._forgone.get(reason, ZERO)
        self._forgone[reason] = forgone + decimal_of_double(opportunity.expected_profit)

    def sums(self) -> dict[str, RefusedSum]:
        """By reason, in the order of their names."""
        return {reason: RefusedSum(self._counts[reason], self._forgone[reason]) for reason in sorted(self._counts)}
