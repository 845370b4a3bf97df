"""The tree of a stream app, as its text says it: nothing is looked up and no type is known yet.

Every node has the place where it begins. Times are milliseconds, as in the language itself.
"""

from dataclasses import dataclass, field
from typing import Literal

from cep.apps.language.expression_tree import Attribute, Expression, FunctionCall, Mark, Place, ValueType

EventKind = Literal["current", "expired", "all"]
Scope = Literal["global", "local"]


@dataclass(frozen=True, slots=True)
class AnnotationItem:
    """`interval = '1 sec'`; without a name `key` is None. A key's parts are joined by dots: `store.type`."""

    key: str | None
    value: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """`@info(name = 'q')`; `@App:name('A')` is named `App:name`."""

    at: Place
    name: str
    items: tuple[AnnotationItem, ...] = ()
    annotations: tuple["Annotation", ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A defined attribute."""

    at: Place
    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    at: Place
    name: str
    columns: tuple[ColumnDefinition, ...]
    annotations: tuple[Annotation, ...] = ()
    role: Literal["stream", "source", "sink", "sink stream"] = "stream"
    scope: Scope | None = None
    properties: tuple[AnnotationItem, ...] = ()
    """The properties of `WITH (…)`; of Siddhi's spelling they are in the annotations."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    at: Place
    name: str
    columns: tuple[ColumnDefinition, ...]
    annotations: tuple[Annotation, ...] = ()
    scope: Scope | None = None
    properties: tuple[AnnotationItem, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowDefinition:
    at: Place
    name: str
    columns: tuple[ColumnDefinition, ...]
    window: FunctionCall
    output: EventKind = "all"
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TriggerDefinition:
    """One of the two is set; `expression` is `start` or a cron expression."""

    at: Place
    name: str
    every: int | None
    expression: str | None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    at: Place
    name: str
    language: str
    returns: ValueType
    body: str
    """Without the outer braces."""
    annotations: tuple[Annotation, ...] = ()
    body_at: Place = field(default=Place(1, 1), compare=False)


@dataclass(frozen=True, slots=True)
class AggregationDefinition:
    at: Place
    name: str
    input: "StreamInput"
    selection: "Selection"
    by: Attribute | None
    durations: tuple[str, ...]
    """`sec`, `min`, `hour`, `day`, `week`, `month`, `year`: a range is written out."""
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[AnnotationItem, ...] = ()


Definition = (
    StreamDefinition
    | TableDefinition
    | WindowDefinition
    | TriggerDefinition
    | FunctionDefinition
    | AggregationDefinition
)


@dataclass(frozen=True, slots=True)
class Source:
    """A stream, table, window, trigger or aggregation by its name."""

    at: Place
    name: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Filter:
    at: Place
    condition: Expression


@dataclass(frozen=True, slots=True)
class StreamFunction:
    """`#log('…')`, `#str:tokenize(…)`."""

    at: Place
    call: FunctionCall


@dataclass(frozen=True, slots=True)
class Window:
    """`#window.length(5)` and `WINDOW SLIDING_LENGTH(5)` alike: `window` has the name as it was written."""

    at: Place
    window: FunctionCall


Handler = Filter | StreamFunction | Window


@dataclass(frozen=True, slots=True)
class StreamInput:
    at: Place
    source: Source
    handlers: tuple[Handler, ...] = ()
    alias: str | None = None
    is_unidirectional: bool = False


@dataclass(frozen=True, slots=True)
class JoinInput:
    at: Place
    left: StreamInput
    right: StreamInput
    kind: Literal["inner", "left", "right", "full"]
    on: Expression | None
    within: tuple[Expression, ...] = ()
    """The times of an aggregation's `within`: none, one or two."""
    per: Expression | None = None


@dataclass(frozen=True, slots=True)
class StreamStep:
    """`e1 = Trades[price > 10]<2:5>`; `most` is None if there is no end. Without a count both are 1."""

    at: Place
    source: Source
    handlers: tuple[Handler, ...] = ()
    reference: str | None = None
    least: int = 1
    most: int | None = 1
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class AbsentStep:
    """`not Trades[price > 10] for 5 sec`; without a time only beside `and`."""

    at: Place
    source: Source
    handlers: tuple[Handler, ...]
    wait: int | None


@dataclass(frozen=True, slots=True)
class LogicalStep:
    at: Place
    operator: Literal["and", "or"]
    left: StreamStep | AbsentStep
    right: StreamStep | AbsentStep


@dataclass(frozen=True, slots=True)
class EveryStep:
    at: Place
    step: "Step"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """Steps in parentheses, with a limit of their own."""

    at: Place
    steps: tuple["Step", ...]
    within: int | None = None


Step = StreamStep | AbsentStep | LogicalStep | EveryStep | ChainStep


@dataclass(frozen=True, slots=True)
class PatternInput:
    """`->` between the steps of a pattern, `,` between those of a sequence."""

    at: Place
    kind: Literal["pattern", "sequence"]
    steps: tuple[Step, ...]
    within: int | None = None


Input = StreamInput | JoinInput | PatternInput


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """`name` is what it is called after `as`, or the attribute's own name; None if an expression has none."""

    at: Place
    expression: Expression
    name: str | None


@dataclass(frozen=True, slots=True)
class OrderBy:
    attribute: Attribute
    is_descending: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """`columns` is None for `select *` and if nothing is selected."""

    columns: tuple[OutputColumn, ...] | None = None
    group_by: tuple[Attribute, ...] = ()
    having: Expression | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None


@dataclass(frozen=True, slots=True)
class OutputRate:
    """One of the two is set."""

    at: Place
    kind: Literal["all", "first", "last", "snapshot"]
    events: int | None = None
    milliseconds: int | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET Table.price = price * 2`."""

    target: Attribute
    value: Expression


@dataclass(frozen=True, slots=True)
class InsertInto:
    at: Place
    target: Source
    kind: EventKind = "current"


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    at: Place
    target: Source
    on: Expression | None
    kind: EventKind = "current"


@dataclass(frozen=True, slots=True)
class UpdateTable:
    """Without assignments every column of the same name is set."""

    at: Place
    target: Source
    on: Expression
    assignments: tuple[Assignment, ...] = ()
    kind: EventKind = "current"
    inserts_missing: bool = False


@dataclass(frozen=True, slots=True)
class Return:
    """The rows go to whoever listens to the query."""

    at: Place
    kind: EventKind = "current"


Output = InsertInto | DeleteFrom | UpdateTable | Return


@dataclass(frozen=True, slots=True)
class Query:
    at: Place
    input: Input
    selection: Selection
    output: Output
    rate: OutputRate | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueKey:
    """`symbol of Trades`."""

    at: Place
    stream: str
    key: Expression


@dataclass(frozen=True, slots=True)
class RangeKey:
    """`price < 10 as 'low' or price >= 10 as 'high' of Trades`."""

    at: Place
    stream: str
    ranges: tuple[tuple[Expression, str], ...]


@dataclass(frozen=True, slots=True)
class PartitionBlock:
    at: Place
    keys: tuple[ValueKey | RangeKey, ...]
    queries: tuple[Query, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessorDefinition:
    """`@App:processor('file.Class', events = 'sign_in, sale', emits = 'at_risk')`. `name`: `file.Class` of the
    operator's folder."""

    at: Place
    name: str
    events: tuple[Source, ...]
    emits: tuple[InsertInto, ...]


@dataclass(frozen=True, slots=True)
class App:
    """`annotations` are the app's own (`@App:…`); definitions and the rest each in the order of the text."""

    annotations: tuple[Annotation, ...]
    definitions: tuple[Definition, ...]
    elements: tuple[Query | PartitionBlock, ...]
    processors: tuple[ProcessorDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class OnDemandQuery:
    """`from Table on price > 10 select …`; what it writes to is in `output`. An insert alone reads nothing."""

    at: Place
    source: Source | None
    on: Expression | None
    selection: Selection
    output: Output
    within: tuple[Expression, ...] = ()
    per: Expression | None = None
