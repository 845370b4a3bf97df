"""Sinks `notice`: rows of a stream as notices to people, by e-mail, chat or webhook. Each is a query into the stream
whose rows are sent to them, so that the operator's word, limits and the audit log are what they are for that stream."""

from collections.abc import Iterator

from cep.apps.ends.end_options import EndOptions, refused
from cep.apps.ends.row_templates import RowTemplate, row_template
from cep.apps.language.app_ends import AppEnd, app_ends
from cep.apps.language.app_tree import (
    App,
    InsertInto,
    OutputColumn,
    Query,
    Selection,
    Source,
    StreamDefinition,
    StreamInput,
)
from cep.apps.language.errors import AppUnsupportedError
from cep.apps.language.expression_tree import Attribute, Constant, Expression, FunctionCall, Place

NOTICE = "notice"
"""The sink's type."""
NOTICES, TEXT = "OperatorNotices", "text"
"""The stream whose rows are notices, and its column."""


def notice_text(end: AppEnd, columns: tuple[str, ...]) -> RowTemplate:
    """Return what the sink says of a row. Raises AppUnsupportedError."""
    options = EndOptions(end, TEXT)
    try:
        return row_template(options.required(TEXT), columns)
    except ValueError as error:
        raise refused(end, f"{TEXT}: {error}") from None


def notice_queries(app: App) -> Iterator[Query]:
    """Yield a query for each sink `notice`; of one that is not as it should be none, which is said elsewhere."""
    columns = {
        one.name: tuple(column.name for column in one.columns)
        for one in app.definitions
        if isinstance(one, StreamDefinition)
    }
    for end in app_ends(app):
        if end.kind == "sink" and end.type.lower() == NOTICE and end.name in columns:
            try:
                text = notice_text(end, columns[end.name])
            except AppUnsupportedError:
                continue
            yield _query(end.at, end.name, text)


def _query(at: Place, stream: str, text: RowTemplate) -> Query:
    parts: tuple[Expression, ...] = tuple(
        Attribute(at, part) if number % 2 else Constant(at, part, "string") for number, part in enumerate(text.parts)
    )
    joined = FunctionCall(at, "str", "concat", parts)
    selection = Selection((OutputColumn(at, joined, TEXT),))
    return Query(at, StreamInput(at, Source(at, stream)), selection, InsertInto(at, Source(at, NOTICES)))
