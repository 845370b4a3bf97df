"""Axes of charts with round ends and room for their widest label: two charts one below the other share their left
edge."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite, log10

from market.money import decimal_of, decimal_of_whole
from wording.number_format import number

STEPS = (1, 2, 5, 10)
MIN_STEP = 0.01
"""Finer steps are of no use for sums of money."""
LABEL_PIXELS = 7
"""Width of one digit at 11 pixels, and a little more."""


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """`lowest` and `highest` are whole numbers of `step`."""

    lowest: float
    highest: float
    step: float

    @property
    def label_width(self) -> int:
        """Return the width of the widest label in pixels."""
        shown = decimal_of(self.step)
        return LABEL_PIXELS * max(len(number(end, shown)) for end in (self.lowest, self.highest))

    def options(self) -> dict[str, float]:
        """Return the options of an axis of ECharts, which then rounds its labels to the step."""
        return {"min": self.lowest, "max": self.highest, "interval": self.step}


def axis_over(lowest: float, highest: float, parts: int) -> ChartAxis:
    """Return an axis around these two values, which may be equal, in about `parts` parts of 1, 2 or 5 times a power of
    ten.

    Raises ValueError for a value that is not finite.
    """
    if not isfinite(lowest) or not isfinite(highest):
        raise ValueError(f"no axis goes from {lowest} to {highest}")
    wide = max((highest - lowest) / parts, MIN_STEP, abs(highest) * 1e-9)
    power = floor(log10(wide))
    step = next(decimal_of_whole(one).scaleb(power) for one in STEPS if one * 10.0**power >= wide * 0.999_999)
    # exact: a double that is almost nothing lies beside 0 all the same
    ends = (floor(Fraction(lowest) / Fraction(step)) * step, ceil(Fraction(highest) / Fraction(step)) * step)
    if ends[0] == ends[1]:
        ends = (ends[0], ends[1] + step)
    return ChartAxis(float(ends[0]), float(ends[1]), float(step))
