"""The local paper account: fills orders against the newest quote's depth, after their latency.

Orders and fills are in the journal, which several processes may share; quotes are those of this process.
"""

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

from exchanges.errors import ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.paper.conditions import FillConditions
from exchanges.paper.journal import Accepted, JournalBusyError, JournalRow, PaperJournal
from exchanges.paper.ledger import PaperLedger
from exchanges.paper.quotes import PaperQuotes
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from market.trade.unwinding import markets_by_symbol
from runtime.clock import Clock, wall_now, wall_seconds

FeeRate = Callable[[], Decimal]
"""The taker fee in force, a fraction."""

GRACE_SECONDS = 1.0
"""Wall-clock seconds: an order not matched this long after its due time is abandoned, and any process may end it."""


class PaperAccount:
    """One exchange's account; passes the contract of `exchanges.ports.account.TradingAccount`."""

    def __init__(
        self,
        exchange: str,
        markets: tuple[Market, ...],
        opening: Mapping[str, Decimal],
        journal: PaperJournal,
        clock: Clock,
        fee_rate: FeeRate,
        latency_ms: float,
        conditions: FillConditions = FillConditions(),  # noqa: B008 - frozen
    ) -> None:
        """Read the journal; `opening` balances are used if it is empty. Raises PaperJournalError."""
        self._exchange = exchange
        self._markets = markets_by_symbol(markets)
        self._opening = dict(opening)
        self._journal = journal
        self._clock = clock
        self._fee_rate = fee_rate
        self._latency_ms = latency_ms
        self._conditions = conditions
        self._quotes = PaperQuotes()
        self._ledger = PaperLedger(exchange, self._markets)
        self._in_flight: set[str] = set()
        """Orders that this process will match, however late."""
        self._apply_new_rows()

    @property
    def exchange(self) -> str:
        return self._exchange

    def update_quote(self, quote: Quote) -> None:
        """Set the newest quote of its symbol."""
        if quote.exchange == self._exchange and self._quotes.update(quote):
            self._ledger.depth.update(quote)

    def apply_mark(self, mark: FeedMark) -> None:
        """Renew the newest quote of a symbol, or withdraw it: then nothing fills until the next quote."""
        if mark.exchange == self._exchange:
            self._quotes.mark(mark)

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        """Journalled before its latency starts, so that it is found even if this process dies.

        Raises OrderRejectedError, OutcomeUnknownError if the account has an order with that id, PaperJournalError,
        NotPostedError.
        """
        market = self._markets.get((order.exchange, order.symbol))
        if market is None or order.exchange != self._exchange:
            raise OrderRejectedError(f"{self._exchange} does not trade {order.symbol} of {order.exchange}")
        seconds = self._conditions.latency_seconds(self._latency_ms, order.client_order_id)
        try:
            async with self._journal.locked():
                permit.check()
                self._accept(order, market, seconds)
        except JournalBusyError as error:
            raise OrderRejectedError(f"{self._exchange} is unavailable: {error}") from error
        self._in_flight.add(order.client_order_id)
        try:
            await self._clock.sleep(seconds)
            async with self._journal.locked():
                return self._match(order)
        except JournalBusyError as error:
            raise OutcomeUnknownError(f"{self._exchange} did not answer: {error}") from error
        finally:
            self._in_flight.discard(order.client_order_id)

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        """Return the order's report. Raises ExchangeUnavailableError."""
        await self._synced()
        return self._ledger.report_of(order.client_order_id)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        """Its orders end at once: there is nothing to cancel. Raises ExchangeUnavailableError."""
        await self._synced()

    async def balances(self) -> dict[str, Decimal]:
        """Raise ExchangeUnavailableError."""
        await self._synced()
        return self._ledger.balances

    async def open_orders(self) -> list[OpenOrder]:
        """Orders not matched yet. Raises ExchangeUnavailableError."""
        await self._synced()
        return [_open_order(one) for one in self._ledger.open_orders()]

    async def fills_since(self, since: int) -> list[AccountFill]:
        """By wall-clock time, which in a replay differs from market time. Raises ExchangeUnavailableError."""
        await self._synced()
        whole_second = since // MICROSECONDS * MICROSECONDS
        return [one.fill for one in self._ledger.fills if one.booked_at >= whole_second]

    async def close(self) -> None:
        """Nothing to close."""

    # -- within the journal's lock

    def _accept(self, order: LimitOrder, market: Market, seconds: float) -> None:
        self._end_abandoned()
        if self._ledger.report_of(order.client_order_id) is not None:
            # a rejection would mean that there is no such order
            raise OutcomeUnknownError(f"{self._exchange} already has an order {order.client_order_id}")
        now = wall_now()
        ends_by = now + round((wall_seconds(self._clock, seconds) + GRACE_SECONDS) * MICROSECONDS)
        accepted = self._ledger.accepted(order, market, self._fee_rate(), now, ends_by)
        self._write(JournalRow(accepted=accepted))

    def _match(self, order: LimitOrder) -> OrderReport:
        """Match against the current quote. After a long stop of this process another one may have ended the order."""
        self._apply_new_rows()
        quote = self._quotes.newest(order.symbol)
        if quote is not None and self._conditions.is_stale(self._quotes.age(order.symbol, self._clock.now())):
            quote = None
        self._end(order.client_order_id, quote)
        report = self._ledger.report_of(order.client_order_id)
        if report is None:
            raise OutcomeUnknownError(f"{self._exchange} has lost order {order.client_order_id}")
        return report

    def _end(self, client_order_id: str, quote: Quote | None) -> None:
        """End the order, once."""
        accepted = self._ledger.open_order(client_order_id)
        if accepted is not None:
            self._write(JournalRow(ended=self._ledger.ended(accepted, quote, self._clock.now(), wall_now())))

    def _end_abandoned(self) -> None:
        """Write the opening balances of a new account, and end abandoned orders without fills."""
        self._apply_new_rows()
        if not self._ledger.is_open:
            self._write(JournalRow(opening=self._opening))
        for identity in self._abandoned():
            self._end(identity, None)

    def _write(self, row: JournalRow) -> None:
        self._journal.append(row)
        self._apply_new_rows()

    # -- at any time

    async def _synced(self) -> None:
        self._apply_new_rows()
        if self._ledger.is_open and not self._abandoned():
            return
        try:
            async with self._journal.locked():
                self._end_abandoned()
        except JournalBusyError as error:
            raise ExchangeUnavailableError(str(error)) from error

    def _abandoned(self) -> list[str]:
        overdue = (one.order.client_order_id for one in self._ledger.overdue(wall_now()))
        return [identity for identity in overdue if identity not in self._in_flight]

    def _apply_new_rows(self) -> None:
        for row in self._journal.new_rows():
            self._ledger.apply(row)


def _open_order(accepted: Accepted) -> OpenOrder:
    order = accepted.order
    return OpenOrder(
        exchange=order.exchange,
        symbol=order.symbol,
        exchange_order_id=accepted.exchange_order_id,
        client_order_id=order.client_order_id,
        side=order.side,
        amount=order.amount,
        price=order.price,
        placed_at=accepted.accepted_at,
    )
