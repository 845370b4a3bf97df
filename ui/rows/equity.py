"""Makes the row that REST and the page show from the equity of a session."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from market.accounting.equity_curve import MAX_POINTS, MAX_SPANS, Equity, EquityPoint
from ui.rows.attribute import row_from

THINNING = (
    f"All figures are exact. Of the points at most {MAX_POINTS} are shown: of each of at most {MAX_SPANS} equal "
    "spans of time the lowest, the highest and the last."
)


class DrawdownRow(TypedDict):
    """Drawdown: fall below the highest value before; `start` is null if that was the opening, 0."""

    depth: str
    start: int | None
    end: int | None


class EquityPointRow(TypedDict):
    """The sum after the `number`th arbitrage that ended."""

    at: int
    number: int
    net: str


class EquityMarkRow(TypedDict):
    """An arbitrage that did not simply close: its realised P&L, and the sum including it. `outcome` tells those that a
    third order closed from its `state`."""

    at: int
    arbitrage_id: str
    state: str
    outcome: str
    net: str
    equity: str


class EquityRow(TypedDict):
    """Net of all arbitrages by their end, summed; the newest `marks` are those that did not simply close.

    `win_rate`: share of those traded whose net was above 0; null before the first.
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
    return row_from(
        EquityRow,
        equity,
        currency=currency,
        ended=equity.endings,
        win_rate=equity.win_share,
        drawdown=row_from(DrawdownRow, equity.deepest),
        current_drawdown=row_from(DrawdownRow, equity.current),
        points=equity_point_rows(equity.points),
        marks=[row_from(EquityMarkRow, mark.ending, equity=mark.net) for mark in equity.marks],
        thinning=THINNING,
    )


def equity_point_rows(points: Iterable[EquityPoint]) -> list[EquityPointRow]:
    return [row_from(EquityPointRow, one) for one in points]
