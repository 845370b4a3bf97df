"""Charts of the page Trades & P&L, as options of ECharts. Pure."""

from collections.abc import Sequence
from datetime import UTC, tzinfo
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

from market.accounting.equity_curve import Equity
from market.accounting.profit_groups import ProfitLine
from market.trade.arbitrages import PROFIT_PARTS, ProfitAndLoss
from ui.page_parts.chart_axes import axis_over
from wording.labels import PROFIT_PARTS as PART_NAMES
from wording.labels import state_name
from wording.number_format import money

Chart = dict[str, Any]
"""Options of ECharts: any JSON."""

GOOD = "#2fae70"
BAD = "#e2565f"
LINE = "#4b9bff"
MARK_COLORS = {"closed_by_third_order": "#c792ea", "unwound": "#f0954a", "residual": "#e2565f"}
MARK_SHAPES = {"closed_by_third_order": "circle", "unwound": "diamond", "residual": "triangle"}
"""Colour is never the only sign."""
MAX_BARS = 15
MILLISECOND = 1_000
MIN_FALL = -1.0
"""Minimum scale of the drawdown, used if there was none."""
MIN_MARGIN = 40


def equity_chart(equity: Equity, currency: str, zone: tzinfo, began_at: int | None = None) -> Chart:
    """Return the chart: equity with what did not simply close marked, and its drawdown. `began_at`: when the session
    did, microseconds, from where it rises or falls; it is left out if older endings are shown."""
    line = [[point.at / MILLISECOND, float(point.net)] for point in equity.points]
    if began_at is not None and all(began_at <= point.at for point in equity.points[:1]):
        line.insert(0, [began_at / MILLISECOND, 0.0])
    tops = accumulate((max(0.0, net) for _, net in line), max)
    falls = [[at, min(0.0, net - top)] for (at, net), top in zip(line, tops, strict=True)]
    axis = {"type": "time", "axisLabel": {"hideOverlap": True}}
    values = [net for _, net in line] or [0.0]
    sums = axis_over(min(values), max(values), parts=4)
    depths = axis_over(min([MIN_FALL, *(fall for _, fall in falls)]), 0.0, parts=2)
    # the same for both charts, so that equal times stand one below the other
    margin = max(MIN_MARGIN, sums.label_width, depths.label_width) + 8
    return {
        "useUTC": zone is UTC,
        "animation": False,
        "legend": {"top": 0, "left": "left", "data": ["Equity", *map(state_name, MARK_COLORS), "Drawdown"]},
        "tooltip": {"trigger": "axis", "valueFormatter": "%,.2f"},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "grid": [
            {"left": margin, "right": 12, "top": 54, "height": "46%"},
            {"left": margin, "right": 12, "bottom": 28, "height": "20%"},
        ],
        "xAxis": [{**axis, "gridIndex": 0, "axisLabel": {"show": False}}, {**axis, "gridIndex": 1}],
        "yAxis": [
            {"type": "value", "gridIndex": 0, "name": currency, **sums.options()},
            {"type": "value", "gridIndex": 1, **depths.options()},
        ],
        "series": [
            _line("Equity", line, LINE, 0),
            *(_marks(equity, state, color) for state, color in MARK_COLORS.items()),
            _line("Drawdown", falls, BAD, 1),
        ],
    }


def split_chart(profit: ProfitAndLoss) -> Chart:
    """Return the P&L attribution as a waterfall from theoretical gross to net."""
    parts = [(PART_NAMES[name], getattr(profit, name)) for name in PROFIT_PARTS]
    ends = list(accumulate((part for _, part in parts[:-1]), initial=Decimal(0)))
    spans = [*pairwise(ends), (Decimal(0), profit.net)]
    # a candle is a box from one value to another, above or below zero: exactly a step of a waterfall
    boxes = [[float(value) for value in (start, end, min(start, end), max(start, end))] for start, end in spans]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 26, "bottom": 4, "containLabel": True},
        "xAxis": {
            "type": "category",
            "data": [name for name, _ in parts],
            "axisLabel": {"interval": 0, "hideOverlap": False, "rotate": 28, "fontSize": 11},
        },
        "yAxis": {"type": "value", "name": profit.currency, "splitNumber": 4},
        "series": [
            {
                "name": "Part",
                "type": "candlestick",
                "data": boxes,
                "itemStyle": {"color": GOOD, "color0": BAD, "borderColor": GOOD, "borderColor0": BAD},
                "barWidth": "58%",
            },
            {
                "type": "scatter",
                "silent": True,
                "symbolSize": 0.01,
                "data": [
                    _label(name, part, box[3], profit.currency) for (name, part), box in zip(parts, boxes, strict=True)
                ],
                "label": {"show": True, "position": "top", "fontSize": 11},
            },
        ],
    }


def lines_chart(lines: Sequence[ProfitLine], currency: str) -> Chart:
    """Return the net of each line, those with the largest first; at most MAX_BARS of them."""
    shown = sorted(lines, key=lambda line: -abs(line.profit.net))[:MAX_BARS][::-1]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 64, "top": 4, "bottom": 4, "containLabel": True},
        "xAxis": {"type": "value", "splitNumber": 4},
        "yAxis": {"type": "category", "data": [line.name for line in shown]},
        "series": [
            {
                "name": "Net",
                "type": "bar",
                "barMaxWidth": 22,
                "data": [_bar(line.profit.net, currency) for line in shown],
                "label": {"show": True, "position": "right", "fontSize": 11},
            }
        ],
    }


def _line(name: str, points: list[list[float]], color: str, axis: int) -> Chart:
    return {
        "name": name,
        "type": "line",
        "step": "end",
        "showSymbol": len(points) < 2,
        "data": points,
        "xAxisIndex": axis,
        "yAxisIndex": axis,
        "lineStyle": {"width": 1.6},
        "itemStyle": {"color": color},
        "areaStyle": {"opacity": 0.12},
    }


def _marks(equity: Equity, state: str, color: str) -> Chart:
    marks = [mark for mark in equity.marks if mark.ending.outcome == state]
    return {
        "name": state_name(state),
        "type": "scatter",
        "symbol": MARK_SHAPES[state],
        "symbolSize": 9,
        "itemStyle": {"color": color},
        "data": [[mark.ending.at / MILLISECOND, float(mark.net)] for mark in marks],
        "xAxisIndex": 0,
        "yAxisIndex": 0,
    }


def _label(name: str, part: Decimal, top: float, currency: str) -> Chart:
    return {"value": [name, top], "label": {"formatter": money(part, currency)}}


def _bar(net: Decimal, currency: str) -> Chart:
    return {
        "value": float(net),
        "itemStyle": {"color": GOOD if net >= 0 else BAD},
        "label": {"formatter": money(net, currency), "position": "right"},
    }


def bars_chart(bars: Sequence[tuple[str, Decimal]], currency: str) -> Chart:
    """Return the net of each named span, in their order."""
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 26, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis", "valueFormatter": "%,.2f"},
        "xAxis": {"type": "category", "data": [name for name, _ in bars]},
        "yAxis": {"type": "value", "name": currency, "splitNumber": 4},
        "series": [
            {
                "name": "Net",
                "type": "bar",
                "data": [{"value": float(net), "itemStyle": {"color": GOOD if net >= 0 else BAD}} for _, net in bars],
            }
        ],
    }
