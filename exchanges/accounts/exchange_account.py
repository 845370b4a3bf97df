"""A trading account through ccxt's private API: the same code on live and on simulated exchanges."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import ccxt

from exchanges.accounts.order_apis import order_api, order_socket, socket_api
from exchanges.accounts.order_rehearsal import NEVER, NotedRequest, rehearsed_order
from exchanges.accounts.wire_check import request_check
from exchanges.catalogue import transfers_of
from exchanges.ccxt.client import ExchangeConfig, limit_rules, make_exchange, session_config
from exchanges.ccxt.generic_orders import SharedMarkets
from exchanges.credentials import Credentials
from exchanges.errors import (
    AccountRejectedError,
    ExchangeUnavailableError,
    NotPostedError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.ports.error_mapping import is_clock_fault, is_past_deadline, post_error, read_error
from exchanges.ports.orders import AnswerNotUnderstoodError, CancelsAllAfter, OrderApi
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit, posting
from exchanges.ports.withdrawals import TransferApi, WithdrawalOrder
from exchanges.requests.kept_connections import keep_open
from exchanges.requests.measured_clock import MeasuredClock
from exchanges.requests.order_socket import OrderSocket
from exchanges.requests.rate_budget import RateBudget, account_budget, requests_for
from market.accounting.transfer_lifecycle import Deposit, Withdrawal
from market.decide.place_values import LegPace
from market.instruments.markets import Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import ZERO, Amount
from runtime.clock import SystemClock, steady_now
from session.exchange_entries import ExchangeEntry
from session.session import Session

# Pauses after each read of a new order; an IOC order is mostly final at the first.
_POLL_DELAYS = (0.02, 0.1, 0.5)

CONNECTIONS = 2
"""Open ones for orders, and for reads: orders of two arbitrages, an order's state and its fills are asked together."""
KEEP_SECONDS = 20.0
"""How often unused connections are looked after; they are dropped after `IDLE_SECONDS`, by servers after a minute."""

Result = TypeVar("Result")
Prepare = Callable[[tuple[Market, ...]], Awaitable[None]]


async def _nothing(_in_force: tuple[Market, ...]) -> None:
    """Our own order APIs need nothing before a request."""


class ExchangeAccount:
    """One account on one exchange. Orders have a connection of their own, which checks their permits; everything else
    uses another. `budget`: the rate limits of both; None if there are none. `prepare` comes before every
    request, with the markets by the rules in force; it raises ccxt's errors. `socket`: on which orders go while it is
    open, if the connections' APIs use one."""

    def __init__(
        self,
        exchange: str,
        orders: "AccountConnection",
        reads: "AccountConnection",
        markets: Sequence[Market],
        keys: Credentials | None,
        budget: RateBudget | None = None,
        prepare: Prepare = _nothing,
        socket: OrderSocket | None = None,
    ) -> None:
        self._exchange = exchange
        self._prepare = prepare
        self._orders = orders
        self._reads = reads
        self._keys = keys
        self._budget = budget
        self._socket = socket
        self._clock = MeasuredClock(reads.client, orders.client)
        self._markets = {market.symbol: market for market in markets if market.exchange == self._exchange}
        self.in_force: Callable[[Market], Market] = lambda market: market
        """The rules of a market now, by which orders are checked and printed."""
        self.fx_ordered: frozenset[str] = frozenset()
        """FX markets in which orders are sent, too, for cycles: their fills and resting orders are listed as well."""
        self._posts_to: str | None = None
        """The address of an order's request, once it is known."""

    @property
    def exchange(self) -> str:
        return self._exchange

    @property
    def is_by_socket(self) -> bool:
        """Whether the next order goes over the socket."""
        return self._socket is not None and self._socket.is_open

    def legs_left(self) -> int | None:
        """How many legs the rate limits allow to start now; None if there is no limit."""
        return None if self._budget is None else self._budget.legs_left()

    def pace(self) -> LegPace | None:
        """Return how many legs the rate limits allow if nothing is used; None if there is no limit."""
        return None if self._budget is None else self._budget.pace()

    def has_room(self) -> bool:
        """Whether the rate limits allow one more order of an open trade now."""
        return self._budget is None or self._budget.has_room()

    def used(self) -> str | None:
        """Return what is used of the rate limits, for the account's next process; None if there are none."""
        return None if self._budget is None else self._budget.used()

    def take_over(self, used: str, ago: int) -> None:
        """Continue from what another process had used `ago` microseconds before."""
        if self._budget is not None:
            self._budget.take_over(used, ago)

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        market = self._market(order)
        if market is None:
            raise OrderRejectedError(self._not_traded(order))
        broken = rule_broken(order, market)
        if broken is not None:
            raise OrderRejectedError(f"{order.client_order_id} on {self._exchange}: {broken}")
        # an open order must not wait behind polls
        with requests_for("follow"):
            await self._before_posting()
            exchange_order_id = await self._post(order, market, permit)
            return await self._poll_report(order, market, exchange_order_id)

    async def _before_posting(self) -> None:
        await self._clock.measure_once()
        try:
            await self._prepare(self._in_force())
        except ccxt.BaseError as error:
            unsent = read_error(self._exchange, error, self._keys)
            if isinstance(unsent, AccountRejectedError):
                raise unsent from None
            raise OrderRejectedError(f"the order was not sent: {unsent}") from None
        except AnswerNotUnderstoodError as error:
            raise OrderRejectedError(f"the order was not sent: {self._exchange}: {error}") from None

    async def rehearse(self) -> None:
        """Do what a first order does up to the moment at which it would be sent: read the clock and the markets, make
        and sign its request, check it. Then open the connections that orders and reads will find. No order is sent.

        Raises ExchangeError: first orders will be slower.
        """
        market = next(iter(self._traded()), None)
        if market is None:
            return
        await self._before_posting()
        self._posts_to = await self._rehearse_on(self._orders.by_rest, market)
        try:
            if self._socket is not None:
                await self._socket.wait_until_open()
                await self._rehearse_on(self._orders.api, market)
        finally:
            # last, since the socket takes one of those that are open
            await self._keep_open()

    async def _rehearse_on(self, api: OrderApi, market: Market) -> str | None:
        """Return the address to which the order would have gone. Raises ExchangeError."""
        order = rehearsed_order(market)
        noted = NotedRequest(request_check(self._orders.entry, order, self._orders.client.markets))
        try:
            with posting(NEVER, noted.check):
                await api.post(order, market)
        except NotPostedError:
            return noted.url
        except ccxt.BaseError as error:
            raise read_error(self._exchange, error, self._keys) from None
        raise AccountRejectedError(f"{self._exchange}: an order without a permit was sent")

    async def keep_connections(self) -> None:
        """Keep the connections of orders and reads open until cancelled. Raises ExchangeError: run it again."""
        while True:
            await SystemClock().sleep(KEEP_SECONDS)
            await (self.rehearse() if self._posts_to is None else self._keep_open())

    async def _keep_open(self) -> None:
        if self._posts_to is not None:
            for connection in (self._orders, self._reads):
                await keep_open(connection.client, self._posts_to, CONNECTIONS)

    async def _post(self, order: LimitOrder, market: Market, permit: Permit) -> str:
        """Post the order; returns the exchange's order id."""
        check = request_check(self._orders.entry, order, self._orders.client.markets)
        try:
            with posting(permit, check):
                return await self._orders.api.post(order, market)
        except ccxt.BaseError as error:
            may_be_the_clock = is_clock_fault(error) or is_past_deadline(error)
            # measured for the next order: this one is rejected all the same
            has_moved = may_be_the_clock and await self._clock.measure()
            raise post_error(self._exchange, error, self._keys, is_of_the_clock=has_moved) from None
        except AnswerNotUnderstoodError as error:
            raise OutcomeUnknownError(f"{self._exchange} may or may not have the order: {error}") from error

    async def withdraw(self, order: WithdrawalOrder, permit: Permit = ALWAYS_PERMITTED) -> str:
        """Ask the exchange to send money away, once; return its id of the withdrawal. `permit` as for an order.

        Raises OrderRejectedError (there is no withdrawal), OutcomeUnknownError (look it up), AccountRejectedError,
        NotPostedError.
        """
        try:
            api = self._transfers()
        except KeyError:
            raise OrderRejectedError(f"there are no withdrawals from {self._exchange} here") from None
        # now, since an exchange that keeps no id of ours is asked for it by its time
        await self._clock.measure()
        try:
            # not on the connection of orders: that one sends nothing else
            with posting(permit):
                return await api.withdraw(order)
        except ccxt.BaseError as error:
            raise post_error(self._exchange, error, self._keys, posted="withdrawal") from None
        except AnswerNotUnderstoodError as error:
            raise OutcomeUnknownError(f"{self._exchange} may or may not have the withdrawal: {error}") from error

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]:
        """Return what left, or will. `since` by our clock, microseconds; earlier ones may be among them. Raises
        ExchangeUnavailableError, AccountRejectedError; KeyError if nothing is transferred there."""
        api = self._transfers()
        return await self._read(lambda: api.withdrawals(currency, since))

    async def deposits(self, currency: str, since: int) -> list[Deposit]:
        """Return what arrived; as `withdrawals`."""
        api = self._transfers()
        return await self._read(lambda: api.deposits(currency, since))

    def _transfers(self) -> TransferApi:
        """Raise KeyError if nothing is transferred there."""
        entry = self._reads.entry
        make = None if entry.is_generic else transfers_of(entry.ccxt)
        if make is None:
            raise KeyError(self._exchange)
        return make(self._reads.client, self._reads.api)

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        market = self._market(order)
        if market is None:
            # None would mean that it was never sent; an earlier session may have traded there
            raise ExchangeUnavailableError(self._not_traded(order))
        with requests_for("follow"):
            return await self._read(lambda: self._reads.api.find(order, market, others))

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        market = self._market(order)
        if market is None:
            raise ExchangeUnavailableError(self._not_traded(order))
        with requests_for("follow"):
            await self._read(lambda: self._reads.api.cancel(order, market, exchange_order_id))

    async def balances(self) -> dict[str, Decimal]:
        return await self._read(self._reads.api.balances)

    async def open_orders(self) -> list[OpenOrder]:
        return await self._read(lambda: self._reads.api.open_orders(self._traded()))

    async def fills_since(self, since: int) -> list[AccountFill]:
        listed = await self._read(lambda: self._reads.api.fills_since(self._traded(), since))
        # pages that shift while they are read contain some fills twice
        once = {(one.fill.symbol, one.fill.fill_id): one for one in listed}
        return sorted(once.values(), key=lambda one: one.fill.filled_at)

    @property
    def has_dead_mans_switch(self) -> bool:
        return isinstance(self._reads.api, CancelsAllAfter)

    async def cancel_all_after(self, seconds: int) -> None:
        """Dead man's switch: the exchange cancels all open orders unless this is called again within `seconds`; 0 turns
        it off. Does nothing if the exchange has none. Raises ExchangeUnavailableError, AccountRejectedError.
        """
        api = self._reads.api
        if isinstance(api, CancelsAllAfter):
            # the switch must not wait behind polls
            with requests_for("follow"):
                await self._read(lambda: api.cancel_all_after(seconds))

    def _traded(self) -> list[Market]:
        return [one for one in self._markets.values() if not one.is_fx or one.symbol in self.fx_ordered]

    async def close(self) -> None:
        if self._socket is not None:
            await self._socket.close()
        await asyncio.gather(self._orders.client.close(), self._reads.client.close())

    async def _poll_report(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport:
        """Return the final report if the exchange has it within a second, otherwise one that the order exists."""
        report = OrderReport(exchange_order_id, False, Amount(ZERO), ())
        for pause in _POLL_DELAYS:
            try:
                report = await self._reads.api.report(order, market, exchange_order_id) or report
            except (ccxt.BaseError, AnswerNotUnderstoodError):
                # The order is live even if this read fails; look_up continues from here.
                return report
            if report.is_final:
                return report
            await SystemClock().sleep(pause)
        return report

    async def _read(self, request: Callable[[], Awaitable[Result]]) -> Result:
        await self._clock.measure_if_due()
        try:
            try:
                await self._prepare(self._in_force())
                return await request()
            except ccxt.BaseError as error:
                if not is_clock_fault(error):
                    raise
            await self._clock.measure()
            await self._prepare(self._in_force())
            return await request()
        except ccxt.BaseError as error:
            raise read_error(self._exchange, error, self._keys) from None
        except AnswerNotUnderstoodError as error:
            raise ExchangeUnavailableError(f"{self._exchange} gave an answer that cannot be read: {error}") from error

    def _market(self, order: LimitOrder) -> Market | None:
        market = self._markets.get(order.symbol) if order.exchange == self._exchange else None
        return None if market is None else self.in_force(market)

    def _in_force(self) -> tuple[Market, ...]:
        return tuple(self.in_force(market) for market in self._markets.values())

    def _not_traded(self, order: LimitOrder) -> str:
        return f"{self._exchange} does not trade {order.symbol} on {order.exchange}"


@dataclass(frozen=True, slots=True)
class AccountConnection:
    """One connection to an exchange, and the order API on it; `by_rest`: the same without a socket."""

    entry: ExchangeEntry
    client: Any
    api: OrderApi
    by_rest: OrderApi


def open_account(
    config: ExchangeConfig,
    markets: Sequence[Market],
    environment: Mapping[str, str] | None = None,
    steady_clock: Callable[[], int] = steady_now,
) -> ExchangeAccount:
    """Return the account of `config`, its rate limits counted by `steady_clock`. Raises AccountRejectedError; the
    caller closes it."""
    budget = account_budget(config.exchange, steady_clock, limit_rules(config))
    orders, reads = (make_exchange(config, environment, budget, posts_only=posts) for posts in (True, False))
    socket = order_socket(config.entry, reads)
    # it loads its certificates now, for tens of milliseconds, and not when the first order is due
    orders.open()
    posting_one, reading_one = (_connection(config.entry, one, socket) for one in (orders, reads))
    prepare = SharedMarkets(reads, orders).load if config.entry.is_generic else _nothing
    return ExchangeAccount(
        config.exchange, posting_one, reading_one, markets, config.credentials, reads.budget, prepare, socket
    )


def _connection(entry: ExchangeEntry, client: Any, socket: OrderSocket | None) -> AccountConnection:
    by_rest = order_api(entry, client)
    return AccountConnection(entry, client, by_rest if socket is None else socket_api(entry, client, socket), by_rest)


def open_session_account(session: Session, exchange: str, environment: Mapping[str, str]) -> ExchangeAccount:
    """Our account on one of the session's exchanges. Raises AccountRejectedError."""
    account = open_account(session_config(session, exchange, environment), session.markets_of(exchange), environment)
    ordered = (market for market in session.ordered_markets if market.is_fx and market.exchange == exchange)
    account.fx_ordered = frozenset(market.symbol for market in ordered)
    return account
