"""The moving average strategy of one exchange: a close a period, and the orders of its signals, where they are wanted.

Nothing is remembered here that matters: the store has the closes, and what became of each signal.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from bots.decide.order_decision import Rejected
from bots.decide.quote_lookup import MarketKey, SeenQuote
from bots.decide.state_cache import StateCache
from bots.strategies.single_order import Outlook, solo_wish
from market.instruments.markets import FxRoute, Market, fx_route
from market.money import Price
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED, Actor
from market.trade.moving_average import AverageOrder, AverageTrade, Close, order_of, period_of
from session.clock import Clock, ReplayClock, SystemClock, wall_seconds
from session.session import Session
from store.store_port import TradeStore

log = logging.getLogger(__name__)

LEAST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
"""Between two looks at the settings and at open orders."""
LEAST_VALIDITY = 1 * MICROSECONDS
"""A signal is traded within its interval, or within this where that is shorter, or never."""
TOO_LATE = "expired"
"""As `reserve` says it."""


class Quotes(Protocol):
    """`bots.decide.quote_lookup.NewestQuotes`, as it is used here."""

    async def look(self, wanted: Collection[MarketKey]) -> dict[MarketKey, SeenQuote]: ...


@dataclass(slots=True)
class AverageTrader:
    """A period is one of the store's time, in a replay of the recording's, so that a process that takes over neither
    skips nor repeats one.
    """

    exchange: str
    session: Session
    store: TradeStore
    quotes: Quotes
    clock: Clock
    knowledge: StateCache
    by: Actor = UNFENCED
    _looked_at: int = 0
    """The last period whose closes were noted here: the store would reject them, but need not be asked."""
    _may_be_unsettled: bool = True

    async def run(self) -> None:
        """Without end. Raises StoreUnavailableError, StreamUnavailableError: run it again."""
        while True:
            await self.turn()
            await SystemClock().sleep(self._pause())

    async def turn(self) -> None:
        """Whatever is due now; nothing where this process is about to go, since that begins orders."""
        if self.knowledge.leaving:
            return
        period = self._period()
        if self.knowledge.settings.ma_trading != "off" and period > self._looked_at:
            await self._note_closes(period)
            self._looked_at = period
        if self._may_be_unsettled:
            await self._settle()

    async def _note_closes(self, period: int) -> None:
        """A market without a quote that holds has no close."""
        with_order = self.knowledge.settings.ma_trading == "orders"
        markets = [market for market in self.session.traded if market.exchange == self.exchange]
        quotes = await self.quotes.look([_key(market) for market in markets])
        for market in markets:
            seen = quotes.get(_key(market))
            if seen is None or not seen.is_fresh(self.clock.now(), self.knowledge.settings.max_quote_age_ms * 1_000):
                continue
            close = self._close(market, seen, period)
            trade = await self.store.averages.note_close(close, with_order=with_order, by=self.by)
            if trade is not None:
                self._may_be_unsettled |= with_order
                log.info("price crossed its moving average", extra={"trade_id": trade.trade_id})

    def _close(self, market: Market, seen: SeenQuote, period: int) -> Close:
        """The mid: the original took the exchange's last trade, which the log does not have."""
        quote = seen.quote
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
        """Go on with the order of each signal, whichever process wanted it."""
        unsettled = await self.store.averages.unsettled(self.exchange)
        for trade in unsettled:
            order = await self._order_of(trade)
            if order is not None and order != trade.order:
                await self.store.averages.note_order(trade.trade_id, order, by=self.by)
        self._may_be_unsettled = bool(unsettled)

    async def _order_of(self, trade: AverageTrade) -> AverageOrder | None:
        """By its arbitrage, which begins here where nobody began it; as it was where this process is about to go."""
        arbitrage = await self.store.arbitrage(trade.trade_id)
        if arbitrage is not None:
            return order_of(arbitrage)
        interval = self.knowledge.settings.ma_interval_ms * 1_000
        valid_until = trade.at + max(interval, LEAST_VALIDITY)
        if await self.store.server_now() >= valid_until:
            return AverageOrder("missed", TOO_LATE)
        outlook = await self._outlook(trade, valid_until)
        wish = Rejected("market_missing") if outlook is None else solo_wish(trade, outlook)
        if isinstance(wish, Rejected):
            return AverageOrder("rejected", wish.reason)
        if self.knowledge.begins_nothing:
            return trade.order
        self.knowledge.beginning = True
        try:
            result = await self.store.reserve(wish, self.by)
        finally:
            self.knowledge.beginning = False
        if result.arbitrage is not None:
            return order_of(result.arbitrage)
        return AverageOrder("missed" if result.rejection == TOO_LATE else "rejected", result.rejection)

    async def _outlook(self, trade: AverageTrade, valid_until: int) -> Outlook | None:
        """None where this session does not trade the signal's market."""
        session = self.session
        key = (trade.exchange, trade.symbol)
        market = next((market for market in session.traded if _key(market) == key), None)
        if market is None:
            return None
        route = fx_route(market.quote_currency, session.settlement_currency, session.markets)
        fx_key = None if route is None else _fx_key(route, session.markets)
        quotes = await self.quotes.look([key] if fx_key is None else [key, fx_key])
        return Outlook(
            market=market,
            quote=quotes.get(key),
            route=route,
            fx_quote=None if fx_key is None else quotes.get(fx_key),
            settlement=session.settlement_currency,
            settings=self.knowledge.settings,
            drift=self.knowledge.drift,
            now=self.clock.now(),
            valid_until=valid_until,
            legs_left=self.knowledge.legs_to_begin(self.exchange),
        )

    def _period(self) -> int:
        return period_of(self._time(), self.knowledge.settings.ma_interval_ms)

    def _time(self) -> int:
        """Of which periods are made, microseconds."""
        now = self.clock.now()
        return now if isinstance(self.clock, ReplayClock) else now + self.knowledge.server_ahead

    def _pause(self) -> float:
        """Wall seconds until the next period, at most until settings may have changed."""
        ends = self._period() + self.knowledge.settings.ma_interval_ms * 1_000
        left = wall_seconds(self.clock, (ends - self._time()) / MICROSECONDS)
        return min(max(left, LEAST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


def _key(market: Market) -> MarketKey:
    return market.exchange, market.symbol


def _fx_key(route: FxRoute, markets: tuple[Market, ...]) -> MarketKey:
    return next(_key(market) for market in markets if market.is_fx and market.symbol == route.symbol)
