"""What a query asks of an aggregation with `within` and `per`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cep.compiler.expression_code import ExpressionCompiler, row_function
from cep.language.expression_tree import Expression, Place
from cep.language.language_errors import AppTextError
from cep.parts.aggregations import Aggregation
from cep.parts.calendar import duration_named, time_range
from cep.parts.chunks import CURRENT, Event, Row
from cep.parts.scope import Environment, Scope

TIMES = ("long", "string")
Finds = Callable[[Aggregation, Row, int], Iterable[Event]]
"""Of an aggregation, for a row and its time: its rows."""


def aggregation_finds(
    at: Place, within: Sequence[Expression], per: Expression | None, scope: Scope, environment: Environment
) -> Finds:
    """`scope`: of the row that asks. Raises AppTextError where `within` or `per` is missing or of another type."""
    if not within or per is None:
        raise AppTextError(at, "an aggregation is read with `within` a time or two, and `per` a duration")
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(node) for node in (*within, per)]
    for node, code in zip(within, codes, strict=False):
        if code.type not in TIMES:
            raise AppTextError(node.at, "within takes times: longs in milliseconds, or strings")
    if codes[-1].type != "string":
        raise AppTextError(per.at, "per takes a duration in quotes, such as 'hours'")
    values = row_function([code.source for code in codes], "row, at", environment)

    def finds(aggregation: Aggregation, row: Row, at: int) -> Iterable[Event]:
        *times, duration = values(row, at)
        if duration is None or None in times:
            return []
        since, until = _span(times)
        rows = aggregation.rows(_duration(duration, aggregation), since, until)
        return [(CURRENT, at, one) for one in rows]

    return finds


def _span(times: Sequence[Any]) -> tuple[int, int]:
    """Raises ValueError."""
    ends = [time_range(one) if isinstance(one, str) else (one, one + 1) for one in times]
    return ends[0] if len(ends) == 1 else (ends[0][0], ends[1][0])


def _duration(text: str, aggregation: Aggregation) -> str:
    """Raises ValueError."""
    name = duration_named(text)
    if name is None or name not in aggregation.durations:
        raise ValueError(f"per {text!r}: the aggregation has {', '.join(aggregation.durations)}")
    return name
