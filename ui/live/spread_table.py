"""Exchange × exchange: what buying here and selling there would bring now, after fees and FX. For display alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.instruments.markets import FxRoute, Market, fx_route
from ui.live.top_of_book import TopOfBook

BPS = 10_000.0


@dataclass(frozen=True, slots=True)
class SpreadCell:
    """Buying on the row's market, selling on the column's; doubles in the order of operations that detection uses."""

    base: str
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    gross_bps: float
    fee_bps: float
    net_bps: float
    is_fresh: bool
    """Both quotes and the rates used are young enough to trade on."""


class SpreadTable:
    """Knows the FX route of each market once; a market that no FX market converts has no cells."""

    def __init__(self, markets: tuple[Market, ...], settlement: str) -> None:
        self._traded = tuple(market for market in markets if not market.is_fx)
        self._routes: dict[str, FxRoute | None] = {}
        for market in self._traded:
            try:
                self._routes[market.quote_currency] = fx_route(market.quote_currency, settlement, markets)
            except LookupError:
                continue

    def cells(
        self, tops: Mapping[tuple[str, str], TopOfBook], fees: Mapping[str, Decimal], now: int, max_quote_age: int
    ) -> tuple[SpreadCell, ...]:
        """All ordered pairs of different exchanges with the same base that have quotes and rates.

        `tops` by (exchange, symbol), FX included; `now` and `max_quote_age` in microseconds.
        """
        legs = [self._leg(market, tops, now, max_quote_age) for market in self._traded]
        known = [leg for leg in legs if leg is not None]
        return tuple(
            _cell(buy, sell, fees)
            for buy in known
            for sell in known
            if buy.top.exchange != sell.top.exchange and buy.top.base == sell.top.base
        )

    def _leg(
        self, market: Market, tops: Mapping[tuple[str, str], TopOfBook], now: int, max_quote_age: int
    ) -> "_Leg | None":
        top = tops.get((market.exchange, market.symbol))
        if top is None or market.quote_currency not in self._routes:
            return None
        route = self._routes[market.quote_currency]
        is_fresh = top.status(now, max_quote_age) == "fresh"
        bid, ask = float(top.bid), float(top.ask)
        if route is None:
            return _Leg(top, bid, ask, is_fresh)
        rate = _rate_of(route, tops.values())
        if rate is None:
            return None
        is_fresh = is_fresh and rate.status(now, max_quote_age) == "fresh"
        fx_bid, fx_ask = float(rate.bid), float(rate.ask)
        if route.inverted:
            return _Leg(top, bid / fx_ask, ask / fx_bid, is_fresh)
        return _Leg(top, bid * fx_bid, ask * fx_ask, is_fresh)


@dataclass(frozen=True, slots=True)
class _Leg:
    """One market's best prices in the settlement currency, at the side of the FX that a trade would pay."""

    top: TopOfBook
    sell_price: float
    buy_price: float
    is_fresh: bool


def _rate_of(route: FxRoute, tops: Iterable[TopOfBook]) -> TopOfBook | None:
    """The newest quote of the route's symbol, whichever exchange it came from."""
    candidates = [top for top in tops if top.symbol == route.symbol]
    return max(candidates, key=lambda top: top.received_time, default=None)


def _cell(buy: _Leg, sell: _Leg, fees: Mapping[str, Decimal]) -> SpreadCell:
    buy_fee, sell_fee = (float(fees.get(leg.top.exchange, 0)) for leg in (buy, sell))
    buy_price, sell_price = buy.buy_price, sell.sell_price
    gross_bps = (sell_price - buy_price) * BPS / buy_price
    fee_bps = (buy_price * buy_fee + sell_price * sell_fee) * BPS / buy_price
    return SpreadCell(
        base=buy.top.base,
        buy_exchange=buy.top.exchange,
        buy_symbol=buy.top.symbol,
        sell_exchange=sell.top.exchange,
        sell_symbol=sell.top.symbol,
        gross_bps=gross_bps,
        fee_bps=fee_bps,
        net_bps=gross_bps - fee_bps,
        is_fresh=buy.is_fresh and sell.is_fresh,
    )
