"""A trading account through ccxt's private API: the same code on live and on simulated exchanges."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import ccxt

from exchanges.ccxt_client import ExchangeConfig, make_exchange, session_config
from exchanges.error_mapping import is_clock_fault, post_error, read_error
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.exchange_credentials import Credentials
from exchanges.order_api import AnswerNotUnderstoodError, OrderApi
from exchanges.orders.binance import BinanceOrderApi
from exchanges.orders.bitflyer import BitflyerOrderApi
from exchanges.orders.bitstamp import BitstampOrderApi
from exchanges.orders.coinbaseexchange import CoinbaseExchangeOrderApi
from exchanges.orders.kraken import KrakenOrderApi
from exchanges.requests.measured_clock import MeasuredClock
from exchanges.requests.order_permits import ANY_TIME, Permit, departure
from exchanges.requests.rate_budget import RateBudget, account_budget, asking_for
from market.instruments.markets import Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import ZERO, Amount
from session.clock import SystemClock, steady_now
from session.session import Session

_DESKS: dict[str, Callable[[Any], OrderApi]] = {
    "coinbaseexchange": CoinbaseExchangeOrderApi,
    "bitstamp": BitstampOrderApi,
    "bitflyer": BitflyerOrderApi,
    "kraken": KrakenOrderApi,
    "binance": BinanceOrderApi,
}
# After each look at an order that was just taken; an IOC order is mostly done at the first.
_LOOKS = (0.02, 0.1, 0.5)

Answer = TypeVar("Answer")


class CcxtAccount:
    """One account on one exchange: orders go by a connection of their own, which asks for leave when all else is done;
    all else goes by another. `budget`: what both have of the exchange's rate limits; None where nothing limits them."""

    def __init__(
        self,
        entry: "AccountConnection",
        reads: "AccountConnection",
        markets: Sequence[Market],
        keys: Credentials | None,
        budget: RateBudget | None = None,
    ) -> None:
        self._exchange = str(entry.client.id)
        self._entry = entry
        self._reads = reads
        self._keys = keys
        self._budget = budget
        self._clock = MeasuredClock(reads.client, entry.client)
        self._markets = {market.symbol: market for market in markets if market.exchange == self._exchange}

    @property
    def exchange(self) -> str:
        return self._exchange

    def legs_left(self) -> int | None:
        """How many legs the exchange's rate limits let begin now; None where nothing limits them."""
        return None if self._budget is None else self._budget.legs_left()

    def has_room(self) -> bool:
        """Whether they let one more order leave now, where it is not the first of its trade."""
        return self._budget is None or self._budget.has_room()

    def used(self) -> str | None:
        """What is used of them, for the process that acts for the account after this one; None where nothing limits
        it."""
        return None if self._budget is None else self._budget.used()

    def take_over(self, used: str, ago: int) -> None:
        """Go on from what another process had used of them `ago` microseconds before."""
        if self._budget is not None:
            self._budget.take_over(used, ago)

    async def place(self, order: LimitOrder, permit: Permit = ANY_TIME) -> OrderReport:
        market = self._market(order)
        if market is None:
            raise OrderRejectedError(self._not_here(order))
        broken = rule_broken(order, market)
        if broken is not None:
            raise OrderRejectedError(f"{order.client_order_id} on {self._exchange}: {broken}")
        # an order that is under way must not wait behind what can
        with asking_for("follow"):
            await self._clock.measure_once()
            exchange_order_id = await self._posted(order, market, permit)
            return await self._followed(order, market, exchange_order_id)

    async def _posted(self, order: LimitOrder, market: Market, permit: Permit) -> str:
        """The exchange's id of it."""
        try:
            with departure(permit):
                return await self._entry.desk.post(order, market)
        except ccxt.BaseError as error:
            if is_clock_fault(error):
                # for the next one: this order is rejected, and whoever sent it must hear so
                await self._clock.measure()
            raise post_error(self._exchange, error, self._keys) from None
        except AnswerNotUnderstoodError as error:
            raise OutcomeUnknownError(f"{self._exchange} may or may not have the order: {error}") from error

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        market = self._market(order)
        if market is None:
            # None would say that it was never sent; an earlier session may have traded there
            raise ExchangeUnavailableError(self._not_here(order))
        with asking_for("follow"):
            return await self._read(lambda: self._reads.desk.find(order, market, others))

    async def balances(self) -> dict[str, Decimal]:
        return await self._read(self._reads.desk.balances)

    async def open_orders(self) -> list[OpenOrder]:
        return await self._read(lambda: self._reads.desk.open_orders(self._traded()))

    async def fills_since(self, since: int) -> list[AccountFill]:
        listed = await self._read(lambda: self._reads.desk.fills_since(self._traded(), since))
        # pages that move while they are read show some twice
        once = {(one.fill.symbol, one.fill.fill_id): one for one in listed}
        return sorted(once.values(), key=lambda one: one.fill.filled_at)

    @property
    def has_dead_mans_switch(self) -> bool:
        return isinstance(self._reads.desk, KrakenOrderApi)

    async def cancel_all_after(self, seconds: int) -> None:
        """Have the exchange cancel whatever rests on the account, unless it is told again within so many seconds; 0:
        no more. Nothing where the exchange has no such switch. Raises ExchangeUnavailableError, AccountRejectedError.
        """
        desk = self._reads.desk
        if isinstance(desk, KrakenOrderApi):
            # what keeps the account safe is not to wait behind what can
            with asking_for("follow"):
                await self._read(lambda: desk.cancel_all_after(seconds))

    def _traded(self) -> list[Market]:
        return [market for market in self._markets.values() if not market.is_fx]

    async def close(self) -> None:
        await self._entry.client.close()
        await self._reads.client.close()

    async def _followed(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport:
        """The final report where the exchange has it within a second, else what is known: the order exists."""
        report = OrderReport(exchange_order_id, False, Amount(ZERO), ())
        for pause in _LOOKS:
            try:
                report = await self._reads.desk.report(order, market, exchange_order_id) or report
            except (ccxt.BaseError, AnswerNotUnderstoodError):
                # The order is live whatever this read says; look_up goes on from here.
                return report
            if report.is_final:
                return report
            await SystemClock().sleep(pause)
        return report

    async def _read(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        await self._clock.measure_now_and_then()
        try:
            try:
                return await question()
            except ccxt.BaseError as error:
                if not is_clock_fault(error):
                    raise
            await self._clock.measure()
            return await question()
        except ccxt.BaseError as error:
            raise read_error(self._exchange, error, self._keys) from None
        except AnswerNotUnderstoodError as error:
            raise ExchangeUnavailableError(f"{self._exchange} is not understood: {error}") from error

    def _market(self, order: LimitOrder) -> Market | None:
        return self._markets.get(order.symbol) if order.exchange == self._exchange else None

    def _not_here(self, order: LimitOrder) -> str:
        return f"{self._exchange} is not where {order.symbol} on {order.exchange} trades"


@dataclass(frozen=True, slots=True)
class AccountConnection:
    """One connection to an exchange and how it is spoken to."""

    client: Any
    desk: OrderApi


def open_account(
    config: ExchangeConfig,
    markets: Sequence[Market],
    environment: Mapping[str, str] | None = None,
    steady_clock: Callable[[], int] = steady_now,
) -> CcxtAccount:
    """The account that `config` names, its rate limits counted by `steady_clock`. Raises AccountRejectedError; the
    caller closes it."""
    make_desk = _DESKS.get(config.exchange)
    if make_desk is None:
        raise AccountRejectedError(f"orders on {config.exchange} are not supported, only on {', '.join(_DESKS)}")
    budget = account_budget(config.exchange, steady_clock)
    entry, reads = (make_exchange(config, environment, budget, posts_only=posts) for posts in (True, False))
    lines = AccountConnection(entry, make_desk(entry)), AccountConnection(reads, make_desk(reads))
    return CcxtAccount(*lines, markets, config.credentials, reads.budget)


def open_session_account(session: Session, exchange: str, environment: Mapping[str, str]) -> CcxtAccount:
    """Our account on one of the session's exchanges. Raises AccountRejectedError."""
    return open_account(session_config(session, exchange, environment), session.markets_of(exchange), environment)
