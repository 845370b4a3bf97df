"""Small apps with the rows that Siddhi 5.1.30 gave for them, as it was run."""

from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.app_cases import differences, read_case, same_values
from tests.cep.apps.engine.small_apps import Event, Rows, check, rows_of

CASES = next(
    (one / "shared" / "cases" / "apps" for one in Path(__file__).parents if (one / "shared" / "cases").exists()), None
)
"""Apps with their rows beside the checkout; they belong to no repository."""
TYPED = "define stream S (k string, n int, l long, f float, d double, b bool);\n"
OF_TYPES: list[Event] = [
    (1, "S", ("a", 2, 3, 55.6, 55.6, True)),
    (2, "S", ("b", 1, 1, 0.1, 1.0, False)),
    (3, "S", ("a", 16777217, 16777217, 16777216.0, 0.5, True)),
]
KEYED = "define stream S (k string, n int);\n"
OF_KEYS: list[Event] = [
    *((at + 1, "S", row) for at, row in enumerate(zip("aabacbcc", (1, 2, 3, 4, 9, 7, 8, 5), strict=True))),
    (100,),
]
TWO = "define stream A (p double, s string);\ndefine stream B (q int);\n"
OF_TWO: list[Event] = [
    (100, "A", (1.0, "x")),
    (300, "B", (5,)),
    (2000,),
    (2500, "A", (2.0, "y")),
    (2600, "B", (6,)),
    (9000,),
]
FLOATS: list[tuple[str, list[int]]] = [
    ("f == 55.6f", [1]),
    ("f == 55.6", []),
    ("d == 55.6f", []),
    ("f >= 0.1f", [1, 2, 3]),
    ("f > 0.1f", [1, 3]),
    ("f < 55.6", [1, 2]),
    ("n == f", [3]),
    ("l == f", []),
    ("n > 16777216f", []),
    ("16777217 == 16777216f", [1, 2, 3]),
    ("f == d", []),
    ("f != 55.6f", [2, 3]),
]
VALUES_OF_FLOATS: list[tuple[str, list[Any]]] = [
    ("f * 2", [111.2, 0.2, 33554432.0]),
    ("f + 0.1f", [55.699997, 0.2, 16777216.0]),
    ("f % 0.3f", [0.09999627, 0.1, 0.03333336]),
    ("f - 55.6f", [0.0, -55.5, 16777160.0]),
    ("n + f", [57.6, 1.1, 33554432.0]),
    ("f + d", [111.19999847412109, 1.1000000014901161, 16777216.5]),
    ("convert(f, 'string')", ["55.6", "0.1", "1.6777216E7"]),
    ("convert(f, 'double')", [55.599998474121094, 0.10000000149011612, 16777216.0]),
    ("convert(n, 'bool')", [False, True, False]),
    ("convert(f, 'bool')", [False, False, False]),
    ("convert(d, 'bool')", [False, True, False]),
    ("convert(b, 'bool')", [True, False, True]),
    ("convert(k, 'bool')", [False, False, False]),
    ("maximum(f, 1.1f)", [55.6, 1.1, 16777216.0]),
    ("coalesce(f, 0.1f)", [55.6, 0.1, 16777216.0]),
]
ASSIGNED: list[tuple[str, tuple[Any, ...]]] = [
    ("T.f = 100", (3, 100, 55.6)),
    ("T.f = l", (3, 1, 55.6)),
    ("T.f = d", (3, 1.0, 55.6)),
    ("T.f = 55.6", (3, 55.6, 55.6)),
    ("T.l = n", (1, 55.6, 55.6)),
    ("T.l = 7", (7, 55.6, 55.6)),
    ("T.d = f", (3, 55.6, 0.1)),
    ("T.d = n", (3, 55.6, 1)),
    ("T.d = 7L", (3, 55.6, 7)),
    ("T.f = T.f * 1.1f", (3, 61.16, 55.6)),
]
KINDS_OF_QUERIES: list[tuple[str, Rows]] = [
    (
        "from S#window.lengthBatch(4) select k, n group by k insert into O;",
        [(4, "a", 4), (3, "b", 3), (8, "c", 5), (6, "b", 7)],
    ),
    (
        "from S#window.lengthBatch(4) select k, n group by k order by n limit 1 insert into O;",
        [(3, "b", 3), (8, "c", 5)],
    ),
    (
        "from S#window.lengthBatch(4) select k, n group by k insert expired events into O;",
        [(8, "a", 4), (8, "b", 3)],
    ),
    (
        "from S#window.lengthBatch(4) select k, n group by k having n < 8 insert into O;",
        [(4, "a", 4), (3, "b", 3), (6, "b", 7), (8, "c", 5)],
    ),
    (
        "from S#window.length(2) select k, n group by k insert all events into O;",
        [
            (1, "a", 1),
            (2, "a", 2),
            (3, "a", 1),
            (3, "b", 3),
            (4, "a", 4),
            (5, "b", 3),
            (5, "c", 9),
            (6, "a", 4),
            (6, "b", 7),
            (7, "c", 8),
            (8, "b", 7),
            (8, "c", 5),
        ],
    ),
    (
        "from S#window.timeBatch(4) select k, n group by k insert into O;",
        [(4, "a", 4), (3, "b", 3), (8, "c", 5), (6, "b", 7)],
    ),
    (
        "from S#window.batch() select k, n group by k insert all events into O;",
        [
            (1, "a", 1),
            (2, "a", 2),
            (3, "a", 2),
            (3, "b", 3),
            (4, "b", 3),
            (4, "a", 4),
            (5, "a", 4),
            (5, "c", 9),
            (6, "c", 9),
            (6, "b", 7),
            (7, "b", 7),
            (7, "c", 8),
            (8, "c", 5),
        ],
    ),
    (
        "define window W (k string, n int) length(2);\nfrom S insert into W;\nfrom W as a join W as b on a.k "
        "== b.k select a.n as n, b.n as m insert into O;",
        [(1, 1, 1), (2, 2, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 9, 9), (6, 7, 7), (7, 8, 8), (8, 5, 8), (8, 5, 5)],
    ),
    (
        "define window W (k string, n int) length(2);\nfrom S insert into W;\nfrom W as a join W as b on a.k "
        "== b.k select a.n as n, b.n as m insert all events into O;",
        [
            (1, 1, 1),
            (2, 2, 1),
            (2, 2, 2),
            (3, 1, 2),
            (3, 3, 3),
            (4, 2, 4),
            (4, 4, 4),
            (5, 9, 9),
            (6, 7, 7),
            (7, 9, 8),
            (7, 8, 8),
            (8, 5, 8),
            (8, 5, 5),
        ],
    ),
    (
        "define window W (k string, n int) length(2);\nfrom S insert into W;\nfrom W as a left outer join W "
        "as b on a.n < b.n select a.n as n, b.n as m insert into O;",
        [(1, 1, None), (2, 2, None), (3, 3, None), (4, 4, None), (5, 9, None), (6, 7, 9), (7, 8, None), (8, 5, 8)],
    ),
    (
        "from S#window.expressionBatch('count() <= 2') as a join S#window.length(1) as b on a.k == b.k "
        "select a.n as n, b.n as m insert into O;",
        [
            (1, 1, 1),
            (2, 1, 2),
            (2, 2, 2),
            (1, 1, 2),
            (2, 2, 2),
            (3, 3, 3),
            (4, 4, 4),
            (4, 4, 4),
            (5, 9, 9),
            (6, 7, 7),
            (6, 7, 7),
            (7, 8, 8),
            (8, 8, 5),
            (8, 5, 5),
        ],
    ),
    (
        "@config(async = 'true') define stream Other (n int);\nfrom S#pol2Cart(convert(n, 'double'), 2.0, "
        "3.0) select k, z insert into O;",
        [
            (1, "a", 3.0),
            (2, "a", 3.0),
            (3, "b", 3.0),
            (4, "a", 3.0),
            (5, "c", 3.0),
            (6, "b", 3.0),
            (7, "c", 3.0),
            (8, "c", 3.0),
        ],
    ),
    (
        "from e1=S<2:3> -> e2=S[n > 6] select e1.n as ns, convert(e1.n, 'string') as text, e2.n as n insert into O;",
        [(5, (1, 2, 3), "[1, 2, 3]", 9)],
    ),
    (
        "from every e1=S[k == 'a']+, e2=S[k != 'a'] select e1.n as ns, e2.n as n insert into O;",
        [(3, (1, 2), 3), (5, (4,), 9)],
    ),
    (
        "from e1=S<2:3> -> e2=S[n > 6] select e1[2] is null as third, e1[5] is null as sixth insert into O;",
        [(5, False, True)],
    ),
]
ALL_COLUMNS: list[tuple[str, Rows]] = [
    (
        "from every not A for 1 sec select * insert into O;",
        [
            (1100, None, None),
            (2100, None, None),
            (3500, None, None),
            (4500, None, None),
            (5500, None, None),
            (6500, None, None),
            (7500, None, None),
            (8500, None, None),
        ],
    ),
    ("from e1=B -> not A for 1 sec select * insert into O;", [(1300, 5, None, None)]),
    ("from not A for 1 sec -> e1=B select * insert into O;", [(2600, None, None, 6)]),
    ("from not B and e1=A select * insert into O;", [(100, 1.0, "x", None)]),
    ("from e1=A and not B select * insert into O;", [(100, 1.0, "x", None)]),
    ("from not B for 1 sec or e1=A select * insert into O;", [(100, 1.0, "x", None)]),
    ("from e1=A or e2=B select * insert into O;", [(100, None, 1.0, "x")]),
    ("from e1=A and e2=B select * insert into O;", [(300, 5, 1.0, "x")]),
    ("from e1=A<1:2> -> e2=B select * insert into O;", [(300, 1.0, "x", 5)]),
]


@pytest.mark.parametrize(("condition", "expected"), FLOATS)
def test_numbers_are_compared_as_java_compares_them(condition: str, expected: list[int]) -> None:
    assert [row[0] for row in rows_of(f"{TYPED}from S[{condition}] select k insert into O;", OF_TYPES)] == expected


@pytest.mark.parametrize(("value", "expected"), VALUES_OF_FLOATS)
def test_floats_are_computed_with_32_bits(value: str, expected: list[Any]) -> None:
    found = [row[1] for row in rows_of(f"{TYPED}from S select {value} as x insert into O;", OF_TYPES)]
    assert same_values(found, expected), found


@pytest.mark.parametrize(("assignment", "expected"), ASSIGNED)
def test_set_takes_numbers_that_fit(assignment: str, expected: tuple[Any, ...]) -> None:
    text = f"""{TYPED}define table T (k string, n int, l long, f float, d double);
    from S[n == 2] select k, n, l, f, d insert into T;
    from S[n == 1] select * update T set {assignment} on T.k == 'a';
    from S[n > 5] join T select T.l as l, T.f as f, T.d as d insert into O;"""
    check(text, OF_TYPES, [(3, *expected)])


@pytest.mark.parametrize(("query", "expected"), KINDS_OF_QUERIES)
def test_groups_windows_and_counted_steps(query: str, expected: Rows) -> None:
    check(KEYED + query, OF_KEYS, expected)


@pytest.mark.parametrize(("query", "expected"), ALL_COLUMNS)
def test_all_columns_of_a_pattern(query: str, expected: Rows) -> None:
    check(TWO + query, OF_TWO, expected)


@pytest.mark.skipif(CASES is None, reason="the shared cases are not here")
def test_shared_cases_give_the_rows_that_are_expected() -> None:
    assert CASES is not None
    found = {
        case.name: differences(read_case(line), app.read_text())
        for app in sorted(CASES.glob("*.app"))
        for case in [app.with_suffix(".jsonl")]
        for line in case.read_text().splitlines()
    }
    assert found
    assert not {name: problems for name, problems in found.items() if problems}
