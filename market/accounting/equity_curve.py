"""The equity curve of a session: realised P&L summed in the order in which arbitrages ended; exact, with few points."""

from collections import deque
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from market.money import ZERO, BoundedDecimal
from market.trade.arbitrages import ArbitrageOutcome, ArbitrageState, outcome_of

MAX_SPANS = 400
POINTS_A_SPAN = 3
MAX_POINTS = MAX_SPANS * POINTS_A_SPAN
MAX_MARKS = 200

TRADED_STATES: tuple[ArbitrageState, ...] = ("closed", "unwound", "residual")
"""Ended with anything bought or sold: what wins and losses are counted of."""
MARKED_OUTCOMES: tuple[ArbitrageOutcome, ...] = ("closed_by_third_order", "unwound", "residual")


@dataclass(frozen=True, slots=True)
class Ending:
    """One arbitrage that ended `at` (microseconds UTC) with `net`."""

    at: int
    arbitrage_id: str
    state: ArbitrageState
    net: Decimal
    has_third_order: bool = False
    """Whether a third order completed, reversed or flattened a leg."""

    @property
    def outcome(self) -> ArbitrageOutcome:
        return outcome_of(self.state, self.has_third_order)


@dataclass(frozen=True, slots=True)
class EquitySum:
    """Endings of which only the sum is known; `last_at`: of the last one. `results`: wins, losses, even ones;
    `largest`: win, loss."""

    last_at: int
    endings: int
    net: Decimal
    results: tuple[int, int, int]
    largest: tuple[Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class EquityPoint:
    """The sum after the `number`th ending."""

    at: int
    number: int
    net: BoundedDecimal


@dataclass(frozen=True, slots=True)
class EquityMark:
    """An arbitrage that did not simply close, and the sum including it."""

    ending: Ending
    net: Decimal


@dataclass(frozen=True, slots=True)
class EquityDrawdown:
    """A drawdown of the sum from its previous high; `start` None if that was the opening."""

    depth: Decimal = ZERO
    start: int | None = None
    end: int | None = None
    highest: Decimal = ZERO
    """The sum at the previous high."""


@dataclass(frozen=True, slots=True)
class Equity:
    """All but `points` and `marks` is exact, however many endings there were.

    `points`: at most MAX_POINTS; of each of at most MAX_SPANS equal spans of time the lowest, the highest and the
    last, so that no peak and no fall is lost. `marks`: the newest MAX_MARKS that a third order closed,
    and unwound and residual ones.
    """

    points: tuple[EquityPoint, ...] = ()
    marks: tuple[EquityMark, ...] = ()
    endings: int = 0
    net: Decimal = ZERO
    wins: int = 0
    losses: int = 0
    even: int = 0
    largest_win: Decimal = ZERO
    largest_loss: Decimal = ZERO
    """The maximum drawdown, at most 0."""
    deepest: EquityDrawdown = EquityDrawdown()
    current: EquityDrawdown = EquityDrawdown()
    """The current drawdown."""

    @property
    def win_share(self) -> float | None:
        """Share of winning arbitrages; None before the first."""
        traded = self.wins + self.losses + self.even
        return self.wins / traded if traded else None


@dataclass(frozen=True, slots=True)
class _Span:
    lowest: EquityPoint
    highest: EquityPoint
    last: EquityPoint

    def with_next(self, other: "_Span") -> "_Span":
        return _Span(
            lowest=other.lowest if other.lowest.net < self.lowest.net else self.lowest,
            highest=other.highest if other.highest.net > self.highest.net else self.highest,
            last=other.last,
        )


class SampledLine:
    """Any number of points in, at most `POINTS_A_SPAN` of each of at most `max_spans` equal spans of time out."""

    def __init__(self, max_spans: int = MAX_SPANS) -> None:
        self._most = max_spans
        self._width = 1
        self._spans: dict[int, _Span] = {}
        self._number = 0

    def add(self, at: int, net: Decimal) -> None:
        """`at` never before the one of the call before."""
        self._number += 1
        point = EquityPoint(at, self._number, net)
        self._put(at // self._width, _Span(point, point, point))
        while len(self._spans) > self._most:
            self._widen()

    def points(self) -> tuple[EquityPoint, ...]:
        """In the order in which they came."""
        kept = {
            point.number: point for span in self._spans.values() for point in (span.lowest, span.highest, span.last)
        }
        return tuple(kept[number] for number in sorted(kept))

    def copy(self) -> Self:
        other = type(self)(self._most)
        other._width, other._spans, other._number = self._width, dict(self._spans), self._number
        return other

    def _put(self, place: int, span: _Span) -> None:
        known = self._spans.get(place)
        self._spans[place] = span if known is None else known.with_next(span)

    def _widen(self) -> None:
        spans, self._spans, self._width = self._spans, {}, self._width * 2
        for place, span in spans.items():
            self._put(place // 2, span)


@dataclass(slots=True)
class Drawdowns:
    """Follows a sum that begins at 0."""

    highest: Decimal = ZERO
    since: int | None = None
    deepest: EquityDrawdown = EquityDrawdown()

    def add(self, at: int, net: Decimal) -> None:
        if net >= self.highest:
            self.highest, self.since = net, at
        elif self.highest - net > self.deepest.depth:
            self.deepest = self.current(at, net)

    def current(self, at: int | None, net: Decimal) -> EquityDrawdown:
        if net >= self.highest:
            return EquityDrawdown()
        return EquityDrawdown(self.highest - net, self.since, at, self.highest)


class EquityCurve:
    """Follows the endings in their order, in bounded memory."""

    def __init__(self) -> None:
        self._line = SampledLine()
        self._marks: deque[EquityMark] = deque(maxlen=MAX_MARKS)
        self._endings = 0
        self._net = ZERO
        self._results = (0, 0, 0)
        self._largest = (ZERO, ZERO)
        self._drawdowns = Drawdowns()
        self._last_at: int | None = None

    def add(self, ending: Ending) -> None:
        """`ending.at` never before the one of the call before."""
        self._endings += 1
        self._net += ending.net
        self._last_at = ending.at
        self._line.add(ending.at, self._net)
        if ending.outcome in MARKED_OUTCOMES:
            self._marks.append(EquityMark(ending, self._net))
        if ending.state in TRADED_STATES:
            self._count(ending.net)
        self._drawdowns.add(ending.at, self._net)

    def add_sum(self, known: EquitySum) -> None:
        """As one point, at the last of them; `known.last_at` never before the time of the call before."""
        self._endings += known.endings
        self._net += known.net
        self._last_at = known.last_at
        self._line.add(known.last_at, self._net)
        wins, losses, even = (a + b for a, b in zip(self._results, known.results, strict=True))
        self._results = (wins, losses, even)
        self._largest = (max(self._largest[0], known.largest[0]), min(self._largest[1], known.largest[1]))
        self._drawdowns.add(known.last_at, self._net)

    def equity(self) -> Equity:
        wins, losses, even = self._results
        return Equity(
            points=self._line.points(),
            marks=tuple(self._marks),
            endings=self._endings,
            net=self._net,
            wins=wins,
            losses=losses,
            even=even,
            largest_win=self._largest[0],
            largest_loss=self._largest[1],
            deepest=self._drawdowns.deepest,
            current=self._drawdowns.current(self._last_at, self._net),
        )

    def copy(self) -> Self:
        other = type(self)()
        other._line, other._marks = self._line.copy(), self._marks.copy()
        other._endings, other._net, other._results = self._endings, self._net, self._results
        other._largest, other._last_at = self._largest, self._last_at
        other._drawdowns = copy(self._drawdowns)
        return other

    def _count(self, net: Decimal) -> None:
        wins, losses, even = self._results
        self._results = (wins + (net > 0), losses + (net < 0), even + (net == 0))
        win, loss = self._largest
        self._largest = (max(win, net), min(loss, net))


def drawdown_of(points: Iterable[tuple[int, Decimal]]) -> EquityDrawdown:
    """Return the maximum drawdown of `points` as (microseconds, sum so far), in order."""
    drawdowns = Drawdowns()
    for at, net in points:
        drawdowns.add(at, net)
    return drawdowns.deepest


def thinned(points: Iterable[tuple[int, Decimal]], max_spans: int = MAX_SPANS) -> tuple[EquityPoint, ...]:
    """`points` as (microseconds, sum so far), in order."""
    line = SampledLine(max_spans)
    for at, net in points:
        line.add(at, net)
    return line.points()
