"""What names mean in a part of a query, and the Python that reads them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Protocol

from cep.apps.language.app_tree import ColumnDefinition
from cep.apps.language.errors import AppTextError, UnknownNameError
from cep.apps.language.expression_tree import Attribute, InTable, Place, ValueType

MOST_COMPARED = 1_000
"""Known names that an unknown one is compared with, which costs some microseconds each."""


@dataclass(frozen=True, slots=True)
class Code:
    """Python of one value, and the value's type. `constant`: the value itself, of one that is the same in every row."""

    source: str
    type: ValueType
    constant: object = None

    @property
    def is_constant(self) -> bool:
        return self.constant is not None


@dataclass(frozen=True, slots=True)
class TypedColumn:
    name: str
    type: ValueType


Columns = tuple[TypedColumn, ...]


def described(columns: Columns) -> str:
    return ", ".join(f"{one.name} {one.type}" for one in columns)


def check_fits(at: Place, target: str, wanted: Columns, given: Columns) -> None:
    """Raise AppTextError if rows of the columns `given` cannot be written to `target`."""
    if [one.type for one in wanted] != [one.type for one in given]:
        problem = f"{target!r} has the columns {described(wanted)}, and this query gives {described(given)}"
        raise AppTextError(at, problem)


def columns_of(definitions: Sequence[ColumnDefinition]) -> Columns:
    return tuple(TypedColumn(one.name, one.type) for one in definitions)


TableCode = Callable[[InTable, "Scope"], Code]


class Scope(Protocol):
    """Finds what an attribute means where an expression stands."""

    def code_of(self, attribute: Attribute) -> Code:
        """Raise AppTextError if there is no such attribute."""


@dataclass(frozen=True, slots=True)
class RowScope:
    """One row of one stream, as the Python variable `variable`."""

    columns: Columns
    names: frozenset[str]
    """What the stream may be called."""
    variable: str = "row"
    offset: int = 0
    outer: Scope | None = None
    """Where a name that is not found here is looked for."""
    is_named: bool = False
    """Whether names without their stream are looked for in the outer scope first."""

    def code_of(self, attribute: Attribute) -> Code:
        if self.is_named and attribute.source is None and self.outer is not None:
            try:
                return self.outer.code_of(attribute)
            except AppTextError:
                return replace(self, outer=None, is_named=False).code_of(attribute)
        if attribute.source is None or attribute.source in self.names:
            for position, column in enumerate(self.columns):
                if column.name == attribute.name:
                    return Code(f"{self.variable}[{position + self.offset}]", column.type)
        if self.outer is not None:
            return self.outer.code_of(attribute)
        if attribute.source is not None and attribute.source not in self.names:
            raise unknown(attribute.at, f"there is no stream {attribute.source!r} here", attribute.source, self.names)
        names = [column.name for column in self.columns]
        raise unknown(attribute.at, f"there is no attribute {attribute.name!r}", attribute.name, names)


@dataclass(frozen=True, slots=True)
class NoScope:
    """Where only constants may stand; `what` stands there."""

    what: str

    def code_of(self, attribute: Attribute) -> Code:
        raise AppTextError(attribute.at, f"{self.what} must be a constant, and {attribute.name!r} is an attribute")


@dataclass(frozen=True, slots=True)
class Environment:
    """Names that the generated Python uses, each with what it is."""

    names: dict[str, object] = field(default_factory=dict)
    in_table: TableCode | None = None
    """The Python of `in`, if the app has tables."""


def unknown(at: Place, problem: str, name: str, known: Sequence[str] | frozenset[str]) -> AppTextError:
    """With the nearest of the known names, if one is near."""
    problem = with_nearest(problem, name, known)
    return UnknownNameError(at, problem, name, tuple(sorted(known)), nearest(name, known))


def with_nearest(problem: str, name: str, known: Sequence[str] | frozenset[str]) -> str:
    """Return `problem`, and which of the known names may be meant by `name`."""
    near = nearest(name, known)
    return problem if near is None else f"{problem}; did you mean {near!r}?"


def nearest(name: str, known: Sequence[str] | frozenset[str]) -> str | None:
    """Return which of the known names may be meant by `name`; None if none is near, or there are too many to compare
    with."""
    near = get_close_matches(name, sorted(known), n=1) if len(known) <= MOST_COMPARED else []
    return near[0] if near else None
