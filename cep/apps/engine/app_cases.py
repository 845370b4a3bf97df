"""Cases of an app: rows that go in, with their times, and the rows that must come out. What `arbitrage app test` runs.

A case is one JSON object: `id`; `events`, each `[time, stream, values]`, or `[time]` if the clock alone moves on;
`outputs`, the streams that are watched; `expected`: `{"out": [[stream, time, expired, values], …]}` in order; `queries`
and `expected.query` likewise, with `[query, time, rows in, rows removed]` of a chunk each. `compare` is "ordered" or
"set"; `times: false` leaves out times; `app` is a text of its own for the case. Streams are compared each for itself.
A decimal is a text.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from cep.apps.engine.failures import FAILURES, failure
from cep.apps.engine.input_rows import row_of
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.app_tree import App
from cep.apps.language.decimals import plain_text
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.parts.chunks import CURRENT, EXPIRED, Chunk

MOST_SHOWN = 3
"""Rows that came, and that were expected, in the sentence of a difference."""
RELATIVE = 1e-6
"""A float has 32 bits."""
NEAR_ZERO = 1e-9
_LENIENT = ConfigDict(extra="ignore")


@dataclass(frozen=True, config=_LENIENT)
class ExpectedRows:
    out: list[tuple[str, int, bool, list[Any]]] = field(default_factory=list)
    query: list[tuple[str, int, list[Any] | None, list[Any] | None]] = field(default_factory=list)
    on_demand: list[list[Any] | str | None] = field(default_factory=list)
    """Rows of each answer; a text of an error."""


@dataclass(frozen=True, config=_LENIENT)
class AppCase:
    """One case; an event of a time alone, or with two nulls, moves the clock; one of a number and null is a pause of a
    real clock, and skipped."""

    id: str
    events: list[tuple[int | None, str, list[Any]] | tuple[int, None] | tuple[int] | tuple[int, None, None]]
    expected: ExpectedRows
    app: str | None = None
    outputs: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    on_demand: list[str] = field(default_factory=list)
    compare: Literal["ordered", "set"] = "ordered"
    times: bool = True
    variables: dict[str, str] = field(default_factory=dict)
    """What `context:getVar` gives."""
    real: bool = False
    """Whether a pause moves the app's clock."""


_CASE = TypeAdapter(AppCase)
_FORMS: Mapping[str, str] = {
    "id": "a text",
    "events": "a list of [time, stream, [values]]",
    "expected": 'an object such as {"out": [[stream, time, false, [values]]]}',
    "app": "the text of an app",
    "outputs": "a list of streams",
    "queries": "a list of names of queries",
    "on_demand": "a list of on-demand queries",
    "compare": '"ordered" or "set"',
    "times": "true or false",
    "variables": "an object of texts, by name",
    "real": "true or false",
}
"""What a case has under each key."""
DAY = 86_400_000


class AppCaseError(Exception):
    """A case cannot be run as it is written; one sentence."""


def read_case(line: str) -> AppCase:
    """Raise AppCaseError."""
    try:
        return _CASE.validate_json(line)
    except ValidationError as error:
        raise AppCaseError(_case_problem(error)) from None


def _case_problem(error: ValidationError) -> str:
    """Describe its first fault, in one sentence."""
    fault = error.errors(include_url=False)[0]
    match fault["loc"]:
        case () if fault["type"] == "json_invalid":
            return f"a case is one line of JSON, and this line is none ({fault['ctx']['error']})"
        case ():
            return 'a case is one line of JSON, an object such as {"id": …, "events": […], "expected": {…}}'
        case ("events", int() as number, *_):
            return f"event {number + 1}: write [time, stream, [values]], or [time] to move the clock alone"
        case ("expected", "out", int() as number, *_):
            return f"row {number + 1} of expected.out: write [stream, time, false, [values]]"
        case place:
            what = "is missing; write" if fault["type"] == "missing" else "write"
            return f"{place[0]}: {what} {_FORMS[str(place[0])]}"


def differences(
    case: AppCase,
    text: str | None = None,
    parse: Callable[[str], App] = parse_app,
    terms: OperatorTerms | None = None,
    begin: Callable[[], None] = lambda: None,
) -> list[str]:
    """Return what differs from the expected rows, a sentence for each stream; nothing if all is equal. `text`: of the
    app, if the case has none. `parse`: as the app's host reads it. `terms`: what it may use and take. `begin`:
    called before each event.

    Raises AppTextError, AppUnsupportedError, AppCaseError.
    """
    app = parse(case.app if case.app is not None else text or "")
    engine = StreamEngine(app, _begins(case), case.variables, terms)
    watched = _Watched(engine, app, case, begin)
    watched.run()
    return [*_of_streams(case, watched), *_of_queries(case, watched), *_of_answers(case, engine)]


def _begins(case: AppCase) -> int:
    """Where the clock begins: at 0, or with the first event where that is a day or more later."""
    first = next((at for at, *rest in case.events if rest != [None] and at is not None), 0)
    return first if first >= DAY else 0


class _Watched:
    """What came out of an engine. `begin`: called before each event."""

    def __init__(self, engine: StreamEngine, app: App, case: AppCase, begin: Callable[[], None]) -> None:
        self._engine, self._app, self._case, self._begin = engine, app, case, begin
        self.rows: dict[str, list[Any]] = {}
        self.chunks: dict[str, list[Any]] = {}
        for stream in case.outputs:
            self._watch(stream)
        for query in case.queries:
            self._watch_query(query)

    def _watch(self, stream: str) -> None:
        into = self.rows.setdefault(stream, [])
        try:
            self._engine.listen(stream, lambda at, row: into.append([at, list(row)]))
        except KeyError:
            raise AppCaseError(f"the app has no stream {stream!r}") from None

    def _watch_query(self, query: str) -> None:
        into = self.chunks.setdefault(query, [])
        self._engine.listen_to_query(query, lambda chunk: into.extend(_reported(query, chunk)))

    def run(self) -> None:
        for event in self._case.events:
            self._begin()
            match event:
                case (at, str() as stream, list() as values):
                    self._send(stream, self._engine.now if at is None else at, values)
                case (int() as pause, None) if self._case.real:
                    self._engine.advance(self._engine.now + pause)
                case (int() as moment,) | (int() as moment, None, None):
                    self._move(moment)

    def _move(self, at: int) -> None:
        """Move the clock alone."""
        try:
            self._engine.advance(at)
            self._engine.amounts.check()
        except FAILURES as error:
            raise AppCaseError(str(failure(error, f"what happens up to {at}", self._app))) from error

    def _send(self, stream: str, at: int, values: list[Any]) -> None:
        try:
            columns = self._engine.columns_of(stream)
        except KeyError:
            raise AppCaseError(f"the app has no stream {stream!r}") from None
        if stream in self._engine.plan.triggers:
            raise AppCaseError(f"{stream!r} is a trigger, whose rows come by the clock; write [time] to move the clock")
        what = f"the event of {stream!r} at {at}"
        try:
            row = row_of(columns, values)
        except ValueError as error:
            raise AppCaseError(f"{what} {error}") from None
        try:
            self._engine.send(stream, at, row)
            self._engine.amounts.check()
        except FAILURES as error:
            raise AppCaseError(str(failure(error, what, self._app))) from error


def _reported(query: str, chunk: Chunk) -> Iterable[Any]:
    """Return the chunk as a case has it; none of one without rows."""
    came, left = (
        [[at, kind is EXPIRED, list(row)] for kind, at, row in chunk if kind is wanted] or None
        for wanted in (CURRENT, EXPIRED)
    )
    if came or left:
        yield [query, chunk[-1][1], came, left]


def _of_streams(case: AppCase, watched: _Watched) -> Iterable[str]:
    for name, rows in watched.rows.items():
        wanted = [[at, values] for stream, at, _, values in case.expected.out if stream == name]
        yield from _different(case, name, rows, wanted)


def _of_queries(case: AppCase, watched: _Watched) -> Iterable[str]:
    for name, chunks in watched.chunks.items() if case.times else ():
        wanted = [list(chunk) for chunk in case.expected.query if chunk[0] == name and (chunk[2] or chunk[3])]
        if case.compare == "set":
            got, wanted = [_sorted(chunk) for chunk in chunks], [_sorted(chunk) for chunk in wanted]
        else:
            got = chunks
        yield from _different(case, f"query {name}", got, wanted)


def _of_answers(case: AppCase, engine: StreamEngine) -> Iterable[str]:
    """On-demand queries, asked in their order once all events are over; their rows are a set but if they have an
    order."""
    for text, wanted in zip(case.on_demand, case.expected.on_demand, strict=True):
        try:
            query = parse_on_demand(text)
            rows: Any = [list(row) for row in engine.data.ask(query).rows]
        except AppUnsupportedError:
            raise
        except AppTextError:
            rows = None
        theirs = None if isinstance(wanted, str) else wanted or []
        if rows is not None and theirs is not None and " order by " not in text:
            rows, theirs = sorted(rows, key=_place_in_set), sorted(theirs, key=_place_in_set)
        if not same_values(rows, theirs):
            yield f"{text}: gives {rows}, and {theirs} was expected"


def _sorted(chunk: Sequence[Any]) -> list[Any]:
    """Return the chunk with its rows in an order of their own."""
    return [sorted(part, key=_place_in_set) if isinstance(part, list) else part for part in chunk]


def _place_in_set(values: Any) -> tuple[str, str]:
    """Return what rows are sorted by: first equal of numbers that count as the same, as of a float and its digits."""
    return _rounded(values), repr(values)


def _rounded(values: Any) -> str:
    if isinstance(values, tuple | list):
        return f"[{', '.join(map(_rounded, values))}]"
    return f"{values:.6g}" if isinstance(values, float) else repr(values)


def _different(case: AppCase, name: str, got: Sequence[Any], wanted: Sequence[Any]) -> Iterable[str]:
    if not case.times:
        got, wanted = [row[1] for row in got], [row[1] for row in wanted]
    if case.compare == "set":
        got, wanted = sorted(got, key=_place_in_set), sorted(wanted, key=_place_in_set)
    for place, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
        if not same_values(mine, theirs):
            yield f"{name}: row {place + 1} is {mine}, and {theirs} was expected"
            return
    if len(got) != len(wanted):
        # all before are equal, and one of them says where the others are
        start = max(0, min(len(got), len(wanted)) - 1)
        yield f"{name}: expected {_shown(wanted, start)}; came {_shown(got, start)}"


def _shown(rows: Sequence[Any], start: int) -> str:
    """How many there are, and a few of them from `start` on."""
    if not rows:
        return "no row"
    few = ["…"] if start else []
    few += map(str, rows[start : start + MOST_SHOWN])
    few += ["…"] if len(rows) > start + MOST_SHOWN else []
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}: {', '.join(few)}"


def same_values(mine: Any, theirs: Any) -> bool:
    """Whole numbers and decimals exactly, others to a millionth; lists value by value. `theirs` has decimals as
    texts."""
    if isinstance(mine, tuple | list) and isinstance(theirs, tuple | list):
        return len(mine) == len(theirs) and all(same_values(one, two) for one, two in zip(mine, theirs, strict=True))
    if isinstance(mine, Decimal):
        return isinstance(theirs, str) and plain_text(mine) == theirs
    if _is_number(mine) and _is_number(theirs):
        if isinstance(mine, int) and isinstance(theirs, int):
            return mine == theirs
        both_nan = math.isnan(mine) and math.isnan(theirs)
        return both_nan or math.isclose(mine, theirs, rel_tol=RELATIVE, abs_tol=NEAR_ZERO)
    return type(mine) is type(theirs) and bool(mine == theirs)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
