"""The shares of all arbitrages' profits, summed by exchange, asset, pair, day and strategy while they grow."""

from market.accounting.profit_groups import NOT_SPLIT, ProfitGroup, pair_name, profit_from
from market.trade.arbitrages import PROFIT_PARTS
from store.aggregates.month_sums import MonthSums
from store.aggregates.session_totals import KeptSums, RunningSums
from store.server.client import Database, Document
from store.server.documents import ARBITRAGES

DAY_ENDED: Document = {
    "$dateToString": {
        "date": {"$toDate": {"$toLong": {"$divide": ["$times.ended", 1_000]}}},
        "format": "%Y-%m-%d",
    }
}
"""The server's UTC day, by the server's clock."""

_SHARES: tuple[Document, ...] = (
    {"$match": {"profit": {"$ne": None}}},
    {"$unwind": {"path": "$profit.shares", "includeArrayIndex": "share", "preserveNullAndEmptyArrays": True}},
)
_EXCHANGE: Document = {"$ifNull": ["$profit.shares.exchange", NOT_SPLIT]}
_PAIR = ("$opportunity.buy.exchange", "$opportunity.sell.exchange")
_STRATEGY: Document = {"$ifNull": ["$strategy", "arbitrage"]}
_IS_FIRST: Document = {"$cond": [{"$gt": ["$share", 0]}, 0, 1]}


class RunningProfits:
    """Profits of one session, cheap enough to be read every few seconds."""

    def __init__(self, database: Database, wanted: Document) -> None:
        parts = [{"$toDecimal": {"$ifNull": [f"$profit.shares.{part}", f"$profit.{part}"]}} for part in PROFIT_PARTS]
        by = ("$profit.currency", _EXCHANGE, "$base", DAY_ENDED, *_PAIR, _STRATEGY)
        sums = RunningSums(database, ARBITRAGES, wanted, by, [1, _IS_FIRST, *parts], _SHARES)
        self._sums = KeptSums(database, sums, MonthSums(database, wanted, "profits"))

    async def read(self, currency: str) -> tuple[ProfitGroup, ...]:
        """By day, exchange, asset, pair and strategy; by month if the arbitrages were removed for their age. Raises
        StoreUnavailableError."""
        groups = []
        for key, (involved, arbitrages, *parts) in (await self._sums.read()).items():
            its_currency, exchange, asset, day, buy, sell, strategy = key
            if its_currency == currency:
                groups.append(
                    ProfitGroup(
                        exchange,
                        asset,
                        day,
                        int(involved),
                        int(arbitrages),
                        profit_from(currency, dict(zip(PROFIT_PARTS, parts, strict=True))),
                        pair_name(buy, sell),
                        "ma" if strategy == "ma" else "arbitrage",
                    )
                )
        return tuple(sorted(groups, key=lambda one: (one.day, one.exchange, one.asset, one.pair, one.strategy)))
