"""Opportunities of the benchmark at the current prices of the exchanges, in both directions by turns."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import ccxt

from exchanges.ccxt.client import make_exchange, simulated_config
from exchanges.errors import AccountRejectedError
from market.instruments.markets import Market
from market.money import Amount, Price, decimal_of
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.prices.quotes import MAX_LEVELS, Level
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from session.session import Session

LIFETIME = 5 * MICROSECONDS
RETRY_SECONDS = 0.2


class Offers:
    """Reads both books by REST for each opportunity; the measurement does not include that."""

    def __init__(self, session: Session, fresh_seconds: float = 0.0) -> None:
        """Books that are at most `fresh_seconds` old are not read again."""
        self._session = session
        self._fresh = int(fresh_seconds * MICROSECONDS)
        self._books: dict[Market, tuple[int, Any]] = {}
        self._clients: dict[str, Any] = {}
        self._stack = AsyncExitStack()
        self._count = 0

    async def __aenter__(self) -> Self:
        """Wait until both exchanges answer."""
        while True:
            try:
                await self.next()
            except (AccountRejectedError, ccxt.NetworkError):
                await SystemClock().sleep(RETRY_SECONDS)
            else:
                return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def next(self) -> Opportunity:
        """Return an opportunity that is detected now."""
        self._count += 1
        buy, sell = self._session.traded if self._count % 2 else self._session.traded[::-1]
        legs = await self._leg(buy, "asks"), await self._leg(sell, "bids")
        now = wall_now()
        return Opportunity(
            opportunity_id=uuid4().hex,
            base=buy.base,
            buy=legs[0],
            sell=legs[1],
            fx=(),
            settings_version=1,
            gross_bps=0.0,
            fee_bps=0.0,
            net_bps=0.0,
            expected_profit=0.0,
            currency=self._session.settlement_currency,
            event_time=now,
            detected_time=now,
            expires_at=now + LIFETIME,
            offset=self._count,
        )

    async def _leg(self, market: Market, side: str) -> OpportunityLeg:
        book = await self._book(market)
        levels = tuple(Level(Price(decimal_of(row[0])), Amount(decimal_of(row[1]))) for row in book[side][:MAX_LEVELS])
        return OpportunityLeg(
            exchange=market.exchange,
            symbol=market.symbol,
            quote_currency=market.quote_currency,
            price=levels[0].price,
            amount=levels[0].amount,
            levels=levels,
            quote_id=f"{market.exchange}:{market.symbol}:{self._count}",
            age=0,
        )

    async def _book(self, market: Market) -> Any:
        read_at, book = self._books.get(market, (0, None))
        if wall_now() - read_at >= self._fresh:
            client = self._clients.get(market.exchange) or self._connected(market.exchange)
            book = await client.fetch_order_book(market.symbol)
            self._books[market] = wall_now(), book
        return book

    def _connected(self, exchange: str) -> Any:
        """Return the connected client. Raises AccountRejectedError until the exchange has made accounts."""
        config = simulated_config(exchange, str(self._session.simulated.url), self._session.home, is_limited=False)
        client = self._clients[exchange] = make_exchange(config)
        self._stack.push_async_callback(client.close)
        return client
