"""A stream app as a library: text in, rows in, rows out.

No thread, no clock and no file of its own: time is that of the rows, so the same rows give the same rows. Nothing of
the product beside the language and its engine is imported.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cep.apps.compiler.own_calls import operator_files
from cep.apps.engine.explanation import described_parts
from cep.apps.engine.failures import FAILURES, failure
from cep.apps.engine.input_rows import row_of
from cep.apps.engine.on_demand import Answer
from cep.apps.engine.snapshots import Snapshot, app_digest, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppError, AppFailedError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.stream_names import output_streams
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Columns, with_nearest
from cep.apps.parts.values import Value

ROWS_BETWEEN_LOOKS = 1_000
"""After so many rows it is counted what the app keeps."""


class RowError(AppError):
    """What was sent is no row of the stream. The app has not seen it, and goes on."""


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A row that an app gave. `time`: milliseconds, by the app's clock. `values`: by column, in their order."""

    stream: str
    time: int
    values: Mapping[str, Value]


class StreamApp:
    """One running app. An app that has failed stays so; go on from its last snapshot."""

    def __init__(
        self,
        text: str,
        *,
        begins_at: int | None = None,
        variables: Mapping[str, str] | None = None,
        terms: OperatorTerms | None = None,
        snapshot: bytes | None = None,
    ) -> None:
        """`begins_at`: where its clock begins, in milliseconds; otherwise with its first row, or the first `advance`.
        `variables`: what `context:getVar` gives. `terms`: limits, and folders of functions and models that it may use;
        without them none. `snapshot`: from which it goes on, of an app with the same text, variables and functions.

        Raises AppTextError, with `at.line`, `at.column` and `problem`, if the text is no app; SnapshotError.
        """
        self._app, self._terms = parse_app(text), terms or OperatorTerms()
        self._variables = dict(variables or {})
        self._engine = self._made(begins_at or 0)
        self._has_begun = begins_at is not None or snapshot is not None
        files = operator_files(self._app, self._terms)
        self._digest = app_digest("\n".join((text, repr(sorted(self._variables.items())), repr(files))))
        if snapshot is not None:
            self._engine.state.restore(read(snapshot, self._digest).state)
        self._count = 0
        self._failed: AppFailedError | None = None

    @property
    def now(self) -> int:
        """Its clock, milliseconds; it never goes back."""
        return self._engine.now

    @property
    def due(self) -> int | None:
        """The time at which it gives rows or forgets some though none comes; None if it waits for nothing."""
        return self._engine.due() if self._has_begun else None

    @property
    def streams(self) -> Mapping[str, Columns]:
        """All of its streams, each with the names and types of its columns."""
        return self._engine.plan.streams

    @property
    def outputs(self) -> tuple[str, ...]:
        """The streams whose rows it gives: those that it writes to and does not read, and its sinks; if it has
        neither, all that it writes to."""
        return output_streams(self._app)

    def explained(self) -> list[str]:
        """Return what it is made of, a line for each part."""
        return list(described_parts(self._engine.plan))

    def send(self, stream: str, values: Mapping[str, Value] | Sequence[Value], at: int) -> list[OutputRow]:
        """Take a row, and return those that come of it and of the time until then.

        `values`: by column, of which those that are left out are null; or all in their order. A `decimal` is a Decimal
        or a text, never a float. `at`: its time, milliseconds; a row from before `now` is late, and moves no clock.

        Raises RowError, AppFailedError.
        """
        row = self._checked(stream, values, at)
        with self._computing(f"the row of {stream!r} at {at}"):
            self._begun_at(at).send(stream, at, row)
        return self._given()

    def advance(self, at: int) -> list[OutputRow]:
        """Move the clock to `at`, milliseconds, and return the rows that come of it. Raises AppFailedError."""
        with self._computing(f"what happens up to {at}"):
            self._begun_at(at).advance(at)
        return self._given()

    def ask(self, query: str) -> Answer:
        """Answer an on-demand query over tables, named windows and aggregations, or do what it does to a table.

        Raises AppTextError, with its place in the query; AppFailedError; AppError if the app has not begun.
        """
        asked = parse_on_demand(query)
        with self._computing("the on-demand query"):
            return self._running().data.ask(asked)

    def snapshot(self) -> bytes:
        """Return all that it has kept. Raises AppFailedError if that is more than it may keep; AppError if it has not
        begun."""
        with self._computing("the snapshot"):
            data = written(Snapshot(self._digest, {}, self._running().state.saved()))
        most = self._engine.plan.limits.state_bytes
        if len(data) > most:
            raise AppFailedError(f"the app keeps more than {most:,} bytes (state.bytes)")
        return data

    def _made(self, now: int) -> StreamEngine:
        engine = StreamEngine(self._app, now, self._variables, self._terms)
        self._rows = list[OutputRow]()
        for stream in self.outputs:
            self._listen(engine, stream)
        return engine

    def _listen(self, engine: StreamEngine, stream: str) -> None:
        rows, names = self._rows, [column.name for column in engine.columns_of(stream)]

        def listener(at: int, row: Row) -> None:
            rows.append(OutputRow(stream, at, dict(zip(names, row, strict=True))))

        engine.listen(stream, listener)

    def _begun_at(self, at: int) -> StreamEngine:
        if not self._has_begun:
            # a trigger would otherwise catch up on all its turns since 1970
            self._engine, self._has_begun = self._made(at), True
        return self._engine

    def _running(self) -> StreamEngine:
        if not self._has_begun:
            raise AppError("the app has not begun: send a row or advance its clock first, or give `begins_at`")
        return self._engine

    def _checked(self, stream: str, values: Mapping[str, Value] | Sequence[Value], at: int) -> Row:
        plan = self._engine.plan
        if stream not in plan.streams:
            raise RowError(with_nearest(f"the app has no stream {stream!r}", stream, list(plan.streams)))
        if stream in plan.triggers:
            raise RowError(f"{stream!r} is a trigger, whose rows come by the clock; advance it")
        if type(at) is not int:
            raise RowError(f"the time {at!r} is not in whole milliseconds")
        try:
            return row_of(plan.streams[stream], values)
        except ValueError as error:
            raise RowError(f"the row of {stream!r} at {at} {error}") from None

    @contextmanager
    def _computing(self, what: str) -> Iterator[None]:
        if self._failed is not None:
            raise AppFailedError(f"the app has ended before: {self._failed}")
        try:
            yield
        except FAILURES as error:
            self._failed = failure(error, what, self._app)
            raise self._failed from error

    def _given(self) -> list[OutputRow]:
        self._count += 1
        if self._count % ROWS_BETWEEN_LOOKS == 0:
            with self._computing(f"row {self._count}"):
                self._engine.amounts.check()
        given = list(self._rows)
        self._rows.clear()
        return given
