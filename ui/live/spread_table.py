"""Exchange × exchange: what buying here and selling there would bring now, after fees and FX. For display alone."""

from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class AssetPrice:
    """One market's best prices in the settlement currency, at the side of the FX that a trade would pay."""

    exchange: str
    symbol: str
    bid: float
    ask: float
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class AssetLine:
    """One asset over all exchanges. `best`: the pair that would bring most now; None without two fresh markets."""

    base: str
    prices: tuple[AssetPrice, ...]
    best: SpreadCell | None


class SpreadTable:
    """Knows the FX route of each market once; a market that no FX market converts has no cells."""

    def __init__(self, markets: tuple[Market, ...], settlement: str) -> None:
        self._traded_by_base: dict[str, list[Market]] = {}
        self._routes: dict[str, FxRoute | None] = {}
        for market in markets:
            if market.is_fx:
                continue
            self._traded_by_base.setdefault(market.base, []).append(market)
            try:
                self._routes[market.quote_currency] = fx_route(market.quote_currency, settlement, markets)
            except LookupError:
                continue

    def cells(
        self, tops: Mapping[tuple[str, str], TopOfBook], fees: Mapping[str, Decimal], now: int, max_quote_age: int
    ) -> tuple[SpreadCell, ...]:
        """Return the cells of all ordered pairs of different exchanges with the same base that have quotes and rates.

        `tops` by (exchange, symbol), FX included; `now` and `max_quote_age` in microseconds.
        """
        of_bases = self._legs(tops, now, max_quote_age)
        return tuple(cell for _, legs in of_bases for cell in _cells(legs, fees))

    def lines(
        self, tops: Mapping[tuple[str, str], TopOfBook], fees: Mapping[str, Decimal], now: int, max_quote_age: int
    ) -> tuple[AssetLine, ...]:
        """Return every asset, in the order of the session's markets, quoted or not; arguments as of `cells`."""
        return tuple(_line(base, legs, fees) for base, legs in self._legs(tops, now, max_quote_age))

    def _legs(
        self, tops: Mapping[tuple[str, str], TopOfBook], now: int, max_quote_age: int
    ) -> "Iterator[tuple[str, list[_Leg]]]":
        rates = self._rates(tops.values())
        for base, markets in self._traded_by_base.items():
            legs = (self._leg(market, tops, rates, now, max_quote_age) for market in markets)
            yield base, [leg for leg in legs if leg is not None]

    def _rates(self, tops: Iterable[TopOfBook]) -> dict[str, TopOfBook]:
        """Return the newest quote of each route's symbol, whichever exchange it came from."""
        routed = {route.symbol for route in self._routes.values() if route is not None}
        rates: dict[str, TopOfBook] = {}
        for top in tops:
            known = rates.get(top.symbol)
            if top.symbol in routed and (known is None or top.received_time > known.received_time):
                rates[top.symbol] = top
        return rates

    def _leg(
        self,
        market: Market,
        tops: Mapping[tuple[str, str], TopOfBook],
        rates: Mapping[str, TopOfBook],
        now: int,
        max_quote_age: int,
    ) -> "_Leg | None":
        top = tops.get((market.exchange, market.symbol))
        if top is None or market.quote_currency not in self._routes:
            return None
        route = self._routes[market.quote_currency]
        is_fresh = top.status(now, max_quote_age) == "fresh"
        bid, ask = float(top.bid), float(top.ask)
        if route is None:
            return _Leg(top, bid, ask, is_fresh)
        rate = rates.get(route.symbol)
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


def _line(base: str, legs: list[_Leg], fees: Mapping[str, Decimal]) -> AssetLine:
    fresh = _cells([leg for leg in legs if leg.is_fresh], fees)
    prices = (AssetPrice(leg.top.exchange, leg.top.symbol, leg.sell_price, leg.buy_price, leg.is_fresh) for leg in legs)
    return AssetLine(base, tuple(prices), max(fresh, key=lambda cell: cell.net_bps, default=None))


def _cells(legs: list[_Leg], fees: Mapping[str, Decimal]) -> Iterator[SpreadCell]:
    """Yield the cells of one base."""
    return (_cell(buy, sell, fees) for buy in legs for sell in legs if buy.top.exchange != sell.top.exchange)


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
