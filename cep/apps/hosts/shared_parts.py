"""What of an app all regions of a session share: its GLOBAL streams and tables. Pure.

What is refused would be wrong in one of the regions, and nobody would see it: rows that go round between regions for
ever, and values that are made of the very row which they replace, of which one of two is lost.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cep.apps.engine.feeding_streams import path_back
from cep.apps.hosts.app_outside import AppOutside, StoredTable
from cep.apps.language.app_tree import (
    App,
    Assignment,
    InsertInto,
    PartitionBlock,
    Query,
    Source,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    UpdateTable,
    WindowDefinition,
)
from cep.apps.language.errors import AppUnsupportedError
from cep.apps.language.expression_tree import Attribute, Place, ValueType
from cep.apps.language.stream_names import nodes_of, stream_names

GLOBAL = "global"
Edges = dict[str, list[str]]
"""What is read → what is written with its rows."""


@dataclass(frozen=True, slots=True)
class SharedParts:
    """`streams`: each with its columns; `tables`: all of them are stored."""

    streams: Mapping[str, tuple[tuple[str, ValueType], ...]]
    tables: tuple[StoredTable, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.streams, *(one.table for one in self.tables)))


def shared_parts(app: App, outside: AppOutside) -> SharedParts:
    """In the order of the text."""
    streams = {
        one.name: tuple((column.name, column.type) for column in one.columns)
        for one in app.definitions
        if isinstance(one, StreamDefinition) and one.scope == GLOBAL
    }
    tables = {one.name for one in app.definitions if isinstance(one, TableDefinition) and one.scope == GLOBAL}
    return SharedParts(streams, tuple(one for one in outside.tables if one.table in tables))


def check_shared(app: App, outside: AppOutside) -> None:
    """Raise AppUnsupportedError if regions cannot share what the app's text says."""
    parts = shared_parts(app, outside)
    definitions = {one.name: one for one in app.definitions}
    sources = (outside.responses, outside.kafka_sources, outside.received)
    given = {one.stream for of_type in sources for one in of_type}
    for name, columns in parts.streams.items():
        at = definitions[name].at
        odd = next((column for column, kind in columns if kind == "object"), None)
        if odd is not None:
            raise _refused(at, name, f"{odd!r} is an object, which is not written to other regions")
        if name in given:
            problem = "it has a source, which each region reads for itself; insert its rows into another stream"
            raise _refused(at, name, f"{problem} that is GLOBAL")
        _check_circle(app, outside, name)
    for table in parts.tables:
        _check_values(app, table)


def _check_circle(app: App, outside: AppOutside, name: str) -> None:
    path = path_back(_stream_edges(app, outside), name)
    if path is not None:
        circle = " -> ".join((*path, name))
        problem = f"rows of it are made of rows of it ({circle}), and would go round between regions for ever"
        raise _refused(_closing(app, path[-1], name), name, f"{problem}; insert them into a LOCAL stream")


def _closing(app: App, last: str, name: str) -> Place:
    """Where rows of `last` are inserted into the stream; of errors, and answers to requests, its definition."""
    places = (
        query.output.target.at
        for query in _queries(app)
        if isinstance(query.output, InsertInto) and query.output.target.name == name and last in _sources(query, ())
    )
    return next(places, next(one.at for one in app.definitions if one.name == name))


def _check_values(app: App, table: StoredTable) -> None:
    """Refuse values made of what is there: a region that has not seen another's row yet would overwrite that one."""
    advice = "of two regions one loses its change; insert a row for each change, with the region in its key, and sum"
    for query in _queries(app):
        if isinstance(query.output, UpdateTable) and query.output.target.name == table.table:
            outer = _names_in(app, query)
            own = next((one for one in query.output.assignments if _reads(one, outer, table)), None)
            if own is not None:
                problem = f"{own.target.name!r} is set to what is made of the row's own values: {advice}"
                raise _refused(own.target.at, table.table, problem)
    path = path_back(_value_edges(app), table.table)
    if path is not None:
        circle = " -> ".join((*path, table.table))
        at = next(one.at for one in app.definitions if one.name == table.table)
        raise _refused(at, table.table, f"rows of it are made of rows of it ({circle}): {advice}")


def _reads(one: Assignment, outer: Collection[str], table: StoredTable) -> bool:
    """Names that a query's rows do not have are the table's (`table_compiler.table_scope`)."""
    own = {name for name, _ in table.columns}
    return any(
        node.source == table.table or (node.source is None and node.name not in outer and node.name in own)
        for node in nodes_of(one.value)
        if isinstance(node, Attribute)
    )


def _names_in(app: App, query: Query, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of the columns of a query's rows; if nothing is selected, of those that it reads."""
    given = query.selection.columns
    if given is not None:
        return {column.name or _name_of(column.expression) for column in given}
    return {name for source in _sources(query, ()) if source not in seen for name in _columns(app, source, seen)}


def _columns(app: App, source: str, seen: frozenset[str]) -> set[str]:
    """Names of a stream's columns: as it is defined, else as its first query writes it."""
    if source.startswith("!"):
        return _columns(app, source[1:], seen) | {"_error"}
    for one in app.definitions:
        if one.name == source:
            columns = one.columns if isinstance(one, StreamDefinition | TableDefinition | WindowDefinition) else ()
            return {"triggered_time"} if isinstance(one, TriggerDefinition) else {column.name for column in columns}
    writing = (query for query in _queries(app) if _writes_values(query) == source)
    first = next(writing, None)
    return set() if first is None else _names_in(app, first, seen | {source})


def _name_of(expression: object) -> str:
    """Empty if it has none."""
    return expression.name if isinstance(expression, Attribute) else ""


def _stream_edges(app: App, outside: AppOutside) -> Edges:
    """Rows of which streams make rows of which: queries, errors, and the answers to requests. A table's rows make
    none by themselves."""
    tables = {one.name for one in app.definitions if isinstance(one, TableDefinition)}
    edges: Edges = {}
    for query in _queries(app):
        if isinstance(query.output, InsertInto):
            for name in _sources(query, tables):
                edges.setdefault(name, []).append(query.output.target.mark + query.output.target.name)
    for name in stream_names(app).defined:
        edges.setdefault(name, []).append(f"!{name}")
    for call in outside.calls:
        edges.setdefault(call.stream, []).extend(one.stream for one in outside.responses_to(call))
    return edges


def _value_edges(app: App) -> Edges:
    """Values of which streams and tables are in rows of which."""
    edges: Edges = {}
    for query in _queries(app):
        target = _writes_values(query)
        if target is not None:
            for name in _sources(query, ()):
                edges.setdefault(name, []).append(target)
    return edges


def _writes_values(query: Query) -> str | None:
    output = query.output
    return output.target.mark + output.target.name if isinstance(output, InsertInto | UpdateTable) else None


def _sources(query: Query, without: Collection[str]) -> Iterator[str]:
    for node in nodes_of(query.input):
        if isinstance(node, Source) and node.name not in without:
            yield node.mark + node.name


def _queries(app: App) -> Iterator[Query]:
    for element in app.elements:
        yield from element.queries if isinstance(element, PartitionBlock) else (element,)


def _refused(at: Place, name: str, problem: str) -> AppUnsupportedError:
    return AppUnsupportedError(at, f"not supported: {name!r} is GLOBAL, but {problem}")
