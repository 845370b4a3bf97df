"""Small apps whose stream `O` is looked at."""

from typing import Any

from cep.apps.engine.app_cases import same_values
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app

Rows = list[tuple[Any, ...]]
Event = tuple[Any, ...]
"""Time, stream, values; or the time alone."""


def rows_of(text: str, events: list[Event]) -> Rows:
    engine, rows = StreamEngine(parse_app(text)), Rows()
    engine.listen("O", lambda at, row: rows.append((at, *row)))
    for at, *event in events:
        if event:
            engine.send(event[0], at, event[1])
        else:
            engine.advance(at)
    return rows


def check(text: str, events: list[Event], expected: Rows) -> None:
    found = rows_of(text, events)
    assert same_values(found, expected), found
