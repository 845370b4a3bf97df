"""Who runs an app live: `@App:host('structured')`, or the resident host, which needs no word.

The structured host keeps the state of each key of a partition by itself, and has a key at hand only if rows of it
come. So an app fits if all that it keeps is kept by key, and if nothing happens but with a row of the key: what
the clock alone does has an order among all keys.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from cep.apps.compiler.query import QUERY_AGGREGATORS
from cep.apps.compiler.stream_functions import STREAM_FUNCTIONS, KeepingFunction
from cep.apps.compiler.window_plans import STREAM_WORKER_NAMES
from cep.apps.language.app_tree import (
    AbsentStep,
    AggregationDefinition,
    Annotation,
    App,
    JoinInput,
    PartitionBlock,
    Query,
    Source,
    StreamDefinition,
    StreamFunction,
    StreamInput,
    TableDefinition,
    TriggerDefinition,
    Window,
    WindowDefinition,
)
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import FunctionCall, Place
from cep.apps.language.stream_names import nodes_of
from cep.apps.parts.scope import unknown

HostName = Literal["resident", "structured"]
HOSTS: tuple[HostName, ...] = ("resident", "structured")
STILL_WINDOWS = frozenset(
    (
        *("length", "lengthBatch", "batch", "externalTime", "sort", "expression", "expressionBatch"),
        *("frequent", "lossyFrequent", "unique:length", "unique:lengthBatch", "unique:ever", "unique:first"),
    )
)
"""Windows that the clock does nothing in."""
SLIDING_BY_CLOCK = frozenset(("time", "timeLength"))
"""Windows that rows leave by the clock, and give nothing by it if only rows that enter are wanted."""
REORDERS = "reorder:kslack"
"""The function of a stream whose rows go on by the clock, if its text says how long they may wait."""
OF_ALL_KEYS = TableDefinition | WindowDefinition | AggregationDefinition | TriggerDefinition
_WORDS = {
    TableDefinition: "the table",
    WindowDefinition: "the window",
    AggregationDefinition: "the aggregation",
    TriggerDefinition: "the trigger",
}
FITS = "the structured host keeps state by key alone"


def host_of(app: App) -> HostName:
    """Raise AppTextError if the text names no host that there is, AppUnsupportedError if the app does not fit
    it."""
    host: HostName = "resident"
    for annotation in app.annotations:
        if annotation.name.lower() == "app:host":
            host = _named(annotation)
    if host == "structured":
        for at, problem in unfit(app):
            raise AppUnsupportedError(at, f"{problem}; leave @App:host out, or {_ADVICE}")
    return host


_ADVICE = "see docs/apps/running.md for what fits"


def _named(annotation: Annotation) -> HostName:
    name = annotation.items[0].value if len(annotation.items) == 1 else ""
    for host in HOSTS:
        if host == name.lower():
            return host
    if not name:
        raise AppTextError(annotation.at, "write @App:host('structured') or @App:host('resident')")
    raise unknown(annotation.at, f"there is no host {name!r}; there are resident and structured", name, list(HOSTS))


def unfit(app: App) -> Iterator[tuple[Place, str]]:
    """Return what keeps the app from the structured host: where, and why."""
    blocks = [one for one in app.elements if isinstance(one, PartitionBlock)]
    for processor in app.processors:
        yield processor.at, f"the processor {processor.name} has alarms, whose order among all keys is the clock's"
    if not blocks:
        yield Place(1, 1), f"the app has no partition, and {FITS}"
    yield from _defined(app)
    for element in app.elements:
        if isinstance(element, Query):
            yield from _of_all_keys(element)
        else:
            yield from _of_block(element)
    for node in nodes_of((app.elements,)):
        if isinstance(node, FunctionCall) and node.full_name == "UUID":
            yield node.at, f"UUID() counts over all keys, and {FITS}"


def _defined(app: App) -> Iterator[tuple[Place, str]]:
    for definition in app.definitions:
        if isinstance(definition, OF_ALL_KEYS):
            what = f"{_WORDS[type(definition)]} {definition.name!r} is one for all keys"
            yield definition.at, f"{what}, and {FITS}"
        elif isinstance(definition, StreamDefinition) and definition.scope == "global":
            what = f"the stream {definition.name!r} has rows of other regions"
            yield definition.at, f"{what}, and {FITS}"


def _of_all_keys(query: Query) -> Iterator[tuple[Place, str]]:
    """Find what a query in no partition keeps or compares over its rows, which no host of partitions can."""
    what = None
    if not isinstance(query.input, StreamInput):
        what = "a join" if isinstance(query.input, JoinInput) else "a pattern"
    elif query.rate is not None:
        what = "an output rate"
    elif any(isinstance(one, Window) for one in query.input.handlers):
        what = "a window"
    elif any(_keeps(one) for one in query.input.handlers):
        what = "a function that keeps rows"
    elif any(call.full_name in QUERY_AGGREGATORS for call in _calls(query.selection)):
        what = "an aggregator"
    if what is not None:
        yield query.at, f"the query has {what} in no partition, so it keeps something for all keys, and {FITS}"


def _of_block(block: PartitionBlock) -> Iterator[tuple[Place, str]]:
    for annotation in block.annotations:
        if annotation.name.lower() == "purge":
            yield (
                annotation.at,
                "@purge forgets keys by the clock, and the structured host sees a key with its rows alone",
            )
    keyed = {key.stream for key in block.keys}
    for query in block.queries:
        for node in nodes_of((query.input,)):
            if isinstance(node, Source) and node.mark != "#" and node.name not in keyed:
                yield (
                    node.at,
                    f"{node.mark}{node.name} is not partitioned here, so its rows are for all keys, and {FITS}",
                )
        yield from _by_clock(query)


def _by_clock(query: Query) -> Iterator[tuple[Place, str]]:
    """Return what gives rows though none of its key comes."""
    later = "gives rows by the clock, whose order among all keys the structured host does not have"
    if query.rate is not None and (query.rate.milliseconds is not None or query.rate.kind == "snapshot"):
        yield query.rate.at, f"this output rate {later}"
    for node in nodes_of((query.input,)):
        if isinstance(node, AbsentStep) and node.wait is not None:
            yield node.at, f"an absence with a time {later}"
        elif isinstance(node, StreamFunction) and node.call.full_name == REORDERS and len(node.call.arguments) > 1:
            yield node.at, f"#{node.call.full_name}() with a time {later}"
        elif isinstance(node, Window):
            name = STREAM_WORKER_NAMES.get(node.window.full_name.upper(), node.window.full_name)
            slides = name in SLIDING_BY_CLOCK and isinstance(query.input, StreamInput)
            if name not in STILL_WINDOWS and not (slides and query.output.kind == "current"):
                where = " with all or expired events" if slides else " in a join" if name in SLIDING_BY_CLOCK else ""
                yield node.at, f"the window {node.window.full_name}{where} {later}"


def _keeps(node: object) -> bool:
    """Tell if it is a function of a stream whose rows depend on those before."""
    return isinstance(node, StreamFunction) and isinstance(STREAM_FUNCTIONS.get(node.call.full_name), KeepingFunction)


def _calls(tree: object) -> Iterable[FunctionCall]:
    return (node for node in nodes_of(tree) if isinstance(node, FunctionCall))
