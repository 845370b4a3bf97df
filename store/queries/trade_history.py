"""Trade history: filtered and sorted pages, their sums, ordered downloads, equity."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from market.accounting.equity_curve import Equity
from market.instruments.markets import codes_in
from market.instruments.orders import Fill
from market.money import BoundedDecimal, decimal_of
from market.trade.arbitrages import (
    OPEN_STATES,
    UNWINDING_ROLES,
    Arbitrage,
    ArbitrageOutcome,
    ArbitrageState,
    Leg,
    ProfitAndLoss,
    Strategy,
    outcome_of,
    third_orders,
)
from store.aggregates.average_sums import AverageSum, RunningAverageSums
from store.aggregates.running_equity import RunningEquity
from store.aggregates.session_totals import decimal_of as summed_decimal
from store.errors import StoreError
from store.mongo.arbitrages import OLDEST_FIRST
from store.queries.sorted_pages import Order, SortedRead
from store.queries.sorted_trades import (
    ARBITRAGE_KEYS,
    FILL_KEYS,
    OF_ARBITRAGE,
    arbitrages_of_fills,
    fills_by_arbitrage,
    sorted_page,
)
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, CYCLE_TRADES, FILLS, arbitrage_of, fill_of
from store.server.page_reader import Page, read_page

CYCLE = "cycle"
"""Said of a fill, in place of a strategy, that is of a trade on a cycle."""
BATCH_ROWS = 500
"""Rows of a download that are held in memory together."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class TradeFilter:
    """None and empty: whatever it is. `since` ≤ time < `until`, microseconds: of an arbitrage when it was reserved, of
    a fill when the exchange filled it.
    """

    exchange: str | None = None
    """On either side; of a fill its own."""
    base: str | None = None
    states: tuple[ArbitrageState, ...] = ()
    strategy: Strategy | None = None
    since: int | None = None
    until: int | None = None
    has_third_order: bool | None = None
    """Whether a third order completed, reversed or flattened a leg."""


@dataclass(frozen=True, slots=True)
class BookedFill:
    """A row of the ledger, and which leg of which arbitrage, or trade on a cycle, it is of."""

    arbitrage_id: str
    base: str
    state: str
    outcome: str
    strategy: str
    """Or CYCLE."""
    role: str
    """Empty if the arbitrage does not have the fill."""
    net: Decimal | None
    """The whole arbitrage's, in the settlement currency; None before it ended, or if it cannot be valued."""
    fill: Fill


@dataclass(frozen=True, slots=True)
class TradeSums:
    """Of arbitrages, in the settlement currency. Those that are `open` are in no sum yet; nor are the `unvalued`, which
    ended with a fee in a currency without a price."""

    arbitrages: int
    open: int
    unvalued: int
    net: Decimal
    unwinding: Decimal
    fees: Decimal


@dataclass(frozen=True, slots=True)
class ArbitrageSummary:
    """One arbitrage without depth and history; times in microseconds, those of `times` that happened."""

    arbitrage_id: str
    strategy: str
    base: str
    state: ArbitrageState
    reason: str | None
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    amount: BoundedDecimal
    net_bps: float
    """When it was detected."""
    event_time: int
    reserved_at: int
    times: dict[str, int]
    profit: ProfitAndLoss | None
    legs: tuple[Leg, ...]

    @property
    def outcome(self) -> ArbitrageOutcome:
        return outcome_of(self.state, bool(third_orders(self.legs)))

    @property
    def third_orders(self) -> tuple[Leg, ...]:
        return third_orders(self.legs)

    def leg(self, role: str) -> Leg | None:
        return next((leg for leg in self.legs if leg.role == role), None)


_SUMMARY = TypeAdapter(ArbitrageSummary)
_SUMMARY_FIELDS: Document = {
    **dict.fromkeys(
        ("arbitrage_id", "strategy", "base", "state", "reason", "amount", "times", "profit", "at", "legs"), 1
    ),
    "opportunity.buy.exchange": 1,
    "opportunity.buy.symbol": 1,
    "opportunity.sell.exchange": 1,
    "opportunity.sell.symbol": 1,
    "opportunity.net_bps": 1,
    "opportunity.event_time": 1,
}
_OF_LEGS = dict.fromkeys(
    ("base", "state", "strategy", "legs.role", "legs.fills.fill_id", "legs.exchange", "profit.net"), 1
)
_IS_OPEN: Document = {"$in": ["$state", list(OPEN_STATES)]}
_HAS_NO_VALUE: Document = {
    "$and": [{"$not": [_IS_OPEN]}, {"$ne": ["$strategy", "ma"]}, {"$lte": ["$profit.net", None]}]
}
_OPEN: Document = {"$sum": {"$cond": [_IS_OPEN, 1, 0]}}
_UNVALUED: Document = {"$sum": {"$cond": [_HAS_NO_VALUE, 1, 0]}}
_THIRD_ORDER: Document = {"$elemMatch": {"role": {"$in": list(UNWINDING_ROLES)}, "fills.0": {"$exists": True}}}
_OF_ORDERS = dict.fromkeys(
    ("state", "orders.leg.role", "orders.leg.fills.fill_id", "orders.leg.exchange", "profit.net"), 1
)


def _with_trade(collection: str, fields: Document, name: str) -> Document:
    joined = {"from": collection, "localField": "arbitrage_id", "foreignField": "_id", "as": name}
    return {"$lookup": joined | {"pipeline": [{"$project": fields}]}}


_WITH_ARBITRAGE = _with_trade(ARBITRAGES, dict(_OF_LEGS), "arbitrage")
_WITH_TRADE = [_WITH_ARBITRAGE, _with_trade(CYCLE_TRADES, dict(_OF_ORDERS), "cycle")]
"""Of a fill: one is there, the other is not."""


class TradeHistory:
    """The trades of one session, or of all. Every read raises StoreError."""

    def __init__(self, database: Database, of_session: Document) -> None:
        self._database = database
        self._of_session = of_session
        self._equity = RunningEquity(database, of_session)
        self._average_sums = RunningAverageSums(database, of_session)

    async def equity(self, currency: str) -> Equity:
        """All that ended with a profit or loss in `currency`. What changes late is seen after some minutes."""
        return await self._equity.read(currency)

    async def average_sums(self) -> tuple[AverageSum, ...]:
        """Return what the moving average's orders bought and sold, by market."""
        return await self._average_sums.read()

    async def arbitrages(
        self, wanted: TradeFilter, cursor: str | None, limit: int, order: Order | None = None
    ) -> Page[Arbitrage]:
        """By `order`, a column of ARBITRAGE_COLUMNS; None: newest reservation first. Raises CursorError."""
        query = self._of_session | _of_arbitrages(wanted)
        if order is None:
            return await read_page(self._database, ARBITRAGES, arbitrage_of, query, cursor, limit)
        read = SortedRead(ARBITRAGES, query, ARBITRAGE_KEYS[order.column])
        return await sorted_page(self._database, read, order, cursor, limit, arbitrage_of)

    async def fills(
        self, wanted: TradeFilter, cursor: str | None, limit: int, order: Order | None = None
    ) -> Page[BookedFill]:
        """By `order`, a column of FILL_COLUMNS; None: newest first. Raises CursorError."""
        query = self._of_session | _of_fills(wanted)
        if order is None:
            return await read_page(self._database, FILLS, _booked, query, cursor, limit, _stages(wanted))
        if order.column in OF_ARBITRAGE:
            arbitrages = await arbitrages_of_fills(self._database, self._of_session, query)
            join = (arbitrages | _arbitrage_conditions(wanted), query, _WITH_ARBITRAGE)
            return await fills_by_arbitrage(self._database, *join, order, cursor, limit, _booked)
        before = _stages(wanted) if _arbitrage_conditions(wanted) else []
        read = SortedRead(FILLS, query, FILL_KEYS[order.column], before, _WITH_TRADE)
        return await sorted_page(self._database, read, order, cursor, limit, _booked)

    async def sums(self, wanted: TradeFilter) -> TradeSums:
        """Return the sums of all arbitrages that are `wanted`."""
        parts = {part: {"$sum": {"$toDecimal": f"$profit.{part}"}} for part in ("net", "unwinding", "fees")}
        steps: list[Document] = [
            {"$match": self._of_session | _of_arbitrages(wanted)},
            {"$group": {"_id": None, "arbitrages": {"$sum": 1}, "open": _OPEN, "unvalued": _UNVALUED, **parts}},
        ]
        with translated_errors():
            found = [document async for document in self._database[ARBITRAGES].aggregate(steps)]
        one = found[0] if found else {}
        return TradeSums(
            arbitrages=one.get("arbitrages", 0),
            open=one.get("open", 0),
            unvalued=one.get("unvalued", 0),
            net=summed_decimal(one.get("net", 0)),
            unwinding=summed_decimal(one.get("unwinding", 0)),
            fees=summed_decimal(one.get("fees", 0)),
        )

    async def all_arbitrages(
        self, wanted: TradeFilter, at_once: int = BATCH_ROWS
    ) -> AsyncGenerator[list[ArbitrageSummary]]:
        """Oldest first, in lists of at most `at_once`; each list is a read of its own, so one may take its time."""
        query = self._of_session | _of_arbitrages(wanted)
        async for documents in self._in_order(ARBITRAGES, query, [{"$project": _SUMMARY_FIELDS}], at_once):
            yield [_parsed(document, _summary) for document in documents]

    async def all_fills(self, wanted: TradeFilter) -> AsyncGenerator[list[BookedFill]]:
        """Oldest first, in lists as those of `all_arbitrages`."""
        query = self._of_session | _of_fills(wanted)
        async for documents in self._in_order(FILLS, query, _stages(wanted), BATCH_ROWS):
            yield [_booked(document) for document in documents]

    async def _in_order(
        self, collection: str, query: Document, stages: list[Document], at_once: int
    ) -> AsyncGenerator[list[Document]]:
        after: Document = {}
        while True:
            steps: list[Document] = [
                {"$match": {"$and": [query, after]}},
                {"$sort": dict(OLDEST_FIRST)},
                *stages,
                {"$limit": at_once},
            ]
            with translated_errors():
                documents = [document async for document in self._database[collection].aggregate(steps)]
            if not documents:
                return
            yield documents
            if len(documents) < at_once:
                return
            at, key = documents[-1]["at"], documents[-1]["_id"]
            after = {"$or": [{"at": {"$gt": at}}, {"at": at, "_id": {"$gt": key}}]}


def _of_arbitrages(wanted: TradeFilter) -> Document:
    query = _between(wanted) | _arbitrage_conditions(wanted)
    if wanted.exchange is not None:
        query["legs.exchange"] = wanted.exchange
    return query


def _of_fills(wanted: TradeFilter) -> Document:
    """Return the conditions on fields of the ledger itself."""
    return _between(wanted) | ({} if wanted.exchange is None else {"exchange": wanted.exchange})


def _stages(wanted: TradeFilter) -> list[Document]:
    """Return the stages that filter fills by fields of their arbitrage; a trade on a cycle has none of these."""
    query = _arbitrage_conditions(wanted, "arbitrage.")
    narrowed: list[Document] = [{"$match": query}] if query else []
    return [*_WITH_TRADE, *narrowed]


def _arbitrage_conditions(wanted: TradeFilter, prefix: str = "") -> Document:
    query: Document = {}
    if wanted.base is not None:
        query[f"{prefix}base"] = wanted.base
    if wanted.states:
        query[f"{prefix}state"] = {"$in": list(wanted.states)}
    if wanted.strategy is not None:
        query[f"{prefix}strategy"] = _strategy(wanted.strategy)
    if wanted.has_third_order is not None:
        query |= _of_third_order(wanted.has_third_order, f"{prefix}legs")
    return query


def _of_third_order(is_there: bool, legs: str) -> Document:
    # the first condition is the index's: two legs come before any third one
    return {f"{legs}.2": {"$exists": True}, legs: _THIRD_ORDER} if is_there else {legs: {"$not": _THIRD_ORDER}}


def _strategy(strategy: Strategy) -> Document:
    """Match also documents of earlier versions, which had only one strategy and did not store it."""
    return {"$in": [strategy, None]} if strategy == "arbitrage" else {"$eq": strategy}


def _between(wanted: TradeFilter) -> Document:
    bounds = {"$gte": wanted.since, "$lt": wanted.until}
    conditions = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"at": conditions} if conditions else {}


def _booked(document: Mapping[str, object]) -> BookedFill:
    fill = fill_of(document)
    arbitrage, cycle = _only(document.get("arbitrage")), _only(document.get("cycle"))
    trade = arbitrage or cycle
    legs = arbitrage.get("legs") or [order["leg"] for order in cycle.get("orders", ())]
    state = trade.get("state", "")
    roles = [
        str(leg["role"])
        for leg in legs
        if leg["exchange"] == fill.exchange and any(one["fill_id"] == fill.fill_id for one in leg["fills"])
    ]
    has_third_order = any(leg["role"] in UNWINDING_ROLES and leg["fills"] for leg in legs)
    net = (trade.get("profit") or {}).get("net")
    return BookedFill(
        arbitrage_id=str(document["arbitrage_id"]),
        base=str(arbitrage.get("base") or codes_in(fill.symbol)[0]),
        state=str(state),
        outcome=outcome_of(state, has_third_order),
        strategy=CYCLE if cycle else str(arbitrage.get("strategy", "arbitrage")),
        role=roles[0] if roles else "",
        net=None if net is None else decimal_of(net),
        fill=fill,
    )


def _only(found: object) -> Mapping[str, Any]:
    """Return what a lookup found."""
    return found[0] if isinstance(found, list) and found else {}


def _summary(document: Mapping[str, object]) -> ArbitrageSummary:
    opportunity = document["opportunity"]
    sides = opportunity if isinstance(opportunity, dict) else {}
    return _SUMMARY.validate_python(
        {
            "strategy": "arbitrage",
            **document,
            "buy_exchange": sides["buy"]["exchange"],
            "buy_symbol": sides["buy"]["symbol"],
            "sell_exchange": sides["sell"]["exchange"],
            "sell_symbol": sides["sell"]["symbol"],
            "net_bps": sides["net_bps"],
            "event_time": sides["event_time"],
            "reserved_at": document["at"],
        }
    )


def _parsed(document: Document, value: Callable[[Mapping[str, object]], Row]) -> Row:
    try:
        return value(document)
    except (KeyError, ValidationError) as error:
        raise StoreError(
            f"document {document.get('_id')!r} was written by another version of this program: {error}"
        ) from error
