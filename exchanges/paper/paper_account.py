"""The local paper account: fills orders against the newest quote's depth, once they have travelled.

What happened is in the journal, which any number of processes may use; what is shown is what this process was shown.
"""

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

from exchanges.errors import ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.paper.paper_conditions import FillConditions
from exchanges.paper.paper_journal import Accepted, Ended, JournalBusyError, JournalRow, PaperJournal
from exchanges.paper.paper_ledger import PaperLedger
from exchanges.paper.paper_matching import Execution, executions, report_of, taken_by
from exchanges.paper.paper_quotes import PaperQuotes
from exchanges.requests.order_permits import ANY_TIME, Permit
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from market.trade.leg_planning import markets_by_symbol
from session.clock import Clock, wall_now, wall_seconds

FeeRate = Callable[[], Decimal]
"""The taker fee in force, a fraction."""

GRACE_SECONDS = 1.0
"""Of the wall: an order that was not matched so long after it should have been never will be, and may be ended by
anybody."""


class PaperAccount:
    """One exchange's account; passes the contract of `exchanges.account_port.TradingAccount`."""

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
        """Reads the journal; `opening` counts where it is empty. Raises PaperJournalError."""
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
        self._under_way: set[str] = set()
        """Orders that this very process will match, however late it is."""
        self._catch_up()

    @property
    def exchange(self) -> str:
        return self._exchange

    def see_quote(self, quote: Quote) -> None:
        """The newest quote of its symbol."""
        if quote.exchange == self._exchange and self._quotes.see(quote):
            self._ledger.depth.see(quote)

    def see_mark(self, mark: FeedMark) -> None:
        """Renews the newest quote of a symbol, or withdraws it: nothing fills until the next."""
        if mark.exchange == self._exchange:
            self._quotes.mark(mark)

    async def place(self, order: LimitOrder, permit: Permit = ANY_TIME) -> OrderReport:
        """In the journal before it travels, so that it is found whatever becomes of this process.

        Raises OrderRejectedError, OutcomeUnknownError where the account has an order of that id, PaperJournalError,
        NotPostedError.
        """
        market = self._markets.get((order.exchange, order.symbol))
        if market is None or order.exchange != self._exchange:
            raise OrderRejectedError(f"{self._exchange} does not trade {order.symbol} of {order.exchange}")
        seconds = self._conditions.latency_seconds(self._latency_ms, order.client_order_id)
        try:
            async with self._journal.alone():
                permit.ask()
                self._accept(order, market, seconds)
        except JournalBusyError as error:
            raise OrderRejectedError(f"{self._exchange} was not reached: {error}") from error
        self._under_way.add(order.client_order_id)
        try:
            await self._clock.sleep(seconds)
            async with self._journal.alone():
                return self._match(order, market)
        except JournalBusyError as error:
            raise OutcomeUnknownError(f"{self._exchange} did not answer: {error}") from error
        finally:
            self._under_way.discard(order.client_order_id)

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        """What became of it. Raises ExchangeUnavailableError."""
        await self._caught_up()
        return self._ledger.report_of(order.client_order_id)

    async def balances(self) -> dict[str, Decimal]:
        """Raises ExchangeUnavailableError."""
        await self._caught_up()
        return self._ledger.balances

    async def open_orders(self) -> list[OpenOrder]:
        """Those on their way. Raises ExchangeUnavailableError."""
        await self._caught_up()
        return [_open_order(one) for one in self._ledger.open_orders()]

    async def fills_since(self, since: int) -> list[AccountFill]:
        """By the wall's time, which in a replay is not the market's. Raises ExchangeUnavailableError."""
        await self._caught_up()
        whole_second = since // MICROSECONDS * MICROSECONDS
        return [one.fill for one in self._ledger.fills if one.booked_at >= whole_second]

    async def close(self) -> None:
        """Nothing is kept open."""

    # -- within the journal's lock

    def _accept(self, order: LimitOrder, market: Market, seconds: float) -> None:
        self._tidy_up()
        if self._ledger.report_of(order.client_order_id) is not None:
            # a rejection would say that there is no such order
            raise OutcomeUnknownError(f"{self._exchange} has an order {order.client_order_id} already")
        fee_rate = self._fee_rate()
        rejection = self._ledger.rejection_of(order, market, fee_rate)
        if rejection is not None:
            raise OrderRejectedError(rejection)
        now = wall_now()
        ends_by = now + round((wall_seconds(self._clock, seconds) + GRACE_SECONDS) * MICROSECONDS)
        accepted = Accepted(
            order=order,
            exchange_order_id=self._ledger.next_order_id(),
            fee_rate=fee_rate,
            accepted_at=now,
            ends_by=ends_by,
            base=market.base,
            quote_currency=market.quote_currency,
        )
        self._write(JournalRow(accepted=accepted))

    def _match(self, order: LimitOrder, market: Market) -> OrderReport:
        """Against what is shown now; a stopped process may come too late, and somebody has ended the order."""
        self._catch_up()
        quote = self._quotes.newest(order.symbol)
        if quote is None or self._conditions.is_stale(self._quotes.age(order.symbol, self._clock.now())):
            self._end(order.client_order_id, ())
        else:
            self._end(order.client_order_id, executions(order, quote, self._ledger.depth, market))
        report = self._ledger.report_of(order.client_order_id)
        if report is None:
            raise OutcomeUnknownError(f"{self._exchange} has lost order {order.client_order_id}")
        return report

    def _end(self, client_order_id: str, found: tuple[Execution, ...]) -> None:
        """Once."""
        accepted = self._ledger.open_order(client_order_id)
        if accepted is None:
            return
        order = accepted.order
        order_id, now = accepted.exchange_order_id, self._clock.now()
        report = report_of(order, order_id, found, self._markets, accepted.fee_rate, now)
        self._write(JournalRow(ended=Ended(client_order_id, report, wall_now(), taken_by(found))))

    def _tidy_up(self) -> None:
        """Opens a new account; orders whose sender is gone end with nothing."""
        self._catch_up()
        if not self._ledger.is_open:
            self._write(JournalRow(opening=self._opening))
        for identity in self._abandoned():
            self._end(identity, ())

    def _write(self, row: JournalRow) -> None:
        self._journal.append(row)
        self._catch_up()

    # -- at any time

    async def _caught_up(self) -> None:
        self._catch_up()
        if self._ledger.is_open and not self._abandoned():
            return
        try:
            async with self._journal.alone():
                self._tidy_up()
        except JournalBusyError as error:
            raise ExchangeUnavailableError(str(error)) from error

    def _abandoned(self) -> list[str]:
        overdue = (one.order.client_order_id for one in self._ledger.overdue(wall_now()))
        return [identity for identity in overdue if identity not in self._under_way]

    def _catch_up(self) -> None:
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
