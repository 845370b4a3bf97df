"""The worth of an account of Kraken in one asset, as TradeBalance says it."""

from decimal import Decimal

from exchanges.kraken.symbols import kraken_asset
from market.money import ZERO
from simulators.matching.simulated_exchange import SimulatedExchange

_DOLLARS = "USD"


def equity(exchange: SimulatedExchange, asset: str) -> Decimal:
    """Return the worth of all balances at the best bids; `asset` by Kraken's id. What has no market in dollars counts
    nothing."""
    balances = exchange.customer.balances
    total = sum((amount * _in_dollars(exchange, name) for name, amount in balances.items() if amount), ZERO)
    by_id = {kraken_asset(name): name for name in {*balances, _DOLLARS}}
    worth = _in_dollars(exchange, by_id.get(asset, ""))
    return total / worth if worth else ZERO


def _in_dollars(exchange: SimulatedExchange, currency: str) -> Decimal:
    if currency == _DOLLARS:
        return Decimal(1)
    if (price := _bid(exchange, f"{currency}/{_DOLLARS}")) is not None:
        return price
    inverse = _bid(exchange, f"{_DOLLARS}/{currency}")
    return ZERO if not inverse else 1 / inverse


def _bid(exchange: SimulatedExchange, symbol: str) -> Decimal | None:
    """Return the best bid; None if there is no such market, or nothing is bid."""
    if symbol not in exchange.listings:
        return None
    ticks = exchange.books[symbol].best("buy")
    return None if ticks is None else exchange.listings[symbol].price(ticks)
