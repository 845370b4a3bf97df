"""Charts of opportunities, as options of ECharts. Pure."""

from collections.abc import Sequence

from ui.panels.trades_charts import GOOD, Chart
from ui.rows.opportunity import BinRow, LifeBinRow
from ui.services.threshold_preview import CurvePointRow

SEEN = "#7d8fa6"
REJECTED = "#f0954a"
MARK = "#e2565f"
CHOSEN = "#4b9bff"
MIN_SHOWN = 0.8
"""The logarithmic axis begins there, so that a single one has a bar."""


def spread_chart(bars: Sequence[BinRow], threshold: float | None) -> Chart:
    """Return the chart: seen, rejected and taken opportunities by net bps; logarithmic, as thousands are seen for each
    one taken."""
    ends = (bars[0]["from_bps"], bars[-1]["to_bps"]) if bars else (0.0, 1.0)
    return {
        "animation": False,
        "legend": {"top": 0, "left": "left", "data": ["Seen", "Rejected", "Taken"]},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "grid": {"left": 8, "right": 16, "top": 54, "bottom": 22, "containLabel": True},
        "xAxis": [
            {
                "type": "category",
                "data": [_span(bar["from_bps"], bar["to_bps"]) for bar in bars],
                "name": "net bps",
                "nameLocation": "middle",
                "nameGap": 28,
                "axisLabel": {"hideOverlap": True, "fontSize": 11},
            },
            # the threshold lies between bars, and only an axis of numbers has a place for it
            {"type": "value", "show": False, "min": ends[0], "max": ends[1]},
        ],
        "yAxis": {"type": "log", "min": MIN_SHOWN, "splitNumber": 4, "axisLabel": {"formatter": "{value}"}},
        "series": [
            _bars("Seen", [bar["seen"] for bar in bars], SEEN),
            _bars("Rejected", [bar["rejected"] for bar in bars], REJECTED),
            _bars("Taken", [bar["taken"] for bar in bars], GOOD),
            _marks([] if threshold is None else [(threshold, "threshold", MARK)], axis=1, ends=ends),
        ],
    }


def life_chart(bars: Sequence[LifeBinRow]) -> Chart:
    """Return the chart: durations of episodes, each bar from its own time to the next one's."""
    return {
        "animation": False,
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "grid": {"left": 8, "right": 16, "top": 16, "bottom": 22, "containLabel": True},
        "xAxis": {
            "type": "category",
            "data": [_time(bar["from_ms"]) for bar in bars],
            "name": "minimum duration",
            "nameLocation": "middle",
            "nameGap": 28,
            "axisLabel": {"hideOverlap": True, "fontSize": 11},
        },
        "yAxis": {"type": "value", "minInterval": 1, "splitNumber": 4},
        "series": [
            {
                "name": "Episodes",
                "type": "bar",
                "barCategoryGap": "12%",
                "itemStyle": {"color": CHOSEN},
                "data": [bar["runs"] for bar in bars],
            }
        ],
    }


def preview_chart(points: Sequence[CurvePointRow], current: float | None, chosen: float) -> Chart:
    """Return the chart, by threshold: taken opportunities that pass, and rejected ones that would pass."""
    marks = [(chosen, "chosen", CHOSEN)]
    if current is not None and current != chosen:
        marks.append((current, "now", MARK))
    steps = [point["min_net_bps"] for point in points] + [chosen]
    ends = (min(steps), max(steps))
    return {
        "animation": False,
        "legend": {"top": 0, "left": "left", "data": ["Taken that pass", "Gained (upper bound)"]},
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 8, "right": 16, "top": 54, "bottom": 22, "containLabel": True},
        "xAxis": {
            "type": "value",
            "min": ends[0],
            "max": ends[1],
            "name": "threshold, net bps",
            "nameLocation": "middle",
            "nameGap": 28,
        },
        "yAxis": {"type": "value", "minInterval": 1, "splitNumber": 4},
        "series": [
            _steps("Taken that pass", [[point["min_net_bps"], point["kept"]] for point in points], GOOD),
            _steps("Gained (upper bound)", [[point["min_net_bps"], point["gained"]] for point in points], REJECTED),
            _marks(marks, axis=0, ends=ends),
        ],
    }


def _bars(name: str, counts: Sequence[int], color: str) -> Chart:
    shown = [count or None for count in counts]
    return {"name": name, "type": "bar", "barGap": "0%", "itemStyle": {"color": color}, "data": shown}


def _steps(name: str, points: list[list[float]], color: str) -> Chart:
    return {
        "name": name,
        "type": "line",
        "step": "start",
        "showSymbol": len(points) < 2,
        "data": points,
        "lineStyle": {"width": 1.6},
        "itemStyle": {"color": color},
        "areaStyle": {"opacity": 0.12},
    }


def _marks(marks: Sequence[tuple[float, str, str]], axis: int, ends: tuple[float, float]) -> Chart:
    """Return upright lines; those outside of the axis are left out."""
    return {
        "type": "line",
        "xAxisIndex": axis,
        "data": [],
        "silent": True,
        "markLine": {
            "symbol": "none",
            "silent": True,
            "data": [
                {
                    "xAxis": at,
                    "lineStyle": {"color": color, "width": 1.6, "type": "dashed"},
                    "label": {"formatter": f"{name} {at:g}", "color": color, "fontSize": 11},
                }
                for at, name, color in marks
                if ends[0] <= at <= ends[1]
            ],
        },
    }


def _span(start: float, end: float) -> str:
    return f"{start:g} to {end:g}"


def _time(milliseconds: float) -> str:
    return f"{milliseconds:g} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:g} s"
