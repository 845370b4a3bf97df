"""The expected opportunities of a recording, by a plain loop over its quotes, written independently of the job."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from market.decide.settings import Settings
from market.instruments.markets import Market, fx_route
from market.prices.quotes import FeedMark, Quote


@dataclass(frozen=True, slots=True)
class Seen:
    """One opportunity: its id, the pair and its bps."""

    opportunity_id: str
    buy_exchange: str
    sell_exchange: str
    gross_bps: float
    net_bps: float
    event_time: int


class PlainLoop:
    """The latest quotes of one base and the opportunities they make. Bars are withdrawn when others replace them."""

    def __init__(self, markets: Sequence[Market], settlement: str, settings: Settings) -> None:
        self._traded = [market for market in markets if not market.is_fx]
        self._routes = {market: fx_route(market.quote_currency, settlement, tuple(markets)) for market in self._traded}
        self._settings = settings
        self._latest: dict[tuple[str, str], Quote] = {}
        self._rates: dict[str, Quote] = {}

    def take(self, row: Quote | FeedMark) -> Iterator[Seen]:
        """Return the opportunities at one row, in the order of (buy, sell) market."""
        if isinstance(row, FeedMark):
            del self._latest[row.exchange, row.symbol]
            return
        if row.kind == "fx":
            self._rates[row.symbol] = row
        else:
            self._latest[row.exchange, row.symbol] = row
        for buy_market, sell_market in permutations(self._traded, 2):
            involved = {(market.exchange, market.symbol) for market in (buy_market, sell_market)}
            if row.kind == "fx" or (row.exchange, row.symbol) in involved:
                seen = self._opportunity(buy_market, sell_market, row.received_time)
                if seen is not None and seen.net_bps >= self._settings.emit_net_bps:
                    yield seen

    def _opportunity(self, buy_market: Market, sell_market: Market, now: int) -> Seen | None:
        buy, sell = (self._latest.get((market.exchange, market.symbol)) for market in (buy_market, sell_market))
        rates = [self._rate(market) for market in (buy_market, sell_market)]
        lacking = [
            route
            for market, rate in zip((buy_market, sell_market), rates, strict=True)
            if (route := self._routes[market]) is not None and rate is None
        ]
        if buy is None or sell is None or lacking:
            return None
        used = [quote for quote in (buy, sell, *rates) if quote is not None]
        if any(now - quote.received_time > self._settings.max_quote_age_ms * 1_000 for quote in used):
            return None
        buy_price = self._in_settlement(float(buy.ask), buy_market, buys=True)
        sell_price = self._in_settlement(float(sell.bid), sell_market, buys=False)
        gross_bps = (sell_price - buy_price) * 10000.0 / buy_price
        fees = self._settings.taker_fees
        buy_fee, sell_fee = float(fees[buy.exchange]), float(fees[sell.exchange])
        fee_bps = (buy_price * buy_fee + sell_price * sell_fee) * 10000.0 / buy_price
        rate_ids = "|".join(rate.quote_id for rate in rates if rate is not None)
        identity = hashlib.sha256(f"{buy.quote_id}|{sell.quote_id}|{rate_ids}".encode()).hexdigest()[:32]
        return Seen(identity, buy.exchange, sell.exchange, gross_bps, gross_bps - fee_bps, now)

    def _rate(self, market: Market) -> Quote | None:
        route = self._routes[market]
        return None if route is None else self._rates.get(route.symbol)

    def _in_settlement(self, price: float, market: Market, buys: bool) -> float:
        route, rate = self._routes[market], self._rate(market)
        if route is None or rate is None:
            return price
        paid_ask = buys != route.inverted
        side = float(rate.ask) if paid_ask else float(rate.bid)
        return price / side if route.inverted else price * side
