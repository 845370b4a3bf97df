"""The local paper account: fills orders against the newest quote's depth, at now + latency.

Depth that was taken from a quote is gone until the next quote of that symbol. Balances follow from the journal.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal

from bots.paper_journal import JournalRow, PaperJournal
from bots.paper_matching import executions, fill_of
from exchanges.errors import OrderRefusedError
from market.clock import Clock
from market.execution import markets_by_symbol
from market.fees import hold_of
from market.limits import rule_broken
from market.markets import Market
from market.money import ZERO, Amount, Price, total
from market.orders import Fill, LimitOrder, OrderReport
from market.quotes import Quote

FeeRate = Callable[[], Decimal]
"""The taker fee in force, a fraction."""


class PaperAccount:
    """One exchange's account; passes the contract of `exchanges.port.TradingAccount`."""

    def __init__(
        self,
        exchange: str,
        markets: tuple[Market, ...],
        opening: Mapping[str, Decimal],
        journal: PaperJournal,
        clock: Clock,
        fee_rate: FeeRate,
        latency_ms: int,
    ) -> None:
        """Reads the journal. Raises PaperJournalError."""
        self._exchange = exchange
        self._markets = markets_by_symbol(markets)
        self._journal = journal
        self._clock = clock
        self._fee_rate = fee_rate
        self._latency_ms = latency_ms
        self._quotes: dict[str, Quote] = {}
        self._used: dict[str, dict[Price, Decimal]] = {}
        self._orders: dict[str, OrderReport] = {}
        self._balances: dict[str, Decimal] = {}
        self._restore(opening)

    @property
    def exchange(self) -> str:
        return self._exchange

    def see_quote(self, quote: Quote) -> None:
        """The newest quote of its symbol."""
        if quote.exchange == self._exchange:
            known = self._quotes.get(quote.symbol)
            if known is None or quote.sequence > known.sequence:
                self._quotes[quote.symbol] = quote
                self._used[quote.symbol] = {}

    def withdraw(self, symbol: str) -> None:
        """The quote of a symbol is gone; nothing fills until the next."""
        self._quotes.pop(symbol, None)

    async def place(self, order: LimitOrder) -> OrderReport:
        """Raises OrderRefusedError. The same client order id gives the same order again."""
        market = self._markets.get((order.exchange, order.symbol))
        if market is None:
            raise OrderRefusedError(f"{self._exchange} does not trade {order.symbol}")
        await self._clock.sleep(self._latency_ms / 1_000)
        known = self._orders.get(order.client_order_id)
        if known is not None:
            return known
        self._check(order, market)
        report = self._matched(order, market)
        self._journal.append(JournalRow(client_order_id=order.client_order_id, report=report))
        self._book(order.client_order_id, report)
        self._take(order.symbol, report)
        return report

    async def look_up(self, order: LimitOrder) -> OrderReport | None:
        return self._orders.get(order.client_order_id)

    async def balances(self) -> dict[str, Decimal]:
        return dict(self._balances)

    async def close(self) -> None:
        """Nothing is open: every order is in the journal before it is acknowledged."""

    def _restore(self, opening: Mapping[str, Decimal]) -> None:
        rows = self._journal.load()
        if not rows:
            rows = [JournalRow(balances=dict(opening))]
            self._journal.append(rows[0])
        self._balances = dict(rows[0].balances or {})
        for row in rows[1:]:
            if row.client_order_id is not None and row.report is not None:
                self._book(row.client_order_id, row.report)

    def _check(self, order: LimitOrder, market: Market) -> None:
        broken = rule_broken(order, market)
        if broken is not None:
            raise OrderRefusedError(f"{self._exchange}: {broken}")
        currency, per_unit = hold_of(market, order.side, self._fee_rate(), order.price)
        if self._balances.get(currency, ZERO) < order.amount * per_unit:
            raise OrderRefusedError(f"{self._exchange}: not enough {currency}")

    def _matched(self, order: LimitOrder, market: Market) -> OrderReport:
        order_id = f"{self._exchange}-{len(self._orders) + 1}"
        quote = self._quotes.get(order.symbol)
        found = () if quote is None else executions(order, quote, self._used[order.symbol])
        now, fee_rate = self._clock.now(), self._fee_rate()
        fills = tuple(
            fill_of(order, execution, market, fee_rate, f"{order_id}-{number}", now)
            for number, execution in enumerate(found, start=1)
        )
        return OrderReport(order_id, is_final=True, filled=Amount(total(fill.amount for fill in fills)), fills=fills)

    def _book(self, client_order_id: str, report: OrderReport) -> None:
        self._orders[client_order_id] = report
        for fill in report.fills:
            for currency, change in _changes(fill, self._markets[fill.exchange, fill.symbol]):
                self._balances[currency] = self._balances.get(currency, ZERO) + change

    def _take(self, symbol: str, report: OrderReport) -> None:
        used = self._used.setdefault(symbol, {})
        for fill in report.fills:
            used[fill.price] = used.get(fill.price, ZERO) + fill.amount


def _changes(fill: Fill, market: Market) -> tuple[tuple[str, Decimal], ...]:
    sign = 1 if fill.side == "buy" else -1
    return (
        (market.base, sign * fill.amount),
        (market.quote_currency, -sign * fill.cost),
        (fill.fee_currency, -fill.fee),
    )
