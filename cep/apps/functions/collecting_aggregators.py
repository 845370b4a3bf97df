"""Aggregators that keep every value of the rows that are there: a list of them, a text of them, a percentile.

Siddhi has them in extensions, whose documentation is what these follow: https://siddhi-io.github.io/siddhi-execution-list/,
siddhi-execution-string, siddhi-execution-math. Nulls are left out of a text and of a percentile, and are values of a
list.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from cep.apps.functions.string_functions import LONGEST
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall
from cep.apps.parts.aggregators import AggregatorKind
from cep.apps.parts.app_context import Stateful
from cep.apps.parts.scope import Code
from cep.apps.parts.values import NUMERIC, Value, text_of

WHOLE = 100
"""Percent."""


class Values(Stateful):
    """The values in the order in which they came; what leaves is the oldest that is equal."""

    STATE = ("values",)

    def __init__(self, made: Callable[[list[Any]], Value]) -> None:
        """`made`: what the query is given of them, which must be new each time."""
        self._made = made
        self.values: list[Any] = []

    @property
    def kept_values(self) -> int:
        return len(self.values)

    def add(self, value: Value) -> None:
        self.values.append(value)

    def remove(self, value: Value) -> None:
        # a value that is no number equals nothing, not even itself
        is_it = (place for place, one in enumerate(self.values) if one == value or (_is_nan(one) and _is_nan(value)))
        place = next(is_it, None)
        if place is not None:
            del self.values[place]

    def reset(self) -> None:
        self.values = []

    @property
    def value(self) -> Value:
        return self._made(self.values)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


class Percentile(Stateful):
    """The values in their order."""

    STATE = ("values",)

    def __init__(self, share: Fraction) -> None:
        """`share`: of the values that are less or equal, above 0 and at most 1."""
        self._share = share
        self.values: list[float] = []

    @property
    def kept_values(self) -> int:
        return len(self.values)

    def add(self, value: Value) -> None:
        # what is no number has no place among others
        if value is not None and not _is_nan(value):
            insort(self.values, float(value))

    def remove(self, value: Value) -> None:
        if value is None or _is_nan(value):
            return
        place = bisect_left(self.values, float(value))
        if place < len(self.values) and self.values[place] == value:
            del self.values[place]

    def reset(self) -> None:
        self.values = []

    @property
    def value(self) -> float | None:
        """Return the value at the share's place, counted upwards; between two values their mean."""
        if not self.values:
            return None
        index = self._share * len(self.values)
        if index.denominator > 1 or index == len(self.values):
            return self.values[-(-index.numerator // index.denominator) - 1]
        return (self.values[int(index) - 1] + self.values[int(index)]) / 2


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Each once, where it came first."""
    values = list(values)
    try:
        return list(dict.fromkeys(values))
    except TypeError:
        # lists and maps
        return [one for place, one in enumerate(values) if one not in values[:place]]


def _flag(call: FunctionCall, arguments: Sequence[Code], place: int) -> bool:
    """Return False if it is left out. Raises AppTextError."""
    if place >= len(arguments):
        return False
    given = arguments[place].constant
    if not isinstance(given, bool):
        raise AppTextError(call.arguments[place].at, "true or false is expected here: whether each value comes once")
    return given


def _counted(call: FunctionCall, arguments: Sequence[Code], least: int, most: int) -> None:
    if not least <= len(arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise AppTextError(call.at, f"{call.full_name}() takes {wanted} arguments, and has {len(arguments)}")


def collected(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    """`list:collect(value, [distinct])`. Raises AppTextError."""
    _counted(call, arguments, 1, 2)
    made = _distinct if _flag(call, arguments, 1) else list
    return AggregatorKind("object", lambda: Values(made), keeps_values=True)


def concatenated(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    """`str:groupConcat(value, [separator], [distinct], ['asc' or 'desc'])`. Raises AppTextError."""
    _counted(call, arguments, 1, 4)
    separator = "," if len(arguments) == 1 else arguments[1].constant
    if not isinstance(separator, str):
        raise AppTextError(call.arguments[1].at, "a separator in quotes is expected here")
    order = _order(call, arguments)
    is_distinct, join = _flag(call, arguments, 2), separator.join

    def made(values: list[Any]) -> str:
        texts = [text_of(one) for one in values if one is not None]
        shown = _distinct(texts) if is_distinct else texts
        text = join(shown if order is None else sorted(shown, reverse=order == "desc"))
        if len(text) > LONGEST:
            raise ValueError(f"a text of more than {LONGEST:,} characters")
        return text

    return AggregatorKind("string", lambda: Values(made), keeps_values=True)


def _order(call: FunctionCall, arguments: Sequence[Code]) -> str | None:
    if len(arguments) < 4:
        return None
    given = arguments[3].constant
    if not isinstance(given, str) or given.lower() not in ("asc", "desc"):
        raise AppTextError(call.arguments[3].at, "'asc' or 'desc' is expected here")
    return given.lower()


def percentile(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    """`math:percentile(number, percent)`. Raises AppTextError."""
    _counted(call, arguments, 2, 2)
    if arguments[0].type not in NUMERIC or arguments[0].type == "decimal":
        problem = f"math:percentile() takes an int, long, float or double, and this is {arguments[0].type}"
        raise AppTextError(call.arguments[0].at, problem)
    percent = arguments[1].constant
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 < percent <= WHOLE:
        raise AppTextError(call.arguments[1].at, "a percentage above 0 and up to 100 is expected here, such as 95.0")
    # as it is written: 99.9 of a thousand values is the 999th
    share = Fraction(repr(percent)) / WHOLE
    return AggregatorKind("double", lambda: Percentile(share), keeps_values=True)
