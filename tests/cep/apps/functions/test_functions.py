"""The functions of the language, as an app calls them: values, types, nulls and mistakes."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.compiler.value_functions import LIBRARY
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.signature import function
from cep.apps.functions.time_functions import later, read_time, written
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError

GIVEN = "define stream Given (text string, n int, d double, l long, nothing string, o object);\n"
ROW = ("Ab,cd", -3, 2.5, 26, None, {"k": [1, {"x": "y"}]})
NOW = 1_700_000_000_123
"""2023-11-14 22:13:20.123"""


def value_of(expression: str) -> Any:
    engine, rows = StreamEngine(parse_app(f"{GIVEN}from Given select {expression} as x insert into Out;"), NOW), []
    engine.listen("Out", lambda _, row: rows.append(row[0]))
    engine.send("Given", NOW, ROW)
    return rows[0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("str:length(text)", 5),
        ("str:upper(text)", "AB,CD"),
        ("str:lower(text)", "ab,cd"),
        ("str:trim('  a ')", "a"),
        ("str:reverse(text)", "dc,bA"),
        ("str:concat(text, n, nothing, '!')", "Ab,cd-3!"),
        ("str:concat(true, ' ', d * 1e7)", "true 2.5E7"),
        ("convert(d * 1e100, 'string')", "2.5E100"),
        ("convert(0 - d * 4e6, 'string')", "-1.0E7"),
        ("convert(d / 1e5, 'string')", "2.5E-5"),
        ("convert(convert(d * 1e7, 'decimal'), 'string')", "25000000.0"),
        ("convert(math:sqrt(n), 'decimal')", None),
        ("convert(6172839.45, 'string')", "6172839.45"),
        ("str:fillTemplate('{{1}} {{2}}', n > 0, d)", "false 2.5"),
        ("instanceOfString('a')", True),
        ("instanceOfLong(1)", False),
        ("str:charAt(text, 1)", "b"),
        ("str:charAt(text, 9)", None),
        ("str:contains(text, ',c')", True),
        ("str:equalsIgnoreCase(text, 'AB,CD')", True),
        ("str:strcmp('a', 'b')", -1),
        ("str:repeat('ab', 2)", "abab"),
        ("str:substr(text, 3)", "cd"),
        ("str:substr(text, 1, 2)", "b,"),
        ("str:substr(text, '(b),(c)', 2)", "c"),
        ("str:replaceAll(text, '([a-z])', '<$1>')", "A<b>,<c><d>"),
        ("str:replaceFirst(text, '[a-z]', '')", "A,cd"),
        ("str:split(text, ',', 1)", "cd"),
        ("str:split(text, ',', 7)", None),
        ("str:fillTemplate('{{2}} {{1}}', n, text)", "Ab,cd -3"),
        ("str:unhex(str:hex(text))", "Ab,cd"),
        ("str:regexp(text, '[A-z],')", False),
        ("regex:matches('.*,.*', text)", True),
        ("regex:find('cd$', text)", True),
        ("regex:lookingAt('b', text)", False),
        ("regex:group('(.),(.)', text, 2)", "c"),
        ("regex:group('(.),(.)', text, 3)", None),
        ("mask(text)", "*b,cd"),
        ("mask(text, 2)", "***cd"),
        ("sha256('')", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("math:abs(n)", 3),
        ("math:round(d)", 3),
        ("math:round(-2.5)", -2),
        ("math:signum(n)", -1),
        ("math:power(2, 10)", 1024.0),
        ("math:max(n, d)", 2.5),
        ("math:ceil(d)", 3.0),
        ("math:floor(d)", 2.0),
        ("math:sqrt(6.25)", 2.5),
        ("math:ln(math:e())", 1.0),
        ("math:toDegrees(math:pi())", 180.0),
        ("math:hex(l)", "1a"),
        ("math:conv('1a', 16, 2)", "11010"),
        ("math:conv('zz', 16, 2)", None),
        ("math:parseDouble('2.5')", 2.5),
        ("math:isNan(math:sqrt(-1))", True),
        ("math:isInfinite(math:log(0))", True),
        ("time:timestampInMilliseconds()", NOW),
        ("time:timestampInMilliseconds('1970-01-01 00:00:01')", 1_000),
        ("time:currentTimestamp()", "2023-11-14 22:13:20"),
        ("time:currentDate()", "2023-11-14"),
        ("time:currentTime()", "22:13:20"),
        ("time:dateFormat(time:timestampInMilliseconds(), 'HH.mm.ss,SSS')", "22.13.20,123"),
        ("time:dateFormat('14/11/2023', 'yyyy-MM-dd', 'dd/MM/yyyy')", "2023-11-14"),
        ("time:extract('month', '2023-11-14 22:13:20')", 11),
        ("time:date('2023-11-14 22:13:20')", "2023-11-14"),
        ("time:dayOfWeek('2023-11-14 22:13:20')", "Tuesday"),
        ("time:dateAdd('2024-01-31 00:00:00', 1, 'month')", "2024-02-29 00:00:00"),
        ("time:dateSub('2024-03-31', 1, 'day', 'yyyy-MM-dd')", "2024-03-30"),
        ("time:dateDiff('2024-03-01 00:00:00', '2024-02-01 00:00:00')", 29),
        ("map:get(map:put(map:create('a', 1), 'b', n), 'b')", -3),
        ("map:size(map:remove(map:create('a', 1), 'a'))", 0),
        ("map:get(map:create('a', 1), 'z', 7)", 7),
        ("map:toJSON(map:create('a', text))", '{"a":"Ab,cd"}'),
        ("map:containsKey(map:createFromJSON('{\"a\": 1}'), 'a')", True),
        ("map:isMap(text)", False),
        ("list:get(list:add(list:create(1, 2), 0, 7), 0)", 7),
        ("list:size(list:add(list:create(), n))", 1),
        ("list:indexOf(list:create('a', 'b'), 'b')", 1),
        ("list:get(list:sort(list:create(3, 1, 2)), 0)", 1),
        ("json:getInt(o, '$.k[0]')", 1),
        ("json:getString(o, '$.k[1]')", '{"x":"y"}'),
        ("json:getString(o, '$.k[1].x')", "y"),
        ("json:getDouble('{\"a\": {\"b\": 2}}', '$.a.b')", 2.0),
        ("json:getBool('{\"a\": true}', 'a')", True),
        ("json:isExists(o, '$.q')", False),
        ("json:toString(json:setElement('{\"a\": 1}', '$', n, 'b'))", '{"a":1,"b":-3}'),
    ],
)
def test_values(expression: str, value: Any) -> None:
    found = value_of(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("one", LIBRARY, ids=lambda one: one.name)
def test_null_gives_null_and_no_two_functions_have_one_name(one: Any) -> None:
    assert [other.name for other in LIBRARY].count(one.name) == 1
    if one.parameters and not one.takes_null:
        assert one.called(*[None] * len(one.parameters)) is None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("str:upper(n)", "line 2, column 29: str:upper\\(\\) takes a string here, and this is int"),
        ("str:upper()", "takes 1 arguments, and has 0"),
        ("str:substr(text, 1, 2, 3)", "takes 2 to 3 arguments"),
        ("math:abs(text)", "takes a number here"),
        ("math:hex(d)", "takes an int or a long here"),
        ("str:uper(text)", "did you mean 'str:upper'"),
        ("json:group(text, n)", "json:group\\(\\) takes a value"),
    ],
)
def test_mistakes_are_found_before_anything_runs(expression: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        StreamEngine(parse_app(f"{GIVEN}from Given select {expression} as x insert into Out;"))


@pytest.mark.parametrize(
    "expression",
    [
        "regex:find('(', text)",
        "str:repeat(text, 1000000)",
        "json:getInt('{', '$.a')",
        "json:getInt('{}', '$[')",
        "time:date('yesterday')",
        "time:dateFormat(l, 'QQQ')",
        "time:dateAdd('2024-01-31 00:00:00', 1, 'moon')",
        "map:create('a')",
        "str:unhex('q')",
    ],
)
def test_what_cannot_be_computed_says_so(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        value_of(expression)


def test_a_pattern_that_would_take_for_ever_elsewhere_takes_no_time_here() -> None:
    assert value_of(f"regex:matches('(a+)+$', '{'a' * 5_000}b')") is False


def test_what_is_spread_is_gathered_again() -> None:
    text = """define stream Orders (id int, legs string);
    from Orders#json:tokenize(legs, '$.legs') select id, json:getInt(jsonElement, '$.n') as n insert into Legs;
    from Legs#window.batch() select id, json:group(n) as all, count() as many insert into Out;
    from Orders#str:tokenize(legs, '[^0-9]+') select token insert into Tokens;"""
    engine, rows, tokens = StreamEngine(parse_app(text)), [], []
    engine.listen("Out", lambda _, row: rows.append(row))
    engine.listen("Tokens", lambda _, row: tokens.append(row[0]))
    engine.send("Orders", 1, (7, '{"legs": [{"n": 1}, {"n": 2}]}'))
    engine.send("Orders", 2, (8, '{"legs": []}'))
    engine.send("Orders", 3, (9, '{"legs": [{"n": 3}]}'))
    assert rows == [(7, "[1,2]", 2), (9, "[3]", 1)]
    assert tokens == ["1", "2", "3"]


def test_a_gathered_array_may_have_a_name_and_follows_the_window() -> None:
    text = """define stream N (n int);
    from N#window.length(2) select json:group(n, 'ns') as all insert into Out;"""
    engine, rows = StreamEngine(parse_app(text)), []
    engine.listen("Out", lambda _, row: rows.append(row[0]))
    for n in (1, 2, 3):
        engine.send("N", n, (n,))
    assert rows == ['{"ns":[1]}', '{"ns":[1,2]}', '{"ns":[2,3]}']


@given(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.integers(-50, 50))  # noqa: DTZ001
def test_times_are_read_as_they_are_written(at: datetime, months: int) -> None:
    java_format = "EEE d 'of' MMMM yyyy, HH:mm:ss.SSS".replace("d '", "dd '")
    text = written(at, java_format)
    assert read_time(text, java_format) == at.replace(microsecond=at.microsecond // 1_000 * 1_000)
    there = read_time(later(text, months, "month", java_format), java_format)
    assert (there.year * 12 + there.month) - (at.year * 12 + at.month) == months
    assert there.day <= at.day


def test_signatures_are_read_as_they_are_written() -> None:
    one = function("f", "string any? -> same", max)
    assert (one.parameters, one.is_optional, one.is_repeated, one.returns) == (("string", "any"), True, False, "same")
    assert math.isnan(function("g", "number -> double", lambda _: math.nan).called(1))
