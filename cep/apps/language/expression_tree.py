"""The tree of an expression, as the text says it: no name is looked up and no type is known yet.

Every node has the place where it begins. Times are milliseconds, as in the language itself.
"""

from dataclasses import dataclass
from typing import Literal

ValueType = Literal["string", "int", "long", "float", "double", "decimal", "bool", "object"]
Operator = Literal["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
Mark = Literal["", "#", "!"]
"""Before a stream's name: an inner stream of a partition, or the errors of a stream."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place of the first character; both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Constant:
    at: Place
    value: int | float | str | bool
    type: ValueType


@dataclass(frozen=True, slots=True)
class Duration:
    """`5 sec`: a long."""

    at: Place
    milliseconds: int


@dataclass(frozen=True, slots=True)
class EventIndex:
    """`[2]`, or `[last - 1]` if `is_from_last`: which of a step's events."""

    offset: int
    is_from_last: bool


@dataclass(frozen=True, slots=True)
class Attribute:
    """`price`, `Trades.price`, `e1[last].price`, `#Inner.price`. Before `is null` also a step or stream alone: its name
    is in `name`."""

    at: Place
    name: str
    source: str | None = None
    index: EventIndex | None = None
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """What an app's own function accepts and gives: one that it defines, or a model. `accepts`: types of each argument,
    of which the last may come as often as one likes if `is_repeated`."""

    name: str
    runtime_name: str
    """What the generated Python calls."""
    accepts: tuple[tuple[ValueType, ...], ...]
    least: int
    is_repeated: bool
    returns: ValueType


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function, an aggregator, a window or a stream function: `str:length(name)`, `count()`, `count(*)`."""

    at: Place
    namespace: str | None
    name: str
    arguments: tuple["Expression", ...]
    is_star: bool = False
    own: OwnFunction | None = None
    """Where the name is one of the app's own, which is known once all of its text is read."""

    @property
    def full_name(self) -> str:
        """With its namespace, as the text has it."""
        return self.name if self.namespace is None else f"{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class Operation:
    at: Place
    operator: Operator
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Not:
    at: Place
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Negative:
    at: Place
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class IsNull:
    at: Place
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class InTable:
    """`Symbols.symbol == symbol in Symbols`, or a value that is looked up by the table's primary key."""

    at: Place
    operand: "Expression"
    table: str


Expression = Constant | Duration | Attribute | FunctionCall | Operation | Not | Negative | IsNull | InTable
