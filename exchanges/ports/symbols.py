"""The exchanges' own codes of a market, made of the codes in its symbol, never of the assets that it is compared as."""

from collections.abc import Mapping

from market.instruments.markets import Market, codes_in


def codes_at(symbol_codes: Mapping[str, str], market: Market) -> tuple[str, str]:
    """Return the exchange's own codes of base and quote. `symbol_codes`: those that differ from ccxt's."""
    base, quote = codes_in(market.symbol)
    return symbol_codes.get(base, base), symbol_codes.get(quote, quote)
