"""OKX's own names of a market, which orders and books are asked for by."""

from market.instruments.markets import Market, codes_in


def okx_instrument(market: Market) -> str:
    return "-".join(codes_in(market.symbol))
