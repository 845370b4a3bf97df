"""How long each exchange had next to nothing of what it held at the opening: what can then not be sold, or not bought.
Pure: it follows from the opening balances, the fills and the transfers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from backtest.parameters import Balances
from backtest.result.trading_outcome import TradingOutcome
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.instruments.markets import Market
from market.instruments.orders import Fill, changes_of
from market.money import ZERO
from market.trade.unwinding import Markets, markets_by_symbol

OUT_BELOW = Decimal("0.01")
"""Less than this share of the opening is next to nothing."""

Move = tuple[int, str, str, Decimal]
"""When, microseconds UTC; exchange, currency, by how much."""


@dataclass(frozen=True, slots=True)
class Outage:
    """One currency of one exchange: for how long it was out in all, microseconds, and how often that began."""

    exchange: str
    currency: str
    duration: int
    times: int


def moves_of(fills: Iterable[Fill], transfers: Iterable[MoneyTransfer], markets: Markets) -> list[Move]:
    """Return all that moved balances, in the order of time."""
    moves: list[Move] = []
    for fill in fills:
        market = markets[fill.exchange, fill.symbol]
        for currency, amount in changes_of(fill, market.base, market.quote_currency):
            moves.append((fill.filled_at, fill.exchange, currency, amount))
    for one in transfers:
        if one.left is not None:
            moves.append((one.times["sent"], one.source, one.currency, -one.left))
        if one.arrived is not None:
            moves.append((one.times["arrived"], one.destination, one.currency, one.arrived))
    return sorted(moves, key=lambda move: move[0])


def outages_of(trading: TradingOutcome, markets: tuple[Market, ...], end: int) -> tuple[Outage, ...]:
    """Return those that were out at all, by exchange and currency, up to `end`, microseconds."""
    moves = moves_of(trading.fills, trading.transfers, markets_by_symbol(markets))
    return tuple(_outages(trading.before, moves, end))


def _outages(before: Balances, moves: Iterable[Move], end: int) -> Iterator[Outage]:
    held = {(name, currency): amount for name, row in before.items() for currency, amount in row.items() if amount > 0}
    least = {place: amount * OUT_BELOW for place, amount in held.items()}
    since: dict[tuple[str, str], int] = {}
    durations: dict[tuple[str, str], int] = {}
    times: dict[tuple[str, str], int] = {}
    for time, exchange, currency, amount in moves:
        place = exchange, currency
        if place not in held or time >= end:
            continue
        held[place] += amount
        if held[place] < least[place] and place not in since:
            since[place], times[place] = time, times.get(place, 0) + 1
        elif held[place] >= least[place] and place in since:
            durations[place] = durations.get(place, 0) + time - since.pop(place)
    for place, time in since.items():
        durations[place] = durations.get(place, 0) + end - time
    for place in sorted(durations):
        yield Outage(*place, durations[place], times[place])


def fees_of(transfers: Iterable[MoneyTransfer]) -> Mapping[str, Decimal]:
    """Return currency → what was paid for transfers of it, in itself."""
    fees: dict[str, Decimal] = {}
    for one in transfers:
        if one.lost:
            fees[one.currency] = fees.get(one.currency, ZERO) + one.lost
    return fees
