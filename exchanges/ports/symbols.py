"""The exchanges' own codes of a market, made of the codes in its symbol, never of the assets that it is compared as."""

from market.instruments.assets import own_code
from market.instruments.markets import Market, codes_in


def codes_at(ccxt_id: str, market: Market) -> tuple[str, str]:
    """Return the exchange's own codes of base and quote. `ccxt_id` need not be the session's name of it."""
    base, quote = codes_in(market.symbol)
    return own_code(ccxt_id, base), own_code(ccxt_id, quote)
