"""What a query asks of an aggregation with `within` and `per`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.compiler.expression_code import ExpressionCompiler, row_function
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Expression, Place
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.calendar import duration_named, time_range
from cep.apps.parts.chunks import CURRENT, Event, Row
from cep.apps.parts.scope import Columns, Environment, Scope

TIMES = ("long", "string")
Finds = Callable[[Aggregation, Row, int], Iterable[Event]]
"""Finds the rows of an aggregation for a row and its time."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a query may know of an aggregation: the columns of its rows, and the durations that it keeps."""

    columns: Columns
    durations: tuple[str, ...]


def aggregation_finds(
    at: Place,
    within: Sequence[Expression],
    per: Expression | None,
    scope: Scope,
    environment: Environment,
    durations: Sequence[str],
) -> Finds:
    """`scope`: of the row that asks; `durations`: that the aggregation keeps. A row that asks for another one finds
    nothing. Raises AppTextError if `within` or `per` is missing, of another type, or a constant that is not kept."""
    if not within or per is None:
        raise AppTextError(at, "an aggregation is read with `within` a time or two, and `per` a duration")
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(node) for node in (*within, per)]
    for node, code in zip(within, codes, strict=False):
        if code.type not in TIMES:
            raise AppTextError(node.at, "within takes times: longs in milliseconds, or strings")
    if codes[-1].type != "string":
        raise AppTextError(per.at, "per takes a duration in quotes, such as 'hours'")
    asked = codes[-1].constant
    if isinstance(asked, str) and duration_named(asked) not in durations:
        raise AppTextError(per.at, f"per {asked!r}: the aggregation has {', '.join(durations)}")
    values = row_function([code.source for code in codes], "row, at", environment)

    def finds(aggregation: Aggregation, row: Row, at: int) -> Iterable[Event]:
        *times, duration = values(row, at)
        if duration is None or None in times:
            return []
        name, (since, until) = duration_named(duration), _span(times)
        rows = aggregation.rows(name, since, until) if name in aggregation.durations else ()
        return [(CURRENT, at, one) for one in rows]

    return finds


def _span(times: Sequence[Any]) -> tuple[int, int]:
    """Raise ValueError."""
    ends = [time_range(one) if isinstance(one, str) else (one, one + 1) for one in times]
    return ends[0] if len(ends) == 1 else (ends[0][0], ends[1][0])
