"""Who writes SQL is told what this language has in its place."""

import pytest

from cep.apps.engine.explanation import described_parts
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.errors import AppTextError

DEFINED = """define stream S (a int, b string); define stream A (a int); define table T (a int);
define table W (n long, f float); """


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("from S where a > 1 select a insert into O;", "`where` is unexpected: write the condition in brackets behind"),
        ("insert into O select a from S where a > 1;", "`where` is unexpected: write the condition in brackets behind"),
        ("from S[a = 1] select a insert into O;", "`=` is unexpected: equal is `==`"),
        ("insert into O select a from S having a = 1;", "`=` is unexpected: equal is `==`"),
        ("from S[a <> 1] select a insert into O;", "`>` is unexpected: unequal is `!=`"),
        ("from S[b like 'x'] select a insert into O;", "`like` is unexpected: write str:contains(text, part), "),
        ("from S[a between 1 and 2] select a insert into O;", "`between` is unexpected: write `price >= 1.0 and "),
        ("from S select case when a > 1 then 1 end as x insert into O;", "`when` is unexpected: write ifThenElse("),
        ("select a from S;", "`;` is unexpected: an `insert into` is missing"),
        ("from S select a", "the text ends too early: an `insert into` is missing"),
        ("from S#window.time(5 ms) select a insert into O;", "`ms` is unexpected: write `millisec`"),
        ("from S#window.time(5s) select a insert into O;", "`s` is unexpected: write `sec`"),
        ("from S#window.time(5 m) select a insert into O;", "`m` is unexpected: write `min`"),
        ("from S#window.time(5 h) select a insert into O;", "`h` is unexpected: write `hour`"),
        ("from S#window.time(0.5 sec) select a insert into O;", "`sec` is unexpected: a time has whole numbers, as "),
        ("from every S -> not S for 0.5 sec select a insert into O;", "`.` is unexpected: a time has whole numbers"),
        ("from S select a output every 1.5 min insert into O;", "`.` is unexpected: a time has whole numbers"),
        ("from S select count(distinct a) as n insert into O;", "`a` is unexpected: write distinctCount(…)"),
        (
            "from x=S and y=S and z=S select x.a as a insert into O;",
            "`and` is unexpected: `and` and `or` join two steps",
        ),
        ("from x=S -> (y=S or z=S or S) select x.a as a insert into O;", "`or` is unexpected: `and` and `or` join two"),
        (
            "partition with (a of S) begin from S select a insert into O;",
            "the text ends too early: an `end` is missing",
        ),
        ("partition with (a of S) begin from S select a insert into O; from S select", "expected"),
        ("from S join S as z on S.a == z.a select z.a insert into O;", "no row of this join can ever meet another"),
        (
            "from A as x unidirectional join S as z on x.a == z.a select z.a insert into O;",
            "'z' keeps none, and only the other side's rows ask: give 'z' a window",
        ),
        ("from S join A#window.length(1) unidirectional on true select b insert into O;", "give 'S' a window"),
        ("from S select a, b update T on T.a == a;", "'T' has no column 'b': write what changes after `set`"),
        ("from S select b as a update T on T.a == 1;", "'a' of 'T' is int, and this query gives string"),
        ("from S select 1L as a update T on T.a == 1;", "'a' of 'T' is int, and this query gives long"),
        ("from S select a as n update W on W.n == 1L;", "gives int: write `set W.n = n`"),
        ("from S select 1.0 as f update W on W.n == 1L;", "gives double: write `set W.f = f`"),
        ("from S select a update T set T.a = 1.5 on T.a == a;", "'a' is int, and this value is double"),
        ("from S#window.timeBatch(1 sec, 0, 5) select a insert into O;", "true or false is expected here"),
        ("from S#window.timeBatch(1 sec, 0, 'a') select a insert into O;", "true or false is expected here"),
        ("from S#window.lengthBatch(2, 1) select a insert into O;", "true or false is expected here"),
        ("insert into O select a from S hop (1 sec);", "`hop` is unexpected: a hopping window is HOPPING(size, hop)"),
        (
            "insert into O select a from S window HOP(1 sec, 2 sec);",
            "there is no window 'HOP': write HOPPING(size, hop)",
        ),
        ("from S select abs(a) as x insert into O;", "there is no function abs(); did you mean 'math:abs'?"),
        ("from S select if(a > 1, 2, 3) as x insert into O;", "there is no function if(): write ifThenElse("),
        ("from S select first(a) as x insert into O;", "there is no function first(): a pattern has earlier rows"),
        ("from S select lag(a) as x insert into O;", "there is no function lag(): a pattern has earlier rows"),
        ("from S select instr(b) as x insert into O;", "there is no function instr()"),
        ("from T select a insert into O;", "'T' is a table, which no row comes from by itself: join it with a stream"),
        ("from quote select bid insert into O;", "there is no stream 'quote'; did you mean 'quotes'?"),
        ("from Unheard select a insert into O;", "there is no stream 'Unheard'"),
    ],
)
def test_a_habit_is_answered_with_what_there_is(query: str, problem: str) -> None:
    with pytest.raises(AppTextError) as found:
        StreamEngine(parse_with_product_streams(DEFINED + query))
    assert problem in str(found.value)


@pytest.mark.parametrize(
    "query",
    [
        "define stream where_ (like_ int, s int, m int); from where_[s == m] select s, m insert into O;",
        "from S#window.time(5 sec) select a as hop insert into O;",
        "from every x = S, y = S select x.a as before, y.a as a insert into O;",
        "from S unidirectional join A#window.length(1) on true select b insert into O;",
        "from S select a as n update W set W.n = n on W.n == 1L;",
        "from S select 1.0 as f update W set W.f = f on W.n == 1L;",
    ],
)
def test_what_is_right_is_left_alone(query: str) -> None:
    assert list(described_parts(StreamEngine(parse_with_product_streams(DEFINED + query)).plan))
