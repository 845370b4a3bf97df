"""Which exchanges are compared with which, fixed when a query is built: the markets of a session for Spark."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, TypeVar

from market.instruments.markets import FxRoute, Market, crosses_of, fx_route

if TYPE_CHECKING:
    # a worker of a backtest has none, and is spared its import
    from session.session import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot of the newest quote of one market of each base, so that BTC/USD and ETH/USD of one exchange share a slot.

    `symbols` are those markets as (base, symbol). A symbol need not begin with its base: MATIC/USDT may be a market of
    POL.
    `fx` is the position of the route that converts its prices to the settlement currency; None: no conversion.
    """

    exchange: str
    quote_currency: str
    fx: int | None
    symbols: tuple[tuple[str, str], ...]


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

    def slot_numbers(self, base: str) -> dict[tuple[str, str], int]:
        """(exchange, symbol) → the number of its slot, for each market of `base`."""
        return {
            (slot.exchange, symbol): number
            for number, slot in enumerate(self.slots)
            for own, symbol in slot.symbols
            if own == base
        }

    def pairs_with(self, slot: int) -> tuple[tuple[int, int], ...]:
        return tuple(pair for pair in self.pairs if slot in pair)


def layout_of(session: "Session") -> Layout:
    """Raise LookupError if a traded market's currency cannot be converted."""
    return layout(session.markets, session.settlement_currency)


def layout(markets: tuple[Market, ...], settlement: str) -> Layout:
    """Raise LookupError if a traded market's currency cannot be converted."""
    exchanges = _in_order(market.exchange for market in markets)
    crosses = crosses_of(markets, settlement)
    traded = [market for market in markets if not market.is_fx and market not in crosses]
    needed = {market.quote_currency: fx_route(market.quote_currency, settlement, markets) for market in traded}
    routes = tuple(route for route in needed.values() if route is not None)
    position = {route.currency: number for number, route in enumerate(routes)}
    in_order = sorted(traded, key=lambda market: exchanges.index(market.exchange))
    slots = tuple(
        Slot(
            exchange=shared[0].exchange,
            quote_currency=shared[0].quote_currency,
            fx=position.get(shared[0].quote_currency),
            symbols=tuple((market.base, market.symbol) for market in shared),
        )
        for shared in _shared_slots(in_order)
    )
    return Layout(slots=slots, routes=routes, settlement=settlement)


def _shared_slots(markets: Sequence[Market]) -> Iterable[list[Market]]:
    """Return the markets of each slot: of one exchange, with one rest of the symbol behind its first code, of different
    bases.

    So two markets of one base have two slots, even if they differ in that code alone: MATIC/USDT and POL/USDT.
    """
    groups: dict[tuple[str, str, str, int], list[Market]] = {}
    before = Counter[tuple[str, str, str, str]]()
    for market in dict.fromkeys(markets):
        kind = market.exchange, market.symbol.partition("/")[2], market.quote_currency
        groups.setdefault((*kind, before[*kind, market.base]), []).append(market)
        before[*kind, market.base] += 1
    return groups.values()


def _in_order(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
