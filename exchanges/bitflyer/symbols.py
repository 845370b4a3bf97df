"""bitFlyer's own names of a market, which orders and books are asked for by."""

from exchanges.ports.symbols import codes_at
from market.instruments.markets import Market


def bitflyer_product(market: Market) -> str:
    return "_".join(codes_at("bitflyer", market))
