"""From the equity of a session to the row that REST and the page show."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from market.accounting.equity_curve import MAX_POINTS, MAX_SPANS, Equity, EquityDrawdown, EquityPoint
from market.money import text_of

THINNING = (
    f"All figures are exact. Of the points at most {MAX_POINTS} are shown: of each of at most {MAX_SPANS} equal "
    "spans of time the lowest, the highest and the last."
)


class DrawdownRow(TypedDict):
    """Drawdown: fall below the highest value before; `start` null where that was the opening, 0."""

    depth: str
    start: int | None
    end: int | None


class EquityPointRow(TypedDict):
    """The sum after the `number`th arbitrage that ended."""

    at: int
    number: int
    net: str


class EquityMarkRow(TypedDict):
    """An arbitrage that was unwound or residual: its realised P&L, and the sum including it."""

    at: int
    arbitrage_id: str
    state: str
    net: str
    equity: str


class EquityRow(TypedDict):
    """Net of all arbitrages by their end, summed; the newest `marks` are those that did not simply close.

    `win_rate`: share of those that traded with a net above 0; null before the first.
    """

    currency: str
    net: str
    ended: int
    wins: int
    losses: int
    even: int
    win_rate: float | None
    largest_win: str
    largest_loss: str
    drawdown: DrawdownRow
    current_drawdown: DrawdownRow
    points: list[EquityPointRow]
    marks: list[EquityMarkRow]
    thinning: str


def equity_row(equity: Equity, currency: str) -> EquityRow:
    return EquityRow(
        currency=currency,
        net=text_of(equity.net),
        ended=equity.endings,
        wins=equity.wins,
        losses=equity.losses,
        even=equity.even,
        win_rate=equity.win_share,
        largest_win=text_of(equity.largest_win),
        largest_loss=text_of(equity.largest_loss),
        drawdown=_fall_row(equity.deepest),
        current_drawdown=_fall_row(equity.current),
        points=equity_point_rows(equity.points),
        marks=[
            EquityMarkRow(
                at=mark.ending.at,
                arbitrage_id=mark.ending.arbitrage_id,
                state=mark.ending.state,
                net=text_of(mark.ending.net),
                equity=text_of(mark.net),
            )
            for mark in equity.marks
        ],
        thinning=THINNING,
    )


def equity_point_rows(points: Iterable[EquityPoint]) -> list[EquityPointRow]:
    return [EquityPointRow(at=one.at, number=one.number, net=text_of(one.net)) for one in points]


def _fall_row(fall: EquityDrawdown) -> DrawdownRow:
    return DrawdownRow(depth=text_of(fall.depth), start=fall.start, end=fall.end)
