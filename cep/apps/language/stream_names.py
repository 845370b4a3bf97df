"""The streams that an app's text reads and writes by name."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

from cep.apps.language.app_ends import has_sink, kept_streams
from cep.apps.language.app_tree import (
    AggregationDefinition,
    App,
    DeleteFrom,
    InsertInto,
    RangeKey,
    Return,
    Source,
    StreamDefinition,
    TableDefinition,
    UpdateTable,
    ValueKey,
    WindowDefinition,
)
from cep.apps.language.expression_tree import Place

WRITES = InsertInto | DeleteFrom | UpdateTable | Return


@dataclass(frozen=True, slots=True)
class StreamNames:
    """Each in the order of the text. `defined` has tables, windows, triggers and functions too."""

    defined: tuple[str, ...]
    read: dict[str, Place]
    """With the first place where it stands, as in `inserted`."""
    inserted: dict[str, Place]


def stream_names(app: App) -> StreamNames:
    """Inner streams of partitions are left out."""
    read: dict[str, Place] = {}
    inserted: dict[str, Place] = {}
    aggregations = [one for one in app.definitions if isinstance(one, AggregationDefinition)]
    for node in nodes_of((app.elements, aggregations, app.processors)):
        match node:
            case InsertInto(target=Source(mark="") as target):
                inserted.setdefault(target.name, target.at)
            case Source(mark=""):
                read.setdefault(node.name, node.at)
            case ValueKey() | RangeKey():
                read.setdefault(node.stream, node.at)
            case _:
                pass
    return StreamNames(tuple(one.name for one in app.definitions), read, inserted)


def output_streams(app: App) -> tuple[str, ...]:
    """Return the streams that the app writes to and does not read, and its sinks; if it has neither, all that it
    writes to. Streams of errors that are kept in the error store are among them."""
    names = stream_names(app)
    kept = {one.name for one in app.definitions if isinstance(one, TableDefinition | WindowDefinition)}
    sinks = {one.name for one in app.definitions if isinstance(one, StreamDefinition) and has_sink(one)}
    targets = tuple(name for name in names.inserted if name not in kept)
    given = tuple(name for name in targets if name not in names.read or name in sinks) or targets
    errors = (f"!{name}" for name in kept_streams(app))
    return (*given, *(name for name in errors if name not in given))


def nodes_of(tree: object, *, with_writes: bool = False) -> Iterator[object]:
    """Its node and all below it in the order of the text, however deep; what an output writes to only if it is
    asked for."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple | list):
            waiting.extend(reversed(node))
        elif (names := _fields_from_the_last(type(node))) is not None:  # type: ignore[arg-type] # classes can be kept
            yield node
            if with_writes or not isinstance(node, WRITES):
                waiting.extend(getattr(node, name) for name in names)


@cache
def _fields_from_the_last(kind: type) -> tuple[str, ...] | None:
    """Return their names; None if it is no node. Kept, since each look at an app asks it of hundreds of nodes."""
    return tuple(field.name for field in reversed(fields(kind))) if is_dataclass(kind) else None
