"""bitFlyer's own names of a market, which orders and books are asked for by."""

from market.instruments.markets import Market, codes_in


def bitflyer_product(market: Market) -> str:
    return "_".join(codes_in(market.symbol))
