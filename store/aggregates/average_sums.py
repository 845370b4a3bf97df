"""What the moving average's orders bought and sold, summed while they grow."""

from dataclasses import dataclass
from decimal import Decimal

from market.instruments.orders import Side
from store.aggregates.month_sums import MonthSums
from store.aggregates.session_totals import KeptSums, RunningSums
from store.server.client import Database, Document
from store.server.documents import ARBITRAGES

_FILLS: tuple[Document, ...] = ({"$unwind": "$legs"}, {"$unwind": "$legs.fills"})
_LEG = ("$legs.exchange", "$legs.symbol", "$legs.side", "$legs.fills.fee_currency")
_AMOUNTS = [{"$toDecimal": f"$legs.fills.{name}"} for name in ("amount", "cost", "fee")]


@dataclass(frozen=True, slots=True)
class AverageSum:
    """All fills of one side of one market with fees in one currency; `amount` in base, `cost` in quote currency."""

    exchange: str
    symbol: str
    side: Side
    fee_currency: str
    fills: int
    amount: Decimal
    cost: Decimal
    fee: Decimal


class RunningAverageSums:
    """Average sums of one session, cheap enough to be read every few seconds."""

    def __init__(self, database: Database, wanted: Document) -> None:
        sums = RunningSums(database, ARBITRAGES, wanted | {"strategy": "ma"}, _LEG, [1, *_AMOUNTS], _FILLS)
        self._sums = KeptSums(database, sums, MonthSums(database, wanted, "average"))

    async def read(self) -> tuple[AverageSum, ...]:
        """By market, side and fee currency. Raises StoreUnavailableError."""
        return tuple(
            AverageSum(exchange, symbol, "buy" if side == "buy" else "sell", currency, int(count), amount, cost, fee)
            for (exchange, symbol, side, currency), (count, amount, cost, fee) in sorted(
                (await self._sums.read()).items()
            )
        )
