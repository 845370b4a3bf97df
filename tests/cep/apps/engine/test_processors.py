"""Processors per key: from the operator's folder alone, deterministic, whole or not at all for each row."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.compiler.own_calls import operator_files
from cep.apps.engine.carried_state import carry
from cep.apps.engine.host_choice import host_of
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppFailedError
from cep.apps.functions.key_processors import MOST_ALARMS, SPARE_ENTRIES, Processors
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.language.stream_names import output_streams, stream_names
from cep.apps.parts.app_limits import AppLimits
from cep.apps.stream_app import StreamApp

CODE = '''
from arbitrage.processors import processor

@processor(key="k", events=["Act", "Other"])
class Acts:
    """Does what the row says: `alarm NAME SECONDS`, `clear NAME`, `emit`, `retire`, `fail`, `random`."""

    def on_event(self, me, stream, row):
        me.state["rows"] = me.state.get("rows", 0) + 1
        for act in (row.get("act") or "").split(";"):
            self.act(me, act.split())

    def act(self, me, words):
        match words:
            case ["alarm", name, seconds]:
                me.set_alarm(name, seconds=float(seconds))
            case ["clear", name]:
                me.clear_alarm(name)
            case ["emit"]:
                me.emit("Out", k=me.key, what="row", n=me.state["rows"])
            case ["random"]:
                me.emit("Out", k=me.key, what=str(me.random()), n=me.now)
            case ["retire"]:
                me.retire()
            case ["fail"]:
                raise KeyError("no such")
            case ["wrong", "type"]:
                me.emit("Out", k=1)
            case ["wrong", "column"]:
                me.emit("Out", whatt="x")
            case ["wrong", "stream"]:
                me.emit("Act", k="x")
            case ["wrong", "state"]:
                me.state["x"] = object()
            case ["wrong", "ring"]:
                me.state["x"] = ring = []
                ring.append(ring)
            case ["no", "state"]:
                me.state = None
            case ["named"]:
                me.emit("Named", stream=me.key, self="x")
            case ["wrong", "alarm"]:
                me.set_alarm(seconds=-1)
            case ["many"]:
                for number in range(200):
                    me.set_alarm(str(number), seconds=1)

    def on_alarm(self, me, name):
        me.emit("Out", k=me.key, what="alarm " + name, n=me.now)
        if name == "chain":
            me.set_alarm("link", seconds=1)

@processor(key="k", events="Act")
class NoAlarm:
    def on_event(self, me, stream, row):
        me.set_alarm(days=1)

@processor(key="n", events=["Act"])
class ByNumber:
    def on_event(self, me, stream, row):
        pass

@processor(key="d", events=["Act"])
class ByDouble:
    def on_event(self, me, stream, row):
        pass

class NotMarked:
    pass
'''
STREAMS = """
define stream Act (k string, act string, n long, d double);
define stream Other (k string);
define stream Out (k string, what string, n long);
define trigger Beat at every 1 hour;
"""
ACTS = f"@App:processor('acts.Acts', events = 'Act, Other', emits = 'Out') {STREAMS}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("functions")
    (made / "acts.py").write_text(CODE)
    return made


def app(folder: Path, text: str = ACTS, snapshot: bytes | None = None, **limits: int) -> StreamApp:
    terms = OperatorTerms(functions=folder, limits=AppLimits(**limits))
    return StreamApp(text, terms=terms, begins_at=0, snapshot=snapshot)


def act(app: StreamApp, at: int, key: str | None, what: str) -> list[tuple[int, str, int]]:
    """Send a row; return time, words and number of each row that comes of it."""
    return seen(app.send("Act", {"k": key, "act": what}, at))


def seen(rows: Any) -> list[tuple[int, str, int]]:
    return [(row.time, f"{row.values['k']} {row.values['what']}", row.values["n"]) for row in rows]


def test_each_key_has_its_own_state_whatever_stream_its_rows_come_by(folder: Path) -> None:
    one = app(folder)
    assert act(one, 1, "a", "emit") == [(1, "a row", 1)]
    one.send("Other", {"k": "a"}, 2)
    assert act(one, 3, "b", "emit;emit") == [(3, "b row", 1), (3, "b row", 1)]
    assert act(one, 4, "a", "emit") == [(4, "a row", 3)]
    assert act(one, 5, None, "emit") == []


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        ([(0, "alarm x 2")], [(2_000, "a alarm x", 2_000)]),
        # moved later, and earlier
        ([(0, "alarm x 2"), (1_000, "alarm x 5")], [(6_000, "a alarm x", 6_000)]),
        ([(0, "alarm x 8"), (1_000, "alarm x 2")], [(3_000, "a alarm x", 3_000)]),
        ([(0, "alarm x 5;alarm x 8;alarm x 6")], [(6_000, "a alarm x", 6_000)]),
        ([(0, "alarm x 2;clear x")], []),
        ([(0, "alarm x 2"), (1_000, "clear x;clear y"), (1_500, "alarm x 2")], [(3_500, "a alarm x", 3_500)]),
        ([(0, "alarm x 2;retire")], []),
        ([(0, "alarm x 2"), (1_000, "retire")], []),
        # by their times, however the clock moves, and each with its own
        ([(0, "alarm late 3;alarm early 1")], [(1_000, "a alarm early", 1_000), (3_000, "a alarm late", 3_000)]),
        ([(0, "alarm x 1;alarm y 1")], [(1_000, "a alarm x", 1_000), (1_000, "a alarm y", 1_000)]),
        ([(0, "alarm chain 1;alarm z 3")], [(1_000, "a alarm chain", 1_000), (2_000, "a alarm link", 2_000),
                                            (3_000, "a alarm z", 3_000)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_cut", [False, True])
def test_alarms_come_when_they_are_due(
    folder: Path, acts: list[tuple[int, str]], expected: list[tuple[int, str, int]], is_cut: bool
) -> None:
    one = app(folder)
    for at, what in acts:
        assert act(one, at, "a", what) == []
        if is_cut:
            one = app(folder, snapshot=one.snapshot())
    assert seen(one.advance(60_000)) == expected
    assert seen(one.advance(6_000_000)) == []


def test_a_busy_key_moves_its_alarm_without_end(folder: Path) -> None:
    engine = StreamEngine(parse_app(ACTS), 0, terms=OperatorTerms(functions=folder))
    for number in range(20 * SPARE_ENTRIES):
        # now for a week, now for a second, which is over before the next row
        engine.send("Act", 2_000 * number, ("a", f"alarm x {1 if number % 2 else 604_800}", None, None))
    (found,) = (part for _, part in engine._context.kept() if isinstance(part, Processors))
    assert len(found._heap) <= SPARE_ENTRIES + 3
    assert len(engine._context._waits) < 10


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("fail", "KeyError: 'no such'"),
        ("wrong type", "Out.k is string, and int is none"),
        ("wrong column", "Out has no column 'whatt'; did you mean 'what'"),
        ("wrong stream", "the text names no 'Act' in emits"),
        ("wrong state", "state['x'] is a object, which no snapshot keeps"),
        ("wrong ring", "RecursionError: maximum recursion depth exceeded"),
        ("no state", "its state is a NoneType, and has to be a dict"),
        ("wrong alarm", "an alarm has a name, and comes now or later"),
        ("many", f"has more than {MOST_ALARMS} alarms"),
    ],
)
def test_a_row_that_fails_does_nothing_and_goes_where_the_text_says(folder: Path, what: str, problem: str) -> None:
    one = app(folder, ACTS.replace("define stream Act", "@OnError(action = 'stream') define stream Act") + FAILED)
    assert act(one, 0, "a", "emit;alarm x 5") == [(0, "a row", 1)]
    (failed,) = one.send("Act", {"k": "a", "act": f"emit;alarm x 1;{what}"}, 100)
    assert failed.stream == "Failed"
    assert problem in str(failed.values["why"])
    assert "acts.Acts" in str(failed.values["why"])
    # its second row, and its first alarm
    assert act(one, 200, "a", "emit") == [(200, "a row", 2)]
    assert seen(one.advance(10_000)) == [(5_000, "a alarm x", 5_000)]


def test_columns_may_be_called_as_what_a_method_takes(folder: Path) -> None:
    text = ACTS.replace("emits = 'Out'", "emits = 'Out, Named'") + "define stream Named (stream string, self string);"
    (row,) = app(folder, text).send("Act", {"k": "a", "act": "named"}, 1)
    assert row.values == {"stream": "a", "self": "x"}


FAILED = "define stream Failed (k string, why string); from !Act select k, _error as why insert into Failed;"


def test_without_a_word_of_the_text_a_failure_ends_the_app(folder: Path) -> None:
    with pytest.raises(AppFailedError, match=r"acts\.Acts failed for the key 'a': KeyError"):
        act(app(folder), 0, "a", "fail")
    with pytest.raises(AppFailedError, match="sets an alarm, and has no on_alarm"):
        act(app(folder, f"@App:processor('acts.NoAlarm', events='Act', emits='Out') {STREAMS}"), 0, "a", "")


def test_no_more_keys_are_kept_than_the_app_may_have(folder: Path) -> None:
    one = app(folder, keys=10)
    for number in range(999):
        act(one, number, f"k{number}", "")
    with pytest.raises(AppFailedError, match=r"the processor acts.Acts keeps 1,000 keys, and 10 are allowed \(keys\)"):
        act(one, 1_000, "k", "")
    retiring = app(folder, keys=10)
    for number in range(2_000):
        act(retiring, number, f"k{number}", "retire")


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ("'acts.Acts', events = 'Act, Other'", "a processor has a name, events and emits"),
        ("'acts', events = 'Act', emits = 'Out'", "a processor has a name, events and emits"),
        ("'../acts.Acts', events = 'Act', emits = 'Out'", "a processor has a name, events and emits"),
        ("'acts.Acts', events = 'Act, Act', emits = 'Out'", "are no names of streams, each once"),
        ("'acts.Acts', events = '', emits = 'Out'", "are no names of streams, each once"),
        ("'none.Acts', events = 'Act, Other', emits = 'Out'", "none.py is missing"),
        ("'acts.Act', events = 'Act, Other', emits = 'Out'", "acts.py of the operator has no processor 'Act'; did"),
        ("'acts.NotMarked', events = 'Act', emits = 'Out'", "has no processor 'NotMarked'"),
        ("'acts.Acts', events = 'Act', emits = 'Out'", "takes rows of Act, Other, and the text says Act"),
        ("'acts.Acts', events = 'Act, Other', emits = 'Outt'", "there is no stream 'Outt'; define it; did you mean"),
        ("'acts.Acts', events = 'Act, Other', emits = 'Beat'", "there is no stream 'Beat'"),
        ("'acts.ByNumber', events = 'Act', emits = 'Out'", None),
        ("'acts.ByDouble', events = 'Act', emits = 'Out'", "the key 'd' of 'Act' is double; a key is string, int"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(folder: Path, annotation: str, problem: str | None) -> None:
    text = f"@App:name('x')\n@App:processor({annotation})\n{STREAMS}"
    if problem is None:
        app(folder, text)
        return
    with pytest.raises(AppTextError) as found:
        app(folder, text)
    assert problem in str(found.value)
    assert found.value.at.line == 2


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("Other (k string)", "Other (key string)", "the stream 'Other' has no column 'k', which is the key"),
        ("Other (k string)", "Other (k long)", "the key 'k' is long and string: one key has one type"),
        ("@App:pro", "@App:processor('acts.Acts', events='Act, Other', emits='Out') @App:pro", "there are two proc"),
    ],
)
def test_keys_have_one_column_and_one_type(folder: Path, before: str, after: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        app(folder, ACTS.replace(before, after))


def test_without_a_folder_there_is_no_processor() -> None:
    with pytest.raises(AppTextError, match="there is no folder of functions in Python"):
        StreamApp(ACTS)


def test_the_text_alone_says_what_it_reads_and_gives_and_its_file_is_a_part_of_it(folder: Path) -> None:
    tree = parse_app(ACTS)
    assert list(stream_names(tree).read) == ["Act", "Other"]
    assert output_streams(tree) == ("Out",)
    ((name, _),) = operator_files(tree, OperatorTerms(functions=folder))
    assert name == "acts.py"
    with pytest.raises(AppTextError, match="alarms, whose order among all keys is the clock's"):
        host_of(parse_app(f"@App:host('structured') {ACTS}"))


def test_queries_read_what_a_processor_gives_and_the_other_way_round(folder: Path) -> None:
    text = ACTS + "from Beat select 'clock' as k, 'emit' as act, 0L as n, 0.0 as d insert into Act;"
    text += "define stream Last (what string); from Out[k == 'clock'] select what insert into Last;"
    one = app(folder, text)
    assert [row.values for row in one.advance(3_600_000) if row.stream == "Last"] == [{"what": "row"}]


def test_another_version_of_the_text_goes_on_with_keys_and_alarms(folder: Path) -> None:
    terms = OperatorTerms(functions=folder)
    before, after = parse_app(ACTS), parse_app(f"{ACTS} from Out select k, n insert into More;")
    first, second = (StreamEngine(one, 0, terms=terms) for one in (before, after))
    first.send("Act", 100, ("a", "alarm x 5;emit", None, None))
    parts = carry(first, before, second, after)
    assert "the processor acts.Acts" in parts.fit
    rows: list[tuple[Any, ...]] = []
    second.listen("Out", lambda at, row: rows.append((at, *row)))
    second.send("Act", 200, ("a", "emit", None, None))
    second.advance(10_000)
    assert rows == [(200, "a", "row", 2), (5_100, "a", "alarm x", 5_100)]


KEYS, NAMES = ("a", "b", "c"), ("x", "y")
ACT = st.one_of(
    st.tuples(st.just("alarm"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("clear"), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(["emit", "retire", "random"])),
)
ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(KEYS), st.lists(ACT, max_size=3)), max_size=40)


class Naive:
    """The same, as simply as it can be: all alarms in one list."""

    def __init__(self) -> None:
        self.now, self.count = 0, 0
        self.rows: dict[str, int] = {}
        self.alarms: dict[tuple[str, str], tuple[int, int]] = {}

    def due(self, until: int) -> Iterator[tuple[int, str, int]]:
        while self.alarms and min(self.alarms.values())[0] <= until:
            key, name = min(self.alarms, key=lambda one: self.alarms[one])
            at, _ = self.alarms.pop((key, name))
            yield at, f"{key} alarm {name}", at

    def take(self, at: int, key: str, acts: list[tuple[Any, ...]]) -> list[tuple[int, str, int]]:
        found = list(self.due(at))
        self.rows[key] = self.rows.get(key, 0) + 1
        alarms: dict[str, int | None] = {}
        is_over = False
        for word, *rest in acts:
            if word == "alarm":
                alarms[rest[0]] = at + rest[1] * 1_000
            elif word == "clear":
                alarms[rest[0]] = None
            elif word == "emit":
                found.append((at, f"{key} row", self.rows[key]))
            is_over = is_over or word == "retire"
        for name, due in alarms.items():
            self.alarms.pop((key, name), None)
            if due is not None:
                self.count += 1
                self.alarms[key, name] = due, self.count
        if is_over:
            self.rows.pop(key)
            self.alarms = {one: due for one, due in self.alarms.items() if one[0] != key}
        return found


@given(ROWS, st.sets(st.integers(0, 40)))
def test_it_does_as_the_simplest_one_does_wherever_it_is_cut(
    folder: Path, rows: list[tuple[int, str, list[tuple[Any, ...]]]], cuts: set[int]
) -> None:
    one, whole, naive, at = app(folder), app(folder), Naive(), 0
    for number, (seconds, key, acts) in enumerate(rows):
        at += seconds * 1_000
        if number in cuts:
            one = app(folder, snapshot=one.snapshot())
        text = ";".join(" ".join(map(str, words)) for words in acts)
        found = act(one, at, key, text)
        # chance follows from the log alone
        assert found == act(whole, at, key, text)
        assert [row for row in found if "." not in row[1]] == naive.take(at, key, acts)
    assert seen(one.advance(at + 60_000)) == list(naive.due(at + 60_000))


def test_chance_is_even(folder: Path) -> None:
    one = app(folder)
    found = [float(row[1].split()[1]) for n in range(500) for row in act(one, n, f"k{n % 7}", "random")]
    assert len(set(found)) == 500
    counts: Mapping[int, int] = {tenth: sum(int(value * 10) == tenth for value in found) for tenth in range(10)}
    assert set(counts) == set(range(10))
    assert min(counts.values()) > 20
    assert 0.45 < sum(found) / 500 < 0.55
