"""What an app is made of, for programs: its streams, queries and tables, and who reads what."""

from collections.abc import Mapping
from typing import Any

from cep.apps.compiler.app import AppPlan
from cep.apps.engine.app_endpoints import app_endpoints
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.product_streams import PRODUCT_STREAMS, read_streams
from cep.apps.language.app_tree import (
    AggregationDefinition,
    App,
    InsertInto,
    PartitionBlock,
    PatternInput,
    Query,
    Source,
    StreamDefinition,
    TableDefinition,
    Window,
    WindowDefinition,
)
from cep.apps.language.stream_names import nodes_of, output_streams
from cep.apps.parts.scope import Columns

Row = dict[str, Any]


def explained(source: AppSource) -> Row:
    """Return the parts by kind. `reads`: what each stream, table and window is made of."""
    engine = StreamEngine(source.app, terms=source.terms)
    plan = engine.plan
    queries = [_query(query, block) for query, block in _queries(source.app)]
    return {
        "name": source.name,
        "version": source.version,
        "host": source.host,
        "streams": [_stream(source, name, columns) for name, columns in plan.streams.items()],
        "queries": queries,
        "windows": _named(plan, source.app, WindowDefinition),
        "tables": _named(plan, source.app, TableDefinition),
        "aggregations": _named(plan, source.app, AggregationDefinition),
        "functions": [{"name": one.name, "returns": one.returns} for one in plan.own.defined.values()],
        "ends": [{"stream": one.name, "kind": one.kind, "type": one.type} for one in plan.ends],
        "endpoints": [
            {"path": one.path, "query": one.query, "parameters": [{"name": n, "type": k} for n, k in one.parameters]}
            for one in app_endpoints(source.app, source.terms)
        ],
        "reads": _reads(queries),
        "outputs": list(output_streams(source.app)),
        "topics": list(source.sources),
        "log": source.topic,
        "is_keyed": source.is_keyed,
        "limits": {"state_bytes": plan.limits.state_bytes, "event_seconds": plan.limits.event_seconds},
    }


def _stream(source: AppSource, name: str, columns: Columns) -> Row:
    read = {one.name for one in read_streams(source.app)}
    defined = {one.name for one in source.app.definitions if isinstance(one, StreamDefinition)}
    kind = "read" if name in read and name in PRODUCT_STREAMS else "defined" if name in defined else "given"
    return {"name": name, "kind": kind, "columns": _columns(columns)}


def _queries(app: App) -> list[tuple[Query, int | None]]:
    """Return the queries in the order of the text, each with the number of its partition."""
    found: list[tuple[Query, int | None]] = []
    number = 0
    for element in app.elements:
        if isinstance(element, PartitionBlock):
            number += 1
            found += [(query, number) for query in element.queries]
        else:
            found.append((element, None))
    return found


def _query(query: Query, partition: int | None) -> Row:
    named = (item.value for one in query.annotations if one.name.lower() == "info" for item in one.items)
    reads = dict.fromkeys(f"{one.mark}{one.name}" for one in nodes_of(query.input) if isinstance(one, Source))
    target = getattr(query.output, "target", None)
    parts = [one.window.full_name for one in nodes_of(query.input) if isinstance(one, Window)]
    if isinstance(query.input, PatternInput):
        parts.append(query.input.kind)
    return {
        "name": next(named, None),
        "line": query.at.line,
        "reads": list(reads),
        "gives": None if target is None else f"{target.mark}{target.name}",
        "writes": None if isinstance(query.output, InsertInto) or target is None else type(query.output).__name__,
        "parts": parts,
        "partition": partition,
    }


def _named(plan: AppPlan, app: App, kind: type[Any]) -> list[Row]:
    known: Mapping[str, Columns] = {
        **{name: one.columns for name, one in plan.windows.items()},
        **{name: one.columns for name, one in plan.tables.items()},
        **plan.of_aggregations,
    }
    mine = [one.name for one in app.definitions if isinstance(one, kind)]
    return [{"name": name, "columns": _columns(known[name])} for name in mine]


def _columns(columns: Columns) -> list[Row]:
    return [{"name": one.name, "type": one.type} for one in columns]


def _reads(queries: list[Row]) -> Mapping[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for query in queries:
        if query["gives"] is not None:
            found.setdefault(query["gives"], {}).update(dict.fromkeys(query["reads"]))
    return {name: list(reads) for name, reads in found.items()}
