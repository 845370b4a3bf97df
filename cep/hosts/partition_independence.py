"""Which queries of an app depend on how many partitions the log has: each partition has a state of its own."""

from collections.abc import Iterator

from cep.language.app_tree import App, PartitionBlock, Query, StreamInput, ValueKey, Window
from cep.language.expression_tree import Attribute, FunctionCall
from cep.language.stream_names import nodes_of
from cep.parts.aggregators import AGGREGATORS

KEY = "base"
"""What the log is partitioned by."""


def dependent_queries(app: App) -> list[str]:
    """Their names, or where they are: they keep something, and are in no partition by `base`."""
    named = []
    for query in _queries(app):
        if _keeps(query):
            names = (item.value for one in query.annotations for item in one.items if item.key == "name")
            named.append(next(names, f"the query at line {query.at.line}"))
    return named


def _queries(app: App) -> Iterator[Query]:
    for element in app.elements:
        if isinstance(element, Query):
            yield element
        elif not _is_by_base(element):
            yield from element.queries


def _is_by_base(block: PartitionBlock) -> bool:
    return all(
        isinstance(key, ValueKey) and isinstance(key.key, Attribute) and key.key.name == KEY for key in block.keys
    )


def _keeps(query: Query) -> bool:
    """Whether it has a window, a pattern, a join, an aggregator or a rate."""
    if not isinstance(query.input, StreamInput) or query.rate is not None:
        return True
    if any(isinstance(one, Window) for one in query.input.handlers):
        return True
    calls = (node for node in nodes_of(query.selection.columns) if isinstance(node, FunctionCall))
    return any(call.name in AGGREGATORS or (call.namespace == "json" and call.name == "group") for call in calls)
