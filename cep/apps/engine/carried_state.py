"""What another text of an app can go on with: tables, windows, aggregations, queries and partitions that both texts say
alike, over streams with the same columns and named windows with the same definition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from cep.apps.compiler.app import AppPlan
from cep.apps.compiler.partitions import PartitionPlan
from cep.apps.engine.app_parts import PartKey, PartKind
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_tree import (
    AggregationDefinition,
    App,
    FunctionDefinition,
    RangeKey,
    Source,
    TableDefinition,
    TriggerDefinition,
    ValueKey,
    WindowDefinition,
)
from cep.apps.language.stream_names import nodes_of

_KINDS: Mapping[type, PartKind] = {
    TableDefinition: "table",
    WindowDefinition: "window",
    AggregationDefinition: "aggregation",
    TriggerDefinition: "trigger",
}
_PLACES = frozenset(("at", "body_at"))
"""Where something stands in the text."""


@dataclass(frozen=True, slots=True)
class CarriedParts:
    """In words. `fit`: of the new text, with what they had; `empty`: of it, with nothing; `dropped`: of the other.
    `names`: of the tables, windows and aggregations that fit."""

    fit: tuple[str, ...]
    empty: tuple[str, ...]
    dropped: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    key: PartKey
    label: str
    says: object
    """All that its state depends on, without places."""


def carried_parts(before: StreamEngine, app_before: App, after: StreamEngine, app_after: App) -> CarriedParts:
    """Say what would be carried over."""
    return _named(*_matched(before, app_before, after, app_after))


def carry(before: StreamEngine, app_before: App, after: StreamEngine, app_after: App) -> CarriedParts:
    """Let `after`, which has seen no row, go on with what `before` has kept where that fits."""
    pairs, empty, dropped = _matched(before, app_before, after, app_after)
    ranks = [(before.ranks[one.key], after.ranks[other.key]) for one, other in pairs]
    of_before, of_after = _partitions(before.plan), _partitions(after.plan)
    partitions = [(of_before[one.key], of_after[other.key]) for one, other in pairs if one.key in of_before]
    after.state.take_over(before.state, ranks, partitions)
    return _named(pairs, empty, dropped)


def _matched(
    before: StreamEngine, app_before: App, after: StreamEngine, app_after: App
) -> tuple[list[tuple[_Part, _Part]], list[_Part], list[_Part]]:
    left, pairs, empty = list(_parts(before, app_before)), list[tuple[_Part, _Part]](), list[_Part]()
    for part in _parts(after, app_after):
        same = next((one for one in left if (one.key[0], one.says) == (part.key[0], part.says)), None)
        if same is None:
            empty.append(part)
        else:
            left.remove(same)
            pairs.append((same, part))
    return pairs, empty, left


def _named(pairs: list[tuple[_Part, _Part]], empty: list[_Part], dropped: list[_Part]) -> CarriedParts:
    fit = tuple(part.label for _, part in pairs)
    names = tuple(part.key[1] for _, part in pairs if part.key[0] not in ("element", "processor"))
    return CarriedParts(fit, tuple(one.label for one in empty), tuple(one.label for one in dropped), names)


def _parts(engine: StreamEngine, app: App) -> Iterator[_Part]:
    plan = engine.plan
    functions = tuple(_plain(one) for one in app.definitions if isinstance(one, FunctionDefinition))
    of_all = (functions, *((name, table.columns) for name, table in sorted(plan.tables.items())))
    for definition in app.definitions:
        kind = _KINDS.get(type(definition))
        if kind is not None:
            says = (_plain(definition), _columns_read(definition, plan), _windows_read(definition, app), functions)
            yield _Part((kind, definition.name), f"the {kind} {definition.name!r}", says)
    for processor in app.processors:
        # its code may be another: what it does with what it has kept is the operator's
        columns = tuple((one.name, plan.streams.get(one.name)) for one in processor.events)
        yield _Part(("processor", processor.name), plan.processors[processor.name].label, (processor.name, columns))
    for number, element in enumerate(app.elements):
        label = plan.elements[number].label
        says = (_plain(element), _columns_read(element, plan), _windows_read(element, app), of_all)
        yield _Part(("element", str(number)), label, says)


def _columns_read(node: object, plan: AppPlan) -> tuple[object, ...]:
    """Return the columns of all streams, windows and aggregations that a part names, each with its types."""
    named = {one.name for one in nodes_of(node, with_writes=True) if isinstance(one, Source)}
    named |= {one.stream for one in nodes_of(node) if isinstance(one, ValueKey | RangeKey)}
    known = {**plan.streams, **{name: one.columns for name, one in plan.windows.items()}, **plan.of_aggregations}
    return tuple((name, known.get(name)) for name in sorted(named))


def _windows_read(node: object, app: App) -> tuple[object, ...]:
    """Return the definitions of the named windows that a part reads: what it keeps, such as a sum, is of their rows,
    so it goes on only if they do."""
    named = {one.name for one in nodes_of(node) if isinstance(one, Source)}
    named |= {one.stream for one in nodes_of(node) if isinstance(one, ValueKey | RangeKey)}
    return tuple(_plain(one) for one in app.definitions if isinstance(one, WindowDefinition) and one.name in named)


def _partitions(plan: AppPlan) -> dict[PartKey, int]:
    """Return the numbers of partitions among themselves."""
    found = [str(place) for place, element in enumerate(plan.elements) if isinstance(element, PartitionPlan)]
    return {("element", place): number for number, place in enumerate(found)}


def _plain(node: object) -> object:
    """Return the tree without places."""
    if isinstance(node, tuple | list):
        return tuple(_plain(one) for one in node)
    if is_dataclass(node):
        own = (_plain(getattr(node, field.name)) for field in fields(node) if field.name not in _PLACES)
        return (type(node).__name__, *own)
    return node
