"""State of a paper account from its journal: balances, orders, fills and taken depth."""

from dataclasses import dataclass
from decimal import Decimal

from exchanges.errors import OrderRejectedError
from exchanges.paper.depth import TakenDepth
from exchanges.paper.journal import Accepted, Ended, JournalRow
from exchanges.paper.matching import Execution, executions, report_of, taken_by
from market.instruments.fees import hold_of
from market.instruments.markets import Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import AccountFill, LimitOrder, OrderReport, changes_of
from market.money import ZERO, Amount
from market.prices.quotes import Quote
from market.trade.unwinding import Markets


@dataclass(frozen=True, slots=True)
class PaperFill:
    """A fill and its wall-clock time in microseconds."""

    fill: AccountFill
    booked_at: int


class PaperLedger:
    """Changed only by rows of the journal, so that every process has the same state."""

    def __init__(self, exchange: str, markets: Markets) -> None:
        self._exchange = exchange
        self._markets = markets
        self._balances: dict[str, Decimal] | None = None
        self._reports: dict[str, OrderReport] = {}
        self._open: dict[str, Accepted] = {}
        self.fills: list[PaperFill] = []
        """Oldest first."""
        self.depth = TakenDepth()

    @property
    def is_open(self) -> bool:
        """Whether it has its opening balances."""
        return self._balances is not None

    @property
    def balances(self) -> dict[str, Decimal]:
        """Total per currency."""
        return dict(self._balances or {})

    def apply(self, row: JournalRow) -> None:
        if row.opening is not None:
            self._balances = dict(row.opening)
        if row.accepted is not None:
            self._accept(row.accepted)
        if row.ended is not None:
            self._end(row.ended)

    def open_orders(self) -> list[Accepted]:
        """Orders not matched yet, oldest first."""
        return list(self._open.values())

    def overdue(self, now: int) -> list[Accepted]:
        """Orders past `ends_by`; `now` is wall-clock time in microseconds."""
        return [one for one in self._open.values() if now > one.ends_by]

    def open_order(self, client_order_id: str) -> Accepted | None:
        return self._open.get(client_order_id)

    def report_of(self, client_order_id: str) -> OrderReport | None:
        """None if there is no such order."""
        return self._reports.get(client_order_id)

    def free(self, currency: str) -> Decimal:
        """Return the balance minus the holds of open orders; an order in an unknown market has none."""
        held = ZERO
        for one in self._open.values():
            market = self._markets.get((one.order.exchange, one.order.symbol))
            if market is not None:
                needed, per_unit = hold_of(market, one.order.side, one.fee_rate, one.order.price)
                held += one.order.amount * per_unit if needed == currency else ZERO
        return (self._balances or {}).get(currency, ZERO) - held

    def accepted(self, order: LimitOrder, market: Market, fee_rate: Decimal, now: int, ends_by: int) -> Accepted:
        """Return a new order, not applied yet. Raises OrderRejectedError if a rule or the balance forbids it."""
        broken = rule_broken(order, market)
        if broken is not None:
            raise OrderRejectedError(f"{self._exchange}: {broken}")
        currency, per_unit = hold_of(market, order.side, fee_rate, order.price)
        if self.free(currency) < order.amount * per_unit:
            raise OrderRejectedError(f"{self._exchange}: not enough {currency}")
        return Accepted(
            order=order,
            exchange_order_id=f"{self._exchange}-{len(self._reports) + 1}",
            fee_rate=fee_rate,
            accepted_at=now,
            ends_by=ends_by,
            base=market.base,
            quote_currency=market.quote_currency,
        )

    def ended(self, accepted: Accepted, quote: Quote | None, now: int, booked_at: int) -> Ended:
        """Return an order's end, not applied yet: its fills at `quote`, less the depth that was taken of it.

        Without a quote there are no fills. `now`: time of the fills; `booked_at`: wall-clock time.
        """
        order = accepted.order
        found: tuple[Execution, ...] = ()
        if quote is not None:
            found = executions(order, quote, self.depth, self._markets[order.exchange, order.symbol])
        report = report_of(order, accepted.exchange_order_id, found, self._markets, accepted.fee_rate, now)
        return Ended(order.client_order_id, report, booked_at, taken_by(found))

    def _accept(self, accepted: Accepted) -> None:
        identity = accepted.order.client_order_id
        self._open[identity] = accepted
        self._reports[identity] = OrderReport(accepted.exchange_order_id, False, Amount(ZERO), ())

    def _end(self, ended: Ended) -> None:
        accepted = self._open.pop(ended.client_order_id)
        self._reports[ended.client_order_id] = ended.report
        self.depth.take(accepted.order.symbol, accepted.order.side, ended.taken)
        balances = self._balances = self._balances or {}
        for fill in ended.report.fills:
            row = AccountFill(fill, ended.report.exchange_order_id, ended.client_order_id)
            self.fills.append(PaperFill(row, ended.booked_at))
            for currency, change in changes_of(fill, accepted.base, accepted.quote_currency):
                balances[currency] = balances.get(currency, ZERO) + change
