"""What a text says becomes a tree; both spellings of a thing give the same."""

import pytest

from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.app_tree import (
    AbsentStep,
    AggregationDefinition,
    Annotation,
    AnnotationItem,
    ChainStep,
    ColumnDefinition,
    Definition,
    DeleteFrom,
    EveryStep,
    Filter,
    FunctionDefinition,
    InsertInto,
    JoinInput,
    LogicalStep,
    OutputRate,
    PartitionBlock,
    PatternInput,
    Return,
    Source,
    StreamDefinition,
    StreamFunction,
    StreamInput,
    StreamStep,
    TableDefinition,
    TriggerDefinition,
    UpdateTable,
    Window,
    WindowDefinition,
)
from cep.apps.language.expression_tree import (
    Attribute,
    Constant,
    Duration,
    EventIndex,
    Expression,
    FunctionCall,
    InTable,
    IsNull,
    Negative,
    Not,
    Operation,
    Place,
)
from tests.cep.apps.language.trees import NOWHERE, condition, definition, element, query, unplaced

A = Attribute(NOWHERE, "a")
B = Attribute(NOWHERE, "b")
C = Attribute(NOWHERE, "c")
ONE = Constant(NOWHERE, 1, "int")
TWO = Constant(NOWHERE, 2, "int")
AN_INT = (ColumnDefinition(NOWHERE, "a", "int"),)


def call(name: str, *arguments: Expression, namespace: str | None = None) -> FunctionCall:
    return FunctionCall(NOWHERE, namespace, name, arguments)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1", ONE),
        ("7L", Constant(NOWHERE, 7, "long")),
        ("1.5f", Constant(NOWHERE, 1.5, "float")),
        ("1.5", Constant(NOWHERE, 1.5, "double")),
        ("2d", Constant(NOWHERE, 2.0, "double")),
        ("1e3", Constant(NOWHERE, 1000.0, "double")),
        ("-2", Constant(NOWHERE, -2, "int")),
        ("-2147483648", Constant(NOWHERE, -(2**31), "int")),
        ("+a", A),
        ("-a", Negative(NOWHERE, A)),
        ("'it is'", Constant(NOWHERE, "it is", "string")),
        ('"it\'s"', Constant(NOWHERE, "it's", "string")),
        ('"""two\nlines"""', Constant(NOWHERE, "two\nlines", "string")),
        ("TRUE", Constant(NOWHERE, True, "bool")),
        ("5 sec", Duration(NOWHERE, 5_000)),
        ("1 hour 30 minutes", Duration(NOWHERE, 5_400_000)),
        ("S.a", Attribute(NOWHERE, "a", "S")),
        ("#S.a", Attribute(NOWHERE, "a", "S", mark="#")),
        ("e1[2].a", Attribute(NOWHERE, "a", "e1", EventIndex(2, is_from_last=False))),
        ("e1[last].a", Attribute(NOWHERE, "a", "e1", EventIndex(0, is_from_last=True))),
        ("e1[last - 1].a", Attribute(NOWHERE, "a", "e1", EventIndex(1, is_from_last=True))),
        ("`odd name`", Attribute(NOWHERE, "odd name")),
        ("last", Attribute(NOWHERE, "last")),
        ("e1 is null", IsNull(NOWHERE, Attribute(NOWHERE, "e1"))),
        ("count()", call("count")),
        ("count(*)", FunctionCall(NOWHERE, None, "count", (), is_star=True)),
        ("str:concat(a, b)", call("concat", A, B, namespace="str")),
        ("a + b * c", Operation(NOWHERE, "+", A, Operation(NOWHERE, "*", B, C))),
        ("a - b - c", Operation(NOWHERE, "-", Operation(NOWHERE, "-", A, B), C)),
        ("(a + b) * c", Operation(NOWHERE, "*", Operation(NOWHERE, "+", A, B), C)),
        ("not a == b", Operation(NOWHERE, "==", Not(NOWHERE, A), B)),
        ("a >= 1 == b", Operation(NOWHERE, "==", Operation(NOWHERE, ">=", A, ONE), B)),
        ("a or b AND c", Operation(NOWHERE, "or", A, Operation(NOWHERE, "and", B, C))),
        ("a == b in T", InTable(NOWHERE, Operation(NOWHERE, "==", A, B), "T")),
        (
            "a in T and b",
            Operation(NOWHERE, "and", InTable(NOWHERE, A, "T"), B),
        ),
    ],
)
def test_expressions(text: str, tree: Expression) -> None:
    assert condition(text) == tree


ITEM = (AnnotationItem("type", "json"),)
TAIL = " group by b having a > 1 order by a desc, b limit 2 offset 1 output last every 5 sec"
NOTES = (Annotation(NOWHERE, "sink", (AnnotationItem("http.url", "u"),), (Annotation(NOWHERE, "map", ITEM),)),)
SECONDS_TO_HOURS = ("sec", "min", "hour")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("define stream S (a int)", StreamDefinition(NOWHERE, "S", AN_INT)),
        ("CREATE STREAM S (a int)", StreamDefinition(NOWHERE, "S", AN_INT)),
        ("create stream GLOBAL S (a int)", StreamDefinition(NOWHERE, "S", AN_INT, scope="global")),
        ("create sink stream local S (a int)", StreamDefinition(NOWHERE, "S", AN_INT, (), "sink stream", "local")),
        (
            "create sink S with (type = 'json') (a int)",
            StreamDefinition(NOWHERE, "S", AN_INT, role="sink", properties=ITEM),
        ),
        (
            "create source S with (type = 'json') (a int)",
            StreamDefinition(NOWHERE, "S", AN_INT, role="source", properties=ITEM),
        ),
        (
            "@sink(http.url = 'u', @map(type = 'json')) define stream S (a int)",
            StreamDefinition(NOWHERE, "S", AN_INT, NOTES),
        ),
        ("define table T (a int)", TableDefinition(NOWHERE, "T", AN_INT)),
        (
            "create store global T with (type = 'json') (a int)",
            TableDefinition(NOWHERE, "T", AN_INT, (), "global", ITEM),
        ),
        (
            "@PrimaryKey('a') define table T (a int)",
            TableDefinition(NOWHERE, "T", AN_INT, (Annotation(NOWHERE, "PrimaryKey", (AnnotationItem(None, "a"),)),)),
        ),
        ("define window W (a int) length(2)", WindowDefinition(NOWHERE, "W", AN_INT, call("length", TWO))),
        (
            "create window W (a int) SLIDING_LENGTH(2) output expired events",
            WindowDefinition(NOWHERE, "W", AN_INT, call("SLIDING_LENGTH", TWO), "expired"),
        ),
        ("define trigger T at every 5 sec", TriggerDefinition(NOWHERE, "T", 5_000, None)),
        ("create trigger T with (interval = 5 sec)", TriggerDefinition(NOWHERE, "T", 5_000, None)),
        ("define trigger T at 'start'", TriggerDefinition(NOWHERE, "T", None, "start")),
        ("create trigger T with (expression = 'start')", TriggerDefinition(NOWHERE, "T", None, "start")),
        (
            "define function f[javascript] return string { if (a) { return '}'; } // }\n}",
            FunctionDefinition(NOWHERE, "f", "javascript", "string", " if (a) { return '}'; } // }\n"),
        ),
    ],
)
def test_definitions(text: str, tree: Definition) -> None:
    assert definition(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "define aggregation G from S select a, sum(b) as t group by a aggregate by c every sec ... hour",
        "create aggregation G select a, sum(b) as t from S group by a aggregate by c every sec, min, hour",
    ],
)
def test_aggregations(text: str) -> None:
    made = definition(text)

    assert isinstance(made, AggregationDefinition)
    assert (made.by, made.durations) == (C, SECONDS_TO_HOURS)
    assert made.selection.group_by == (A,)
    assert [column.name for column in made.selection.columns or ()] == ["a", "t"]


@pytest.mark.parametrize(
    ("siddhi", "worker"),
    [
        ("from S select a insert into O", "INSERT INTO O SELECT a FROM S"),
        ("from S insert into O", "insert into O from S"),
        ("from S select * insert all events into O", "insert all events into O select * from S"),
        (
            "from S[a > 1]#window.length(2) select a insert into O",
            "insert into O select a from S[a > 1] window length(2)",
        ),
        (
            f"from S select a{TAIL} insert into O",
            f"insert into O select a from S{TAIL}",
        ),
        ("from S select a delete T on T.a == a", "delete T on T.a == a select a from S"),
        (
            "from S select a update or insert into T set T.a = a on T.a == a",
            "update or insert into T set T.a = a on T.a == a select a from S",
        ),
        ("from S select a insert into O", "select a from S insert into O"),
        ("from every x = S -> y = S select x.a insert into O", "insert into O select x.a from every x = S -> y = S"),
    ],
)
def test_both_spellings_say_the_same(siddhi: str, worker: str) -> None:
    assert query(siddhi) == query(worker)


S = Source(NOWHERE, "S")
STEP = StreamStep(NOWHERE, S)


def steps_of(text: str) -> PatternInput:
    read = query(f"from {text} insert into O").input
    assert isinstance(read, PatternInput)
    return read


def test_handlers_keep_their_order() -> None:
    read = query("from S[a]#log('x')#window.length(2)[b] insert into O").input

    assert read == StreamInput(
        NOWHERE,
        S,
        (
            Filter(NOWHERE, A),
            StreamFunction(NOWHERE, call("log", Constant(NOWHERE, "x", "string"))),
            Window(NOWHERE, call("length", TWO)),
            Filter(NOWHERE, B),
        ),
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("join", "inner"),
        ("inner join", "inner"),
        ("left outer join", "left"),
        ("RIGHT OUTER JOIN", "right"),
        ("full outer join", "full"),
        ("outer join", "full"),
    ],
)
def test_joins(words: str, kind: str) -> None:
    read = query(f"from S as x unidirectional {words} #R as y on a within b, c per a insert into O").input

    assert isinstance(read, JoinInput)
    assert read.kind == kind
    assert read.left == StreamInput(NOWHERE, S, alias="x", is_unidirectional=True)
    assert read.right == StreamInput(NOWHERE, Source(NOWHERE, "R", "#"), alias="y")
    assert (read.on, read.within, read.per) == (A, (B, C), A)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("<2>", 2, 2), ("<2:5>", 2, 5), ("<2:>", 2, None), ("<:5>", 0, 5), ("*", 0, None), ("+", 1, None), ("?", 0, 1)],
)
def test_counts(text: str, least: int, most: int | None) -> None:
    read = steps_of(f"x = S{text}, S")

    assert read.steps == (StreamStep(NOWHERE, S, (), "x", least, most, is_counted=True), STEP)


def test_patterns() -> None:
    read = steps_of("every (x = S -> not S for 5 sec) -> S and not S[a] within 1 min")

    first = ChainStep(NOWHERE, (StreamStep(NOWHERE, S, (), "x"), AbsentStep(NOWHERE, S, (), 5_000)))
    second = LogicalStep(NOWHERE, "and", STEP, AbsentStep(NOWHERE, S, (Filter(NOWHERE, A),), None))
    assert read == PatternInput(NOWHERE, "pattern", (EveryStep(NOWHERE, first), second), 60_000)


def test_sequences() -> None:
    assert steps_of("every S, S or S") == PatternInput(
        NOWHERE, "sequence", (EveryStep(NOWHERE, STEP), LogicalStep(NOWHERE, "or", STEP, STEP))
    )


def test_partitions() -> None:
    made = element(
        "partition with (a of S, b as 'low' or c as 'high' of R) begin from S insert into #I; from #I return; end"
    )

    assert isinstance(made, PartitionBlock)
    value, ranges = made.keys
    assert (value.stream, ranges.stream) == ("S", "R")
    assert ranges.ranges == ((B, "low"), (C, "high"))  # type: ignore[union-attr]
    assert [inner.output for inner in made.queries] == [
        InsertInto(NOWHERE, Source(NOWHERE, "I", "#")),
        Return(NOWHERE),
    ]


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("output every 2 events", OutputRate(NOWHERE, "all", events=2)),
        ("output first every 1 sec", OutputRate(NOWHERE, "first", milliseconds=1_000)),
        ("output snapshot every 1 sec", OutputRate(NOWHERE, "snapshot", milliseconds=1_000)),
    ],
)
def test_output_rates(text: str, rate: OutputRate) -> None:
    assert query(f"from S {text} insert into O").rate == rate


def test_expired_events_delete() -> None:
    made = query("delete T for expired events on a select a from S").output

    assert made == DeleteFrom(NOWHERE, Source(NOWHERE, "T"), A, "expired")


def test_annotations_of_the_app_stand_apart() -> None:
    app = parse_app("@App:name('x') @info(name = 'q') from S insert into O; @info(name = 'p') from S insert into P")

    assert [(note.name, note.items[0].value) for note in app.annotations] == [("App:name", "x")]
    assert [made.annotations[0].items[0].value for made in app.elements] == ["q", "p"]


def test_every_node_has_its_place() -> None:
    (made,) = parse_app("\n  from S[a >\n 1] insert into O").elements

    assert made.at == Place(2, 3)
    assert made.input.handlers[0].condition.right.at == Place(3, 2)  # type: ignore[union-attr]


def test_on_demand_queries() -> None:
    read = unplaced(parse_on_demand("from T on a within b per c select a having b"))
    wrote = unplaced(parse_on_demand("select 1 as a update T set T.a = a on T.a == b"))
    chosen = unplaced(parse_on_demand("SELECT a FROM T ON a LIMIT 1;"))

    assert (read.source, read.on, read.within, read.per) == (Source(NOWHERE, "T"), A, (B,), C)
    assert read.selection.having == B
    assert wrote.source is None
    assert isinstance(wrote.output, UpdateTable)
    assert (chosen.on, chosen.selection.limit, chosen.output) == (A, ONE, Return(NOWHERE))
