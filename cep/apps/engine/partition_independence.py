"""Which queries of an app depend on how many partitions the log has: each partition has a state of its own."""

from collections.abc import Iterator

from cep.apps.compiler.query import QUERY_AGGREGATORS, query_name
from cep.apps.language.app_tree import App, PartitionBlock, Query, StreamInput, ValueKey, Window
from cep.apps.language.expression_tree import Attribute, FunctionCall
from cep.apps.language.stream_names import nodes_of

KEY = "base"
"""What the log is partitioned by."""


def dependent_queries(app: App) -> list[str]:
    """Their names, or where they are: they keep something, and are in no partition by `base`; and processors."""
    queries = [query_name(one) or f"the query at line {one.at.line}" for one in _queries(app) if _keeps(one)]
    return queries + [f"the processor {one.name}" for one in app.processors]


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
    return any(call.full_name in QUERY_AGGREGATORS for call in calls)
