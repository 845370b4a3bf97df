"""All that is wrong with an app's text, not only the first mistake.

A text without mistakes here is one that a host runs: it is compiled as for running first. Only if that fails is each
statement compiled by itself, without what is wrong in it, so that what follows from a mistake is not another one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from cep.apps.compiler.app import AppPart, AppPlan, check_names, compile_part, environment_of, parts_of
from cep.apps.compiler.limit_annotation import app_limits
from cep.apps.compiler.own_calls import bound, define_functions
from cep.apps.compiler.part_repair import repaired
from cep.apps.engine.app_endpoints import app_endpoints
from cep.apps.engine.host_choice import host_of
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.functions.own_functions import OwnFunctions
from cep.apps.hosts.app_outside import app_outside
from cep.apps.hosts.hosted_app import AppSource, app_source
from cep.apps.hosts.product_streams import product_stream_mistakes, with_product_streams
from cep.apps.language.app_ends import app_ends
from cep.apps.language.app_tree import (
    App,
    FunctionDefinition,
    InsertInto,
    PartitionBlock,
    Query,
    WindowDefinition,
)
from cep.apps.language.errors import AppTextError, UnknownNameError
from cep.apps.language.expression_tree import ValueType
from cep.apps.language.statements import MOST_MISTAKES, readable_app
from cep.apps.language.stream_names import stream_names
from cep.apps.parts.app_context import AppContext
from cep.apps.parts.scope import Environment, columns_of
from runtime.clock import steady_now

MOST_MICROSECONDS = 3_000_000
"""Time for the mistakes after the first."""
MOST_REPAIRS = 20
"""Of one statement."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class CheckedText:
    """`source`: the app, if nothing is wrong. `mistakes`: by their places."""

    source: AppSource | None
    mistakes: tuple[AppTextError, ...] = ()


def checked_text(
    text: str, file_name: str, terms: OperatorTerms, compiled: Callable[[str, str], AppSource] | None = None
) -> CheckedText:
    """Return what is wrong with the text, at most MOST_MISTAKES. `compiled`: how its host compiles it, by text and
    file name; raises AppTextError."""
    try:
        return CheckedText(app_source(text, file_name, (), terms) if compiled is None else compiled(text, file_name))
    except AppTextError as error:
        first = error
    readable = readable_app(text)
    search = _Search()
    for mistake in readable.mistakes:
        search.add(mistake)
    search.lost.update(readable.lost)
    if readable.app.definitions or readable.app.elements:
        _search(readable.app, terms, search)
    search.add(first)
    found = sorted(search.mistakes, key=lambda one: (one.at.line, one.at.column))
    return CheckedText(None, tuple(found[:MOST_MISTAKES]))


@dataclass(slots=True)
class _Search:
    """`lost`: names that mistakes left undefined. `unsure`: streams, some of whose columns have no known type."""

    mistakes: list[AppTextError] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    until: int = field(default_factory=lambda: steady_now() + MOST_MICROSECONDS)

    @property
    def is_over(self) -> bool:
        return len(self.mistakes) >= MOST_MISTAKES or steady_now() > self.until

    def add(self, mistake: AppTextError) -> None:
        """Add a mistake, unless it follows from another one, or its place has one."""
        follows = isinstance(mistake, UnknownNameError) and mistake.name.lstrip("#!") in self.lost
        if not follows and all(one.at != mistake.at for one in self.mistakes):
            self.mistakes.append(mistake)

    def attempt(self, work: Callable[[], Found]) -> Found | None:
        """Return what `work` gives; None if it finds a mistake, which is added."""
        try:
            return work()
        except AppTextError as error:
            self.add(error)
            return None


def _search(app: App, terms: OperatorTerms, search: _Search) -> None:
    for mistake in product_stream_mistakes(app):
        search.add(mistake)
        if search.is_over:
            return
    app = with_product_streams(app)
    plan = AppPlan(own=OwnFunctions(terms))
    plan.limits = search.attempt(lambda: app_limits(app, terms.limits)) or terms.limits
    plan.ends = search.attempt(lambda: tuple(app_ends(app))) or ()
    _define_functions(app, plan, search)
    checked = search.attempt(lambda: bound(app, plan.own)) or app
    environment = environment_of(plan, AppContext(0, None).part())
    for part in parts_of(checked):
        if search.is_over:
            return
        _compile(plan, part, environment, search)
    search.attempt(lambda: check_names(plan))
    search.attempt(lambda: app_outside(app, terms.schemas))
    search.attempt(lambda: host_of(app))
    if not search.mistakes:
        search.attempt(lambda: app_endpoints(app, terms))


def _define_functions(app: App, plan: AppPlan, search: _Search) -> None:
    for one in app.definitions:
        if isinstance(one, FunctionDefinition):
            alone = App((), (one,), ())
            search.attempt(lambda alone=alone: define_functions(alone, plan.own))  # type: ignore[misc]
            if one.name not in plan.own.defined:
                search.lost.add(one.name)


def _compile(plan: AppPlan, part: AppPart, environment: Environment, search: _Search) -> None:
    """Add the part to the plan, as far as it is right."""
    made = [name for name in _made(part) if name not in _known(plan)]
    is_unsure = not search.unsure.isdisjoint(_read(part))
    rest: AppPart = part
    for repairs in range(MOST_REPAIRS):
        try:
            compile_part(plan, rest, environment)
            break
        except AppTextError as error:
            # once something is left out, what the whole gives may not fit for that reason alone
            follows = (is_unsure and not isinstance(error, UnknownNameError)) or (repairs and error.at == part.at)
            if not follows:
                search.add(error)
            is_unsure = is_unsure or part is not rest
            without = repaired(rest, error.at, _types(plan, rest))
        if without is None:
            is_unsure = True
            _give_up(plan, part, search)
            break
        rest = without
    search.lost.update(name for name in made if name not in _known(plan))
    if rest is not part or is_unsure:
        search.unsure.update(made)


def _give_up(plan: AppPlan, part: AppPart, search: _Search) -> None:
    """Let those who read what cannot be compiled be checked, as far as its columns are known."""
    if isinstance(part, WindowDefinition) and part.name not in _known(plan):
        plan.streams[part.name] = columns_of(part.columns)
        search.unsure.add(part.name)


def _types(plan: AppPlan, part: AppPart) -> tuple[ValueType, ...]:
    """Return the types of the columns of the stream that a query writes to, if it is defined."""
    if isinstance(part, Query) and isinstance(part.output, InsertInto):
        return tuple(one.type for one in plan.streams.get(part.output.target.name, ()))
    return ()


def _known(plan: AppPlan) -> set[str]:
    return {*plan.streams, *plan.windows, *plan.tables, *plan.aggregations, *plan.own.defined}


def _made(part: AppPart) -> Iterable[str]:
    """Return the names that are known once the part is."""
    if isinstance(part, Query | PartitionBlock):
        return stream_names(App((), (), (part,))).inserted
    return (part.name,)


def _read(part: AppPart) -> Iterable[str]:
    if isinstance(part, Query | PartitionBlock):
        return stream_names(App((), (), (part,))).read
    return ()
