"""The text of a stream app, in Siddhi's spelling or the Stream Worker language's, to its tree."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from lark import Token, Tree, UnexpectedInput

from cep.apps.language.app_tree import (
    Annotation,
    App,
    Definition,
    OnDemandQuery,
    PartitionBlock,
    Query,
)
from cep.apps.language.definition_builder import DEFINITION_BUILDERS
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_builder import EXPRESSION_BUILDERS
from cep.apps.language.expression_tree import Constant, Expression, Place
from cep.apps.language.grammar_parser import Start, parse_tree
from cep.apps.language.processor_builder import processors_of
from cep.apps.language.query_builder import QUERY_BUILDERS
from cep.apps.language.query_parameters import named_parameters, with_values
from cep.apps.language.syntax_errors import place_at, syntax_error

MOST_CHARACTERS = 100_000
DEEPEST = 150
"""Levels of the tree. Who walks over it does so by recursion, which Python ends at a thousand calls."""


@dataclass(frozen=True, slots=True)
class Statement:
    annotations: tuple[Annotation, ...]
    """The annotations of the whole app, written before this statement."""
    element: Definition | Query | PartitionBlock


def parse_app(text: str) -> App:
    """Raise AppTextError: if the text is not of the language, or is too long or nested too deep."""
    return cast(App, _built(text, "app"))


def parse_on_demand(text: str, values: Mapping[str, Constant] | None = None) -> OnDemandQuery:
    """`values`: what stands for each `{name}` in the query. A value is put into the tree, never into the text, so no
    value can be more than a value.

    Raises AppTextError, as `parse_app` does; also for a name without a value.
    """
    if values is None:
        return cast(OnDemandQuery, _built(text, "on_demand"))
    return with_values(cast(OnDemandQuery, _built(named_parameters(text), "on_demand")), values)


def parse_expression(text: str) -> Expression:
    """Raise AppTextError, as `parse_app` does."""
    return cast(Expression, _built(text, "only_expression"))


def _built(text: str, start: Start) -> App | OnDemandQuery | Expression:
    if len(text) > MOST_CHARACTERS:
        raise AppTextError(place_at(text, MOST_CHARACTERS), f"the text is longer than {MOST_CHARACTERS:,} characters")
    try:
        tree = parse_tree(text, start)
    except UnexpectedInput as error:
        problem = syntax_error(text, error)
    else:
        return cast(App | OnDemandQuery | Expression, _folded(tree))
    raise problem


def _folded(tree: Tree[Token]) -> object:
    """Children before their parents and without recursion, so that no nesting of a text is too deep for this."""
    built: dict[int, Any] = {}
    depths: dict[int, int] = {}
    for node in tree.iter_subtrees():
        at = _place(node)
        inner = [id(child) for child in node.children if isinstance(child, Tree)]
        depths[id(node)] = 1 + max((depths[child] for child in inner), default=0)
        if depths[id(node)] > DEEPEST:
            raise AppTextError(at, f"this is nested more than {DEEPEST} levels deep")
        children = [built[id(child)] if isinstance(child, Tree) else child for child in node.children]
        built[id(node)] = BUILDERS[node.data](at, *children)
    return built[id(tree)]


def _place(node: Tree[Token]) -> Place:
    # A rule that matched nothing has no place; what it makes has none either.
    return Place(1, 1) if node.meta.empty else Place(node.meta.line, node.meta.column)


def _statement(_: Place, *parts: Any) -> Statement:
    annotations, element = parts[:-1], parts[-1]
    of_app = tuple(annotation for annotation in annotations if annotation.name.lower().startswith("app:"))
    own = tuple(annotation for annotation in annotations if annotation not in of_app)
    return Statement(of_app, replace(element, annotations=(*own, *element.annotations)))


def _app(_: Place, *statements: Statement) -> App:
    for annotation in _annotations(statements[1:]):
        raise AppTextError(annotation.at, f"@{annotation.name} must stand before the first statement")
    elements = [statement.element for statement in statements]
    annotations = tuple(_annotations(statements[:1]))
    return App(
        annotations,
        tuple(element for element in elements if not isinstance(element, Query | PartitionBlock)),
        tuple(element for element in elements if isinstance(element, Query | PartitionBlock)),
        tuple(processors_of(annotations)),
    )


def _annotations(statements: Iterable[Statement]) -> Iterable[Annotation]:
    return (annotation for statement in statements for annotation in statement.annotations)


BUILDERS: dict[str, Callable[..., Any]] = {
    "only_expression": lambda _, expression: expression,
    "app": _app,
    "statement": _statement,
    **EXPRESSION_BUILDERS,
    **DEFINITION_BUILDERS,
    **QUERY_BUILDERS,
}
"""By the grammar's rules: each is given the place where its node begins and then the node's parts."""
