"""What a query asks of an aggregation with `within` and `per`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from cep.apps.compiler.expression_code import ExpressionCompiler, row_function
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Expression, Place
from cep.apps.parts.aggregations import Aggregation, CalendarTerms
from cep.apps.parts.calendar import duration_named, time_range
from cep.apps.parts.chunks import CURRENT, Event, Row
from cep.apps.parts.scope import Code, Columns, Environment, Scope

TIMES = ("long", "string")
Finds = Callable[[Aggregation, Row, int], Iterable[Event]]
"""Finds the rows of an aggregation for a row and its time."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a query may know of an aggregation: the columns of its rows, and the durations that it keeps."""

    columns: Columns
    terms: CalendarTerms


def aggregation_finds(
    at: Place,
    within: Sequence[Expression],
    per: Expression | None,
    scope: Scope,
    environment: Environment,
    terms: CalendarTerms,
) -> Finds:
    """`scope`: of the row that asks; `terms`: of the aggregation. What is found raises ValueError for a row that asks
    for a duration that is not kept, or whose time is none.

    Raises AppTextError if `within` or `per` is missing, of another type, or a constant that no row could ask with.
    """
    if not within or per is None:
        raise AppTextError(at, "an aggregation is read with `within` a time or two, and `per` a duration")
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(node) for node in (*within, per)]
    for node, code in zip(within, codes, strict=False):
        _check_time(node.at, code)
    _check_duration(per.at, codes[-1], terms)
    values = row_function([code.source for code in codes], "row, at", environment)

    def finds(aggregation: Aggregation, row: Row, at: int) -> Iterable[Event]:
        *times, duration = values(row, at)
        if duration is None or None in times:
            return []
        name, (since, until) = _duration(duration, terms), _span(times, terms.zone)
        return [(CURRENT, at, one) for one in aggregation.rows(name, since, until)]

    return finds


def _duration(asked: str, terms: CalendarTerms) -> str:
    """Raise ValueError if it is not kept."""
    name = duration_named(asked)
    if name is None or name not in terms.durations:
        raise ValueError(f"per {asked!r}: the aggregation has {', '.join(terms.durations)}")
    return name


def _check_duration(at: Place, code: Code, terms: CalendarTerms) -> None:
    """Raise AppTextError."""
    if code.type != "string":
        raise AppTextError(at, "per takes a duration in quotes, such as 'hours'")
    if isinstance(code.constant, str):
        try:
            _duration(code.constant, terms)
        except ValueError as error:
            raise AppTextError(at, str(error)) from None


def _check_time(at: Place, code: Code) -> None:
    """Raise AppTextError."""
    if code.type not in TIMES:
        raise AppTextError(at, "within takes times: longs in milliseconds, or strings")
    if isinstance(code.constant, str):
        try:
            time_range(code.constant)
        except (ValueError, OverflowError) as error:
            raise AppTextError(at, str(error)) from None


def _span(times: Sequence[Any], zone: ZoneInfo | None) -> tuple[int, int]:
    """Raise ValueError."""
    ends = [time_range(one, zone) if isinstance(one, str) else (one, one + 1) for one in times]
    return ends[0] if len(ends) == 1 else (ends[0][0], ends[1][0])
