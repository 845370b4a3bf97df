"""Which exchanges are compared with which, fixed when a query is built: the markets of a session for Spark."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import TypeVar

from market.instruments.markets import FxRoute, Market, fx_route
from session.session import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot of the newest quote of one market of each base.

    `suffix` is the symbol after its base, so that BTC/USD and ETH/USD of one exchange share a slot.
    `fx` is the position of the route that converts its prices to the settlement currency; None: no conversion.
    """

    exchange: str
    suffix: str
    quote_currency: str
    fx: int | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots in the session's order of exchanges, and the FX routes that they need."""

    slots: tuple[Slot, ...]
    routes: tuple[FxRoute, ...]
    settlement: str

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(buy slot, sell slot) of different exchanges, in the order of one row's opportunities."""
        numbers = range(len(self.slots))
        return tuple(
            (buy, sell)
            for buy, sell in permutations(numbers, 2)
            if self.slots[buy].exchange != self.slots[sell].exchange
        )

    def pairs_with(self, slot: int) -> tuple[tuple[int, int], ...]:
        return tuple(pair for pair in self.pairs if slot in pair)


def layout_of(session: Session) -> Layout:
    """Raises LookupError where a traded market's currency cannot be converted."""
    return layout(session.markets, session.settlement_currency)


def layout(markets: tuple[Market, ...], settlement: str) -> Layout:
    """Raises LookupError where a traded market's currency cannot be converted."""
    exchanges = _in_order(market.exchange for market in markets)
    traded = [market for market in markets if not market.is_fx]
    needed = {market.quote_currency: fx_route(market.quote_currency, settlement, markets) for market in traded}
    routes = tuple(route for route in needed.values() if route is not None)
    position = {route.currency: number for number, route in enumerate(routes)}
    slots = _in_order(
        Slot(
            exchange=market.exchange,
            suffix=market.symbol.removeprefix(market.base),
            quote_currency=market.quote_currency,
            fx=position.get(market.quote_currency),
        )
        for market in sorted(traded, key=lambda market: exchanges.index(market.exchange))
    )
    return Layout(slots=slots, routes=routes, settlement=settlement)


def _in_order(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
