"""The charts of a backtest's report, as inline SVG in the page's colours."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from io import StringIO
from itertools import accumulate

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from backtest.result.backtest_result import LatencyCost
from backtest.result.performance import Performance
from backtest.result.trading_outcome import Lifetime, RejectedSum
from market.accounting.equity_curve import POINTS_A_SPAN, thinned
from market.money import ZERO
from market.trade.arbitrages import ProfitAndLoss
from wording.labels import PROFIT_PARTS

INK, FAINT, LINE, GOOD, BAD = "#010101", "#020202", "#030303", "#040404", "#050505"
"""Placeholders for the page's colours, which differ by day and night."""
VARIABLES = {INK: "--ink", FAINT: "--faint", LINE: "--line", GOOD: "--good", BAD: "--bad"}

SIZE = (4.4, 2.5)
"""Inches of 72 points: as wide as a telephone, so that text keeps its size there."""
MAX_POINTS = 800
"""Points of one line."""
MAX_SPANS = MAX_POINTS // POINTS_A_SPAN
MAX_BARS = 40

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "backtest",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
    "date.converter": "concise",
}

Draw = Callable[[Axes], None]
Point = tuple[int, Decimal]
"""Microseconds UTC, amount."""


def equity_chart(equity: Sequence[Point], currency: str) -> str | None:
    """Return net profit over time; None with fewer than two points."""
    return _over_time("equity", equity, currency, LINE)


def drawdown_chart(equity: Sequence[Point], currency: str) -> str | None:
    """Return the equity below its previous high; None with fewer than two points."""
    return _over_time("drawdown", drawdowns(equity), currency, BAD)


def drawdowns(equity: Sequence[Point]) -> list[Point]:
    """Return how far each point is below the highest one so far, or below the opening 0; at most 0."""
    highest = [*accumulate((net for _, net in equity), max, initial=ZERO)][1:]
    return [(time, net - high) for (time, net), high in zip(equity, highest, strict=True)]


def marked_chart(performance: Performance | None, currency: str) -> str | None:
    """Return the marked gain at each sampled moment; None with fewer than three."""
    if performance is None or len(performance.marked.points) < 3:
        return None
    return _over_time("marked", performance.marked.points, currency, LINE)


def profit_chart(profit: ProfitAndLoss) -> str:
    """Return a bar for each part, and for the net."""
    amounts = [float(amount) for amount in profit.parts.values()]
    names = [PROFIT_PARTS[part] for part in profit.parts]

    def draw(axes: Axes) -> None:
        axes.barh(names, amounts, color=[GOOD if amount >= 0 else BAD for amount in amounts], height=0.65)
        axes.invert_yaxis()
        axes.axvline(0, color=FAINT, linewidth=0.8)
        _format_amounts(axes)
        axes.set_xlabel(profit.currency)

    return _picture("profit", draw)


def net_bps_chart(counts: Mapping[int, int]) -> str | None:
    """Return opportunities by net bps; None without any."""
    if not counts:
        return None
    width = -(-(max(counts) - min(counts) + 1) // MAX_BARS)
    bars: dict[int, int] = {}
    for bps, count in counts.items():
        start = bps // width * width
        bars[start] = bars.get(start, 0) + count

    def draw(axes: Axes) -> None:
        axes.bar(list(bars), list(bars.values()), width=width * 0.9, align="edge", color=LINE)
        axes.set_xlabel("net bps")
        axes.set_ylabel("opportunities")

    return _picture("net-bps", draw)


def lifetime_chart(lifetimes: Sequence[Lifetime]) -> str | None:
    """Return the share with a longer duration; None if each was seen at a single row only."""
    durations = sorted((one.end - one.start) / 1_000 for one in lifetimes)
    if not any(durations):
        return None
    shares = [100 * (1 - place / len(durations)) for place in range(len(durations))]
    step = max(1, len(durations) // MAX_POINTS)

    def draw(axes: Axes) -> None:
        # a single row has duration 0, which a logarithm cannot show
        axes.set_xscale("symlog", linthresh=1)
        axes.step(durations[::step], shares[::step], where="post", color=LINE, linewidth=1.4)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda milliseconds, _: short_amount(milliseconds))
        axes.set_ylim(0, 102)
        axes.set_xlabel("duration longer than, ms")
        axes.set_ylabel("% of opportunities")

    return _picture("lifetimes", draw)


def latency_chart(costs: Sequence[LatencyCost], currency: str) -> str | None:
    """Return net profit against added milliseconds, as far as it is known; None with fewer than two points."""
    known = [(cost.added_ms, float(cost.net)) for cost in costs if cost.net is not None]
    if len(known) < 2:
        return None

    def draw(axes: Axes) -> None:
        axes.plot([added for added, _ in known], [net for _, net in known], color=LINE, marker="o", ms=4)
        axes.axhline(0, color=FAINT, linewidth=0.8)
        axes.set_xlabel("added to every order, ms")
        axes.set_ylabel(f"net, {currency}")

    return _picture("latency", draw)


def rejection_chart(rejections: Mapping[str, RejectedSum], currency: str) -> str | None:
    """Return profit missed by reason, the most first; None without any."""
    ordered = sorted(rejections.items(), key=lambda item: (-item[1].missed, item[0]))[:10]
    if not ordered:
        return None

    def draw(axes: Axes) -> None:
        names = [reason.replace("_", " ") for reason, _ in ordered]
        axes.barh(names, [float(rejected.missed) for _, rejected in ordered], color=LINE, height=0.65)
        axes.invert_yaxis()
        _format_amounts(axes)
        axes.set_xlabel(f"missed profit, {currency}, once per episode")

    return _picture("rejections", draw)


def _over_time(name: str, points: Sequence[Point], currency: str, color: str) -> str | None:
    if len(points) < 2:
        return None
    shown = thinned(points, MAX_SPANS)
    times = np.array([point.at for point in shown], dtype="datetime64[us]")
    amounts = [float(point.net) for point in shown]

    def draw(axes: Axes) -> None:
        axes.step(times, amounts, where="post", color=color, linewidth=1.3)
        axes.fill_between(times, amounts, step="post", color=color, alpha=0.15, linewidth=0)
        axes.axhline(0, color=FAINT, linewidth=0.8)
        axes.yaxis.set_major_formatter(lambda amount, _: short_amount(amount))
        # few enough that none touches the next on a telephone
        locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axes.set_ylabel(currency)

    return _picture(name, draw)


def _format_amounts(axes: Axes) -> None:
    """Format the amounts along the bars, beside long names: so few and so short that none touches the next."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(lambda amount, _: short_amount(amount))


def short_amount(amount: float) -> str:
    """Return 80000 as 80k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= size:
            return f"{amount / size:.4g}{letter}"
    # a tick at 0.1 + 0.2 is 0.3
    return f"{amount:.4g}"


def _picture(name: str, draw: Draw) -> str:
    # the stubs know the names one by one, in a type that has no name
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure.add_subplot())
        text = StringIO()
        figure.savefig(
            text,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return standalone_svg(text.getvalue(), name)


def standalone_svg(svg: str, name: str) -> str:
    """Return the chart without prolog, fixed size and names of other places; its ids are its own, its colours the
    page's."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(xmlns|xmlns:xlink|version)="[^"]*"', "", svg)
    svg = re.sub(r'<svg\s[^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{name}">', svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', svg)
    svg = re.sub(r"font: ([0-9.]+)px 'sans-serif'[^;\"]*", r"font: \1px inherit", svg)
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    return svg
