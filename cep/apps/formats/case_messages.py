"""Messages in the cases of an app: an event `[time, stream, {"message": "…"}]` is what the source of the stream makes
of it, a row or several. `base64` in place of `message` gives any bytes; `properties` are those of the message."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from cep.apps.engine.app_cases import AppCaseError
from cep.apps.formats.row_formats import RowReader, row_reader
from cep.apps.language.app_ends import app_ends
from cep.apps.language.app_tree import App, StreamDefinition

_MARKS = ('"message"', '"base64"')


def with_rows(line: str, text: str, parse: Callable[[str], App], schemas: Path | None = None) -> str:
    """Return the case with rows in place of messages. `text`: of the app, if the case has none; `schemas`: the
    operator's folder of them. Raises AppCaseError, with the message that is no row; AppTextError for a text that is no
    app."""
    if not any(mark in line for mark in _MARKS):
        return line
    try:
        case = orjson.loads(line)
        events, own = list(case["events"]), case.get("app")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        # who reads the case says what is wrong with it
        return line
    readers = _readers(parse(own if isinstance(own, str) else text), schemas)
    rows = [row for number, event in enumerate(events, 1) for row in _rows(event, f"event {number}", readers)]
    return orjson.dumps({**case, "events": rows}).decode()


def _rows(event: Any, place: str, readers: Mapping[str, RowReader]) -> Iterator[Any]:
    match event:
        case [at, str() as stream, dict() as given] if "message" in given or "base64" in given:
            yield from _read(at, stream, given, place, readers)
        case _:
            yield event


def _read(
    at: Any, stream: str, given: Mapping[str, Any], place: str, readers: Mapping[str, RowReader]
) -> Iterator[Any]:
    if stream not in readers:
        raise AppCaseError(f"{place}: {stream!r} has no source, so it has no messages; write its values")
    properties = given.get("properties") or {}
    if not isinstance(properties, dict):
        raise AppCaseError(f"{place}: properties: write an object of texts")
    message = _message(given, place)
    try:
        rows = readers[stream].read(message, {str(name): str(value) for name, value in properties.items()})
    except ValueError as error:
        raise AppCaseError(f"{place}: the message is no row of {stream!r}: {error}") from error
    for row in rows:
        yield [at, stream, list(row)]


def _message(given: Mapping[str, Any], place: str) -> bytes:
    if "message" in given:
        return str(given["message"]).encode()
    try:
        return base64.b64decode(str(given["base64"]), validate=True)
    except (binascii.Error, ValueError):
        raise AppCaseError(f"{place}: base64 is none") from None


def _readers(app: App, schemas: Path | None) -> dict[str, RowReader]:
    """Return the reader of each stream with a source, the first one's of several. Raises AppUnsupportedError."""
    columns = {
        one.name: tuple((column.name, column.type) for column in one.columns)
        for one in app.definitions
        if isinstance(one, StreamDefinition)
    }
    found: dict[str, RowReader] = {}
    for end in app_ends(app):
        if end.kind == "source" and end.name in columns and end.name not in found:
            # a column that a message lacks is null in responses alone
            needs_all = end.type.lower() != "http-call-response"
            found[end.name] = row_reader(end, columns[end.name], schemas, needs_all=needs_all)
    return found
