"""The moving average strategy of one exchange: one close per period, and orders for its signals if enabled.

The store keeps the closes and the state of each signal; nothing here has to survive.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from bots.decide.newest_quotes import LatestQuote, MarketKey
from bots.decide.order_decision import Rejected
from bots.decide.state_cache import StateCache
from bots.strategies.single_order import OrderContext, single_order_request
from market.decide.market_rules import market_in_force
from market.instruments.markets import FxRoute, Market, crosses_of, fx_route
from market.money import Price
from market.time_units import MICROSECONDS
from market.trade.leases import Actor
from market.trade.moving_average import AverageOrder, AverageRule, AverageTrade, Close, order_of, period_of
from runtime.clock import Clock, ReplayClock, SystemClock, wall_seconds
from session.session import Session
from store.ports.trading import TradeStore

log = logging.getLogger(__name__)

MIN_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 1.0
"""Interval between two checks of settings and open orders."""
MIN_VALIDITY = 1 * MICROSECONDS
"""A signal is traded within its interval, or within this if the interval is shorter, or not at all."""
TOO_LATE = "expired"
"""The rejection of `reserve` for a signal past `valid_until`."""


class Quotes(Protocol):
    """The part of `bots.decide.newest_quotes.NewestQuotes` that is used here."""

    async def fetch(self, wanted: Collection[MarketKey]) -> dict[MarketKey, LatestQuote]: ...


@dataclass(slots=True)
class AverageTrader:
    """Periods follow the store's time (in a replay the recording's), so that a takeover neither skips nor repeats
    one."""

    exchange: str
    session: Session
    store: TradeStore
    quotes: Quotes
    rule: AverageRule
    clock: Clock
    cache: StateCache
    by: Actor
    _last_period: int = 0
    """The last period whose closes this process recorded; saves asking the store again."""
    _may_be_unsettled: bool = True

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError, StreamUnavailableError: run it again."""
        while True:
            await self.run_once()
            await SystemClock().sleep(self._pause())

    async def run_once(self) -> None:
        """Do whatever is due now; nothing while draining, since this reserves orders."""
        if self.cache.is_draining:
            return
        period = self._period()
        if self.cache.settings.ma_trading != "off" and period > self._last_period:
            await self._record_closes(period)
            self._last_period = period
        if self._may_be_unsettled:
            await self._settle()

    async def _record_closes(self, period: int) -> None:
        """Record one close per market with a fresh quote."""
        with_order = self.cache.settings.ma_trading == "orders"
        crosses = crosses_of(self.session.markets, self.session.settlement_currency)
        # nothing converts what a cross is priced in
        markets = [one for one in self.session.traded if one.exchange == self.exchange and one not in crosses]
        quotes = await self.quotes.fetch([_key(market) for market in markets])
        found = [(market, quotes.get(_key(market))) for market in markets]
        now, max_age = self.clock.now(), self.cache.settings.max_quote_age_ms * 1_000
        fresh = [(market, latest) for market, latest in found if latest is not None and latest.is_fresh(now, max_age)]
        if not fresh:
            return
        closes = [self._close(market, latest, period) for market, latest in fresh]
        for trade in await self.store.averages.record_closes(closes, self.rule, with_order=with_order, by=self.by):
            self._may_be_unsettled |= with_order
            log.info("price crossed its moving average", extra={"trade_id": trade.trade_id})

    def _close(self, market: Market, latest: LatestQuote, period: int) -> Close:
        """Return the close at the mid price: the log has no public trades, whose last price the original used."""
        quote = latest.quote
        return Close(
            exchange=quote.exchange,
            quote_region=quote.region,
            symbol=quote.symbol,
            price=Price((quote.bid + quote.ask) / 2),
            period=period,
            timestamp=self.clock.now(),
            trade_location=market.region,
        )

    async def _settle(self) -> None:
        """Update the order of each unsettled signal, whichever process began it."""
        unsettled = await self.store.averages.unsettled(self.exchange)
        for trade in unsettled:
            order = await self._order_of(trade)
            if order is not None and order != trade.order:
                await self.store.averages.record_order(trade.trade_id, order, by=self.by)
        self._may_be_unsettled = bool(unsettled)

    async def _order_of(self, trade: AverageTrade) -> AverageOrder | None:
        """Return the state of a signal's order, from its arbitrage; reserves the order if there is none yet and this
        process may."""
        arbitrage = await self.store.arbitrage(trade.trade_id)
        if arbitrage is not None:
            return order_of(arbitrage)
        interval = self.cache.settings.ma_interval_ms * 1_000
        valid_until = trade.at + max(interval, MIN_VALIDITY)
        if await self.store.server_now() >= valid_until:
            return AverageOrder("missed", TOO_LATE)
        context = await self._order_context(trade, valid_until)
        request = Rejected("market_missing") if context is None else single_order_request(trade, context)
        if isinstance(request, Rejected):
            return AverageOrder("rejected", request.reason)
        if self.cache.reserves_nothing_new:
            return trade.order
        self.cache.is_reserving_signal = True
        try:
            result = await self.store.reserve(request, self.by)
        finally:
            self.cache.is_reserving_signal = False
        if result.arbitrage is not None:
            return order_of(result.arbitrage)
        return AverageOrder("missed" if result.rejection == TOO_LATE else "rejected", result.rejection)

    async def _order_context(self, trade: AverageTrade, valid_until: int) -> OrderContext | None:
        """None if this session does not trade the signal's market."""
        session = self.session
        key = (trade.exchange, trade.symbol)
        market = next((market for market in session.traded if _key(market) == key), None)
        if market is None:
            return None
        route = fx_route(market.quote_currency, session.settlement_currency, session.markets)
        fx_key = None if route is None else _fx_key(route, session.markets)
        quotes = await self.quotes.fetch([key] if fx_key is None else [key, fx_key])
        return OrderContext(
            market=market_in_force(market, self.cache.settings),
            quote=quotes.get(key),
            route=route,
            fx_quote=None if fx_key is None else quotes.get(fx_key),
            settlement=session.settlement_currency,
            settings=self.cache.settings,
            drift=self.cache.drift,
            now=self.clock.now(),
            valid_until=valid_until,
            legs_left=self.cache.new_legs_left(self.exchange),
        )

    def _period(self) -> int:
        return period_of(self._time(), self.cache.settings.ma_interval_ms)

    def _time(self) -> int:
        """Return the time that periods are counted in, microseconds."""
        now = self.clock.now()
        return now if isinstance(self.clock, ReplayClock) else now + self.cache.server_ahead

    def _pause(self) -> float:
        """Wall seconds until the next period, capped so that changed settings are noticed."""
        ends = self._period() + self.cache.settings.ma_interval_ms * 1_000
        left = wall_seconds(self.clock, (ends - self._time()) / MICROSECONDS)
        return min(max(left, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)


def _key(market: Market) -> MarketKey:
    return market.exchange, market.symbol


def _fx_key(route: FxRoute, markets: tuple[Market, ...]) -> MarketKey:
    return next(_key(market) for market in markets if market.is_fx and market.symbol == route.symbol)
