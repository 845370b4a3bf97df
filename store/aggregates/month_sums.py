"""What is kept of arbitrages that were removed for their age: sums by month, in the groups in which pages sum.

Each group is one document: session, month of the end (UTC), which sum it is, what it is grouped by, and the values. A
count of removals goes up with each, so that whoever has summed what was there before sums again. Sums, count and what
is left are read as of one moment: each reading ends after one pass, however often something is removed meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

from market.accounting.equity_curve import TRADED_STATES, EquitySum
from market.accounting.profit_groups import NOT_SPLIT, added, profit_from
from market.instruments.orders import changes_of
from market.money import EXACT, ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, ProfitAndLoss
from market.trade.reservation_state import fill_key
from store.server.client import BlockingDatabase, Database, Document, Moment, translated_errors
from store.server.documents import MONTH_SUMS, amount_of, integer_of, stored_amount

SumName = Literal["states", "profits", "average", "changes", "equity"]
REVISION = "revision"

Sums = dict[tuple[str, ...], tuple[Decimal, ...]]
"""Values of the fields grouped by → the sums."""


@dataclass(frozen=True, slots=True)
class MonthRow:
    """One group of one sum of one month. `last_at`: when the last of it ended, microseconds."""

    session_id: str
    month: str
    name: SumName
    by: tuple[str, ...]
    values: tuple[Decimal, ...]
    last_at: int

    @property
    def key(self) -> str:
        return "|".join((self.session_id, self.month, self.name, *self.by))


def month_of(moment: int) -> str:
    """YYYY-MM, UTC."""
    return f"{datetime.fromtimestamp(moment // MICROSECONDS, UTC):%Y-%m}"


def rows_of(arbitrage: Arbitrage, session_id: str, fill_sessions: Mapping[str, str]) -> Iterator[MonthRow]:
    """All that one ended arbitrage counts in. `fill_sessions`: fill key → the session that its ledger entry is of."""
    at = arbitrage.times["ended"]
    month, profit, pair = month_of(at), arbitrage.profit, arbitrage.opportunity
    currency = None if profit is None else profit.currency
    parts = [ZERO] * len(PROFIT_PARTS) if profit is None else list(profit.parts.values())

    def row(
        name: SumName, by: Sequence[object], values: Sequence[Decimal | int], session: str = session_id
    ) -> MonthRow:
        return MonthRow(session, month, name, tuple(map(str, by)), tuple(map(Decimal, values)), at)

    yield row("states", (arbitrage.state, currency), (1, *parts))
    if profit is not None:
        exchanges = (pair.buy.exchange, pair.sell.exchange)
        shares = [(share.exchange, [getattr(share, part) for part in PROFIT_PARTS]) for share in profit.shares]
        for number, (exchange, amounts) in enumerate(shares or [(NOT_SPLIT, parts)]):
            by = (currency, exchange, arbitrage.base, month, *exchanges, arbitrage.strategy)
            yield row("profits", by, (1, number == 0, *amounts))
        is_traded, net = arbitrage.state in TRADED_STATES, profit.net
        wins, losses, even = is_traded and net > 0, is_traded and net < 0, is_traded and net == 0
        largest = (max(net, ZERO), min(net, ZERO)) if is_traded else (ZERO, ZERO)
        yield row("equity", (currency,), (1, net, wins, losses, even, *largest))
    for leg in arbitrage.legs:
        for fill in leg.fills:
            session = fill_sessions.get(fill_key(fill), session_id)
            for changed, change in changes_of(fill, leg.base, leg.quote_currency):
                yield row("changes", (leg.exchange, changed), (change,), session)
            if arbitrage.strategy == "ma":
                market = (leg.exchange, leg.symbol, leg.side, fill.fee_currency)
                yield row("average", market, (1, fill.amount, fill.cost, fill.fee))


def added_row(known: MonthRow | None, other: MonthRow) -> MonthRow:
    """Both together, to the last digit."""
    if known is None:
        return other
    values = tuple(EXACT.add(a, b) for a, b in zip(known.values, other.values, strict=True))
    if other.name == "equity":
        # the last two are the largest win and the largest loss
        values = (*values[:-2], max(known.values[-2], other.values[-2]), min(known.values[-1], other.values[-1]))
    return MonthRow(known.session_id, known.month, known.name, known.by, values, max(known.last_at, other.last_at))


def month_document(row: MonthRow) -> Document:
    return {
        "_id": row.key,
        "session_id": row.session_id,
        "month": row.month,
        "name": row.name,
        "by": list(row.by),
        "values": [stored_amount(value) for value in row.values],
        "last_at": row.last_at,
    }


def month_row_of(document: Document) -> MonthRow:
    by, values = document["by"], document["values"]
    name: SumName = document["name"]  # type: ignore[assignment]  # as `month_document` wrote it
    return MonthRow(
        str(document["session_id"]),
        str(document["month"]),
        name,
        tuple(map(str, by if isinstance(by, list) else ())),
        tuple(map(amount_of, values if isinstance(values, list) else ())),
        integer_of(document["last_at"]),
    )


class MonthSums:
    """The rows of one sum, of one session or of all."""

    def __init__(self, database: Database, wanted: Document, name: SumName) -> None:
        """`wanted`: which sessions."""
        self._months = database[MONTH_SUMS]
        self._wanted = {name: value for name, value in wanted.items() if name == "session_id"} | {"name": name}

    async def revision(self, moment: Moment) -> int:
        """How often anything was removed. Raises StoreUnavailableError."""
        with translated_errors():
            found = await self._months.find_one({"_id": REVISION}, session=moment)
        return 0 if found is None else integer_of(found["number"])

    async def rows(self, moment: Moment | None = None) -> list[MonthRow]:
        """By the times of their last. Raises StoreUnavailableError."""
        with translated_errors():
            found = self._months.find(self._wanted, session=moment).sort([("last_at", 1), ("_id", 1)])
            return [month_row_of(document) async for document in found]

    async def sums(self, moment: Moment | None = None) -> Sums:
        """Over all months. Raises StoreUnavailableError."""
        sums: dict[tuple[str, ...], MonthRow] = {}
        for row in await self.rows(moment):
            sums[row.by] = added_row(sums.get(row.by), row)
        return {by: row.values for by, row in sums.items()}


def equity_sum_of(row: MonthRow) -> EquitySum:
    endings, net, wins, losses, even, largest_win, largest_loss = row.values
    results = (int(wins), int(losses), int(even))
    return EquitySum(row.last_at, int(endings), net, results, (largest_win, largest_loss))


@dataclass(frozen=True, slots=True)
class RemovedTrades:
    """What a session's removed arbitrages sum to."""

    arbitrages: Mapping[str, int] = field(default_factory=dict)
    """State → how many."""
    profits: Mapping[str, ProfitAndLoss] = field(default_factory=dict)
    """Currency → their profit."""
    changes: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)
    """(exchange, currency) → what their fills changed."""


async def read_removed(database: Database, session_id: str) -> RemovedTrades:
    """Raise StoreUnavailableError."""
    wanted: Document = {"session_id": session_id}
    arbitrages: dict[str, int] = {}
    profits: dict[str, ProfitAndLoss] = {}
    for (state, currency), (count, *parts) in (await MonthSums(database, wanted, "states").sums()).items():
        arbitrages[state] = arbitrages.get(state, 0) + int(count)
        profit = profit_from(currency, dict(zip(PROFIT_PARTS, parts, strict=True)))
        profits[currency] = added(profits[currency], profit) if currency in profits else profit
    changes = await MonthSums(database, wanted, "changes").sums()
    return RemovedTrades(arbitrages, profits, {(exchange, name): sums[0] for (exchange, name), sums in changes.items()})


def read_removed_changes(database: BlockingDatabase) -> dict[tuple[str, str, str], Decimal]:
    """(session, exchange, currency) → what fills changed that were removed. Raises StoreError."""
    changes: dict[tuple[str, str, str], Decimal] = {}
    with translated_errors():
        for row in map(month_row_of, database[MONTH_SUMS].find({"name": "changes"})):
            exchange, currency = row.by
            key = (row.session_id, exchange, currency)
            changes[key] = EXACT.add(changes.get(key, ZERO), row.values[0])
    return changes
