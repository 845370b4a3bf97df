"""Two runs side by side, a backtest and another or the session: which trades both have, and what each made. Pure.

Times in microseconds UTC, money in the run's settlement currency.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from market.accounting.equity_curve import EquityPoint, thinned
from market.money import ZERO, total
from market.time_units import MICROSECONDS

SAME_WITHIN = MICROSECONDS
"""Two trades of one route that were detected so close together are the same one: with another latency or limit a run
may take a later sighting of an opportunity. As long as an opportunity lives by default."""
EQUITY_SPANS = 200
"""Of each the lowest, highest and last sum are points of a chart."""
EIGHT_DIGITS = Decimal("0.00000001")
Route = tuple[str, str, str]
"""Base, bought on, sold on."""


@dataclass(frozen=True, slots=True)
class RunTrade:
    """One arbitrage with at least one fill; `net` and `fees` None before it ended, or if they are not known."""

    trade_id: str
    event_time: int
    base: str
    bought_on: str
    """Exchange and symbol."""
    sold_on: str
    amount: Decimal
    state: str
    net: Decimal | None
    fees: Decimal | None
    ended_at: int | None

    @property
    def route(self) -> Route:
        return self.base, self.bought_on, self.sold_on


@dataclass(frozen=True, slots=True)
class MatchedTrades:
    """Each trade of each run once, by time: in a pair (of the first run, of the second), or in one run alone."""

    both: tuple[tuple[RunTrade, RunTrade], ...]
    only_first: tuple[RunTrade, ...]
    only_second: tuple[RunTrade, ...]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What some trades of a run made. `fees`: None if those of one are not known. `mean`, `best`, `worst`: None without
    an ended one. `drawdown`: the largest fall from an earlier high, at least 0."""

    trades: int
    net: Decimal
    fees: Decimal | None
    won: int
    lost: int
    mean: Decimal | None
    best: Decimal | None
    worst: Decimal | None
    drawdown: Decimal


def matched(first: Iterable[RunTrade], second: Iterable[RunTrade], within: int = SAME_WITHIN) -> MatchedTrades:
    """Return which trades both runs have: of one route and one moment, else the next of one route that is no further
    away than `within`."""
    both: list[tuple[RunTrade, RunTrade]] = []
    alone: tuple[list[RunTrade], list[RunTrade]] = [], []
    ours, theirs = _by_route(first), _by_route(second)
    for route in dict.fromkeys((*ours, *theirs)):
        left = ours.get(route, []), theirs.get(route, [])
        for distance in (0, within):
            pairs, left = _paired(*left, distance)
            both += pairs
        alone[0].extend(left[0])
        alone[1].extend(left[1])
    both.sort(key=lambda pair: _order(pair[0]))
    return MatchedTrades(tuple(both), *(tuple(sorted(trades, key=_order)) for trades in alone))


def figures_of(trades: Sequence[RunTrade]) -> RunFigures:
    """Return what they made."""
    ended = _ended(trades)
    nets = [one.net for one in ended if one.net is not None]
    fees = [one.fees for one in ended]
    net = total(nets)
    return RunFigures(
        trades=len(trades),
        net=net,
        fees=None if None in fees else total(one for one in fees if one is not None),
        won=sum(one > 0 for one in nets),
        lost=sum(one < 0 for one in nets),
        mean=(net / len(nets)).quantize(EIGHT_DIGITS) if nets else None,
        best=max(nets, default=None),
        worst=min(nets, default=None),
        drawdown=_drawdown(nets),
    )


def equity_points(trades: Iterable[RunTrade]) -> tuple[EquityPoint, ...]:
    """Return what they made so far, after each end; of many of them the peaks and falls."""
    ended = _ended(trades)
    sums = accumulate(one.net for one in ended if one.net is not None)
    return thinned(zip(map(_end, ended), sums, strict=True), EQUITY_SPANS)


def differing_texts(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return name → both values if they differ, by name; None: one has no such entry."""
    pairs = {name: (first.get(name), second.get(name)) for name in sorted(first.keys() | second.keys())}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _ended(trades: Iterable[RunTrade]) -> list[RunTrade]:
    """Return those with a result, in the order of their ends."""
    return sorted((one for one in trades if one.net is not None), key=lambda one: (_end(one), _order(one)))


def _end(trade: RunTrade) -> int:
    return trade.event_time if trade.ended_at is None else trade.ended_at


def _order(trade: RunTrade) -> tuple[int, str]:
    return trade.event_time, trade.trade_id


def _by_route(trades: Iterable[RunTrade]) -> dict[Route, list[RunTrade]]:
    """Return them by time."""
    found: dict[Route, list[RunTrade]] = defaultdict(list)
    for trade in sorted(trades, key=_order):
        found[trade.route].append(trade)
    return found


def _paired(
    first: Sequence[RunTrade], second: Sequence[RunTrade], within: int
) -> tuple[list[tuple[RunTrade, RunTrade]], tuple[list[RunTrade], list[RunTrade]]]:
    """Return pairs in the order of time that are no further apart, and what is left of each."""
    pairs: list[tuple[RunTrade, RunTrade]] = []
    left: tuple[list[RunTrade], list[RunTrade]] = [], []
    mine = other = 0
    while mine < len(first) and other < len(second):
        distance = first[mine].event_time - second[other].event_time
        if abs(distance) <= within:
            pairs.append((first[mine], second[other]))
            mine, other = mine + 1, other + 1
        elif distance < 0:
            left[0].append(first[mine])
            mine += 1
        else:
            left[1].append(second[other])
            other += 1
    left[0].extend(first[mine:])
    left[1].extend(second[other:])
    return pairs, left


def _drawdown(nets: Iterable[Decimal]) -> Decimal:
    equity, highest, deepest = ZERO, ZERO, ZERO
    for net in nets:
        equity += net
        highest = max(highest, equity)
        deepest = max(deepest, highest - equity)
    return deepest
