"""An opportunity at the prices that simulated exchanges have just now, whether it pays or not."""

from exchanges.simulated_markets import paper_markets
from market.instruments.markets import Market, fx_route
from market.instruments.orders import Side
from market.money import Amount, Price
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from market.prices.quotes import Level
from runtime.clock import wall_now
from tests.exchanges.served import Served

MARKETS = paper_markets()
TRADED = {market.exchange: market for market in MARKETS if not market.is_fx}
LIFETIME = 20_000_000
"""Microseconds."""


def served_opportunity(world: Served, identity: str, buy: str, sell: str) -> Opportunity:
    """Return an opportunity between the two exchanges of these names, seen now."""
    now = wall_now()
    legs = _leg(world, TRADED[buy], "sell", now), _leg(world, TRADED[sell], "buy", now)
    rates = [_rate(world, leg.quote_currency) for leg in legs]
    return Opportunity(
        opportunity_id=identity,
        base="BTC",
        buy=legs[0],
        sell=legs[1],
        fx=tuple(rate for rate in rates if rate is not None),
        settings_version=1,
        gross_bps=0.0,
        fee_bps=0.0,
        net_bps=0.0,
        expected_profit=0.0,
        currency="USD",
        event_time=now,
        detected_time=now,
        expires_at=now + LIFETIME,
        offset=1,
    )


def _leg(world: Served, market: Market, taken_from: Side, now: int) -> OpportunityLeg:
    exchange = world.world.gateways[market.exchange].exchange
    listing = exchange.listings[market.symbol]
    levels = tuple(
        Level(Price(listing.price(ticks)), Amount(listing.amount(lots)))
        for ticks, lots in exchange.books[market.symbol].levels(taken_from, 10)
    )
    quote_id = f"{market.exchange}:{market.symbol}:{now}"
    best = levels[0]
    return OpportunityLeg(
        market.exchange, market.symbol, market.quote_currency, best.price, best.amount, levels, quote_id, 0
    )


def _rate(world: Served, currency: str) -> FxRate | None:
    route = fx_route(currency, "USD", MARKETS)
    if route is None:
        return None
    market = next(market for market in MARKETS if market.symbol == route.symbol)
    bid, ask = (world.best(market, "buy")[0], world.best(market, "sell")[0])
    return FxRate(currency, route.symbol, route.inverted, bid, ask, route.symbol)
