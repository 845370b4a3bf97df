"""A trading account through ccxt's private API: the same code on live and on simulated exchanges."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import ccxt

from exchanges.binance import BinanceDesk
from exchanges.bitflyer import BitflyerDesk
from exchanges.bitstamp import BitstampDesk
from exchanges.client import ExchangeConfig, make_exchange, simulated_config
from exchanges.coinbaseexchange import CoinbaseExchangeDesk
from exchanges.desk import AnswerNotUnderstoodError, OrderDesk
from exchanges.errors import AccountRefusedError, ExchangeUnavailableError, OrderRefusedError, OutcomeUnknownError
from exchanges.faults import post_error, read_error
from exchanges.kraken import KrakenDesk
from market.clock import SystemClock
from market.limits import rule_broken
from market.markets import Market
from market.money import ZERO, Amount
from market.orders import LimitOrder, OrderReport
from market.session import Session

_DESKS: dict[str, Callable[[Any], OrderDesk]] = {
    "coinbaseexchange": CoinbaseExchangeDesk,
    "bitstamp": BitstampDesk,
    "bitflyer": BitflyerDesk,
    "kraken": KrakenDesk,
    "binance": BinanceDesk,
}
# Between two looks at an order that was just taken; an IOC order is mostly done at the first.
_LOOKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)

Answer = TypeVar("Answer")


class CcxtAccount:
    """One account on one exchange, on a ccxt client of its own, so that no poll queues before an order."""

    def __init__(self, exchange: str, client: Any, desk: OrderDesk, markets: Sequence[Market]) -> None:
        self._exchange = exchange
        self._client = client
        self._desk = desk
        self._markets = {market.symbol: market for market in markets if market.exchange == exchange}

    @property
    def exchange(self) -> str:
        return self._exchange

    async def place(self, order: LimitOrder) -> OrderReport:
        market = self._market(order)
        if market is None:
            raise OrderRefusedError(self._not_here(order))
        broken = rule_broken(order, market)
        if broken is not None:
            raise OrderRefusedError(f"{order.client_order_id} on {self._exchange}: {broken}")
        try:
            exchange_order_id = await self._desk.post(order, market)
        except ccxt.BaseError as error:
            raise post_error(self._exchange, error) from error
        except AnswerNotUnderstoodError as error:
            raise OutcomeUnknownError(f"{self._exchange} may or may not have the order: {error}") from error
        return await self._followed(order, market, exchange_order_id)

    async def look_up(self, order: LimitOrder) -> OrderReport | None:
        market = self._market(order)
        if market is None:
            # None would say that it was never sent; an earlier session may have traded there
            raise ExchangeUnavailableError(self._not_here(order))
        return await self._read(self._desk.find(order, market))

    async def balances(self) -> dict[str, Decimal]:
        return await self._read(self._desk.balances())

    async def close(self) -> None:
        await self._client.close()

    async def _followed(self, order: LimitOrder, market: Market, exchange_order_id: str) -> OrderReport:
        """The final report where the exchange has it within a second, else what is known: the order exists."""
        report = OrderReport(exchange_order_id, False, Amount(ZERO), ())
        for pause in _LOOKS:
            try:
                report = await self._desk.report(order, market, exchange_order_id) or report
            except (ccxt.BaseError, AnswerNotUnderstoodError):
                # The order is live whatever this read says; look_up goes on from here.
                return report
            if report.is_final:
                return report
            await SystemClock().sleep(pause)
        return report

    async def _read(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except ccxt.BaseError as error:
            raise read_error(self._exchange, error) from error
        except AnswerNotUnderstoodError as error:
            raise ExchangeUnavailableError(f"{self._exchange} is not understood: {error}") from error

    def _market(self, order: LimitOrder) -> Market | None:
        return self._markets.get(order.symbol) if order.exchange == self._exchange else None

    def _not_here(self, order: LimitOrder) -> str:
        return f"{self._exchange} is not where {order.symbol} on {order.exchange} trades"


def open_account(
    config: ExchangeConfig, markets: Sequence[Market], environment: Mapping[str, str] | None = None
) -> CcxtAccount:
    """The account that `config` names. Raises AccountRefusedError; the caller closes it."""
    make_desk = _DESKS.get(config.exchange)
    if make_desk is None:
        raise AccountRefusedError(f"orders on {config.exchange} are not supported, only on {', '.join(_DESKS)}")
    client = make_exchange(config, environment)
    return CcxtAccount(config.exchange, client, make_desk(client), markets)


def open_session_account(session: Session, exchange: str) -> CcxtAccount:
    """The funded test account on one of the session's simulated exchanges. Raises AccountRefusedError."""
    if session.exchanges_url is None:
        raise AccountRefusedError("this session trades on local paper accounts, it has no simulated exchanges")
    config = simulated_config(exchange, session.exchanges_url, session.home)
    return open_account(config, session.markets_of(exchange))
