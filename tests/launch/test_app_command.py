"""`arbitrage app`: its output about an app and its cases."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms
from launch.commands.app import explanation, run_app
from launch.errors import LaunchError

APP = """define stream Trades (symbol string, price double, amount long);
@info(name = 'busy')
from Trades#window.time(1 sec) select symbol, count() as n group by symbol having n > 1 insert into Busy;
"""
TRADE = ["BTC", 1.0, 1]


def case(**changes: Any) -> str:
    base = {
        "id": "two in a second",
        "outputs": ["Busy"],
        "events": [[0, "Trades", TRADE], [10, "Trades", TRADE]],
        "expected": {"out": [["Busy", 10, False, ["BTC", 2]]]},
    }
    return json.dumps(base | changes)


def run(tmp_path: Path, work: str, app: str, *cases: str) -> tuple[int, list[str]]:
    file, lines, said = tmp_path / "a.app", tmp_path / "a.jsonl", list[str]()
    file.write_text(app)
    lines.write_text("\n".join(cases))
    return run_app(Namespace(work=work, file=file, cases=lines), said.append), said


def test_an_app_without_mistakes_is_explained(tmp_path: Path) -> None:
    code, said = run(tmp_path, "check", APP)
    assert code == 0
    assert said[1:] == [
        "  stream Trades (symbol string, price double, amount long)",
        "  stream Busy (symbol string, n long)",
        "  query busy -> Busy",
    ]


@pytest.mark.parametrize(
    ("query", "last"),
    [
        ("from quotes[bid > 1.0] select base insert into Out;", "gives the same rows with any number of partitions"),
        ("@info(name = 'mean') from quotes select avg(bid) as m insert into Out;",
         "with more than one partition each has a state of its own in mean; partition by base to avoid that"),
        ("from every a = quotes -> b = quotes select a.base insert into Out;",
         "with more than one partition each has a state of its own in the query at line 1; "
         "partition by base to avoid that"),
        ("partition with (base of quotes) begin from quotes select avg(bid) as m insert into Out; end;",
         "gives the same rows with any number of partitions"),
        ("partition with (exchange of quotes) begin from quotes#window.length(2) select bid insert into Out; end;",
         "with more than one partition each has a state of its own in the query at line 1; "
         "partition by base to avoid that"),
    ],
)  # fmt: skip
def test_explained_it_says_where_it_runs(tmp_path: Path, query: str, last: str) -> None:
    code, said = run(tmp_path, "explain", query)
    assert code == 0
    assert said[0].startswith("a, version ")
    assert "reads quotes of the topic ticks; gives Out to the topic apps" in said
    assert said[-1] == last


@pytest.mark.parametrize(
    ("host", "where"),
    [
        ("resident", "runs as a Spark task for each partition of ticks, whose snapshot has at most 67,108,864 bytes"),
        ("structured", "runs in Spark's micro-batches on ticks, whose state of each key has at most 67,108,864 bytes"),
    ],
)
def test_explained_it_says_which_host_runs_it(tmp_path: Path, host: str, where: str) -> None:
    block = "partition with (base of quotes) begin from quotes select avg(bid) as m insert into Out; end;"
    code, said = run(tmp_path, "explain", f"@App:host('{host}') {block}")
    assert code == 0
    assert said[-2:] == [where, "gives the same rows with any number of partitions"]


def test_a_host_that_an_app_does_not_fit_is_refused_with_its_place(tmp_path: Path) -> None:
    for work in ("check", "explain"):
        with pytest.raises(LaunchError, match=r"line 2, column 1: .*the query has a window in no partition"):
            run(tmp_path, work, "@App:host('structured') partition with (base of quotes) begin from quotes select bid "
                "insert into A; end;\nfrom quotes#window.length(2) select bid insert into B;")  # fmt: skip


def test_explained_it_says_what_is_merged(tmp_path: Path) -> None:
    code, said = run(tmp_path, "explain", "from quotes as q join trades#window.length(1) as t on q.base == t.base "
                     "select q.bid as bid, t.net as net insert into Out;")  # fmt: skip
    assert code == 0
    version = said[0].removeprefix("a, version ")
    assert (
        f"reads quotes, trades of the topic ticks and MongoDB, merged into the topic app-input-a-{version}; "
        "gives Out to the topic apps"
    ) in said


TOPICS = """@source(type='kafka', bootstrap.servers='k:1', topic.list='app-a,app-b') define stream A (n long);
@sink(type='kafka', bootstrap.servers='k:1', topic='app-c') define stream C (n long);
from A[n > 1] select n insert into C;
"""


@pytest.mark.parametrize(
    ("brokers", "source", "sink"),
    [
        ((), "not allowed here; see [apps.brokers]", "not allowed here; see [apps.brokers]"),
        ((BrokerTerms("k:1", "l:2", ("app-a", "app-b")),), "mapped to l:2", "not allowed here; see [apps.brokers]"),
        ((BrokerTerms("k:1", "session", ("app-a",), ("app-c",)),), "not allowed here; see [apps.brokers]",
         "of the session's Kafka"),
    ],
)  # fmt: skip
def test_explained_it_says_which_topics_of_the_users_own(
    tmp_path: Path, brokers: tuple[BrokerTerms, ...], source: str, sink: str
) -> None:
    path = tmp_path / "a.app"
    path.write_text(TOPICS)
    said = [*explanation(path, OperatorTerms(brokers=brokers))]
    log = f"app-input-a-{said[0].removeprefix('a, version ')}"
    assert said[-4:] == [
        "reads the clock of the topic ticks and the topic k:1/app-a and the topic k:1/app-b, "
        f"merged into the topic {log}; gives C to the topic apps",
        f"source A: the topic app-a, app-b of k:1, {source}",
        f"sink C: the topic app-c of k:1, {sink}",
        f"runs as one Spark task on {log}, whose snapshot has at most 67,108,864 bytes",
    ]


def test_explained_it_says_where_rows_of_topics_are(tmp_path: Path) -> None:
    path = tmp_path / "a.app"
    path.write_text(f"{TOPICS} from quotes select base insert into Bases;")
    said = [*explanation(path, OperatorTerms())]
    assert "with more than one partition a row of a topic is in that of the base which is its Kafka key" in said


CALLING = """@sink(type='http-call', publisher.url='https://api.example.com/p', method='GET', sink.id='p')
define stream Asked (at long);
@source(type='http-call-response', sink.id='p') define stream Price (price double);
@sink(type='log', prefix='NOW') define stream Told (price double);
define trigger Beat at every 5 sec;
from Beat select triggered_time as at insert into Asked;
from Price select price insert into Told;
"""


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        ((), "not allowed here; see [apps.addresses]"),
        ((("https://api.example.com", "simulated:kraken"),), "mapped to simulated:kraken/p"),
    ],
)
def test_explained_it_says_where_sinks_go(tmp_path: Path, allowed: tuple[tuple[str, str], ...], told: str) -> None:
    path = tmp_path / "a.app"
    path.write_text(CALLING)
    said = [*explanation(path, OperatorTerms(addresses=allowed))]
    log = f"app-input-a-{said[0].removeprefix('a, version ')}"
    assert said[-5:] == [
        f"reads the clock of the topic ticks and responses to its requests, merged into the topic {log}; "
        "gives Asked, Told to the topic apps",
        "sink Told: a line for each row, behind 'NOW'",
        f"sink Asked: GET https://api.example.com/p, {told}",
        "source Price: responses to that with the status 200",
        f"runs as one Spark task on {log}, whose snapshot has at most 67,108,864 bytes",
    ]


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (
            "type='http', publisher.url='https://api.example.com/p'",
            "http to https://api.example.com, {}[apps.addresses]",
        ),
        ("type='websocket', url='wss://api.example.com/p'", "websocket to https://api.example.com, {}[apps.addresses]"),
        ("type='mongodb', uri='mongodb://d.example/shop'", "mongodb to mongodb://d.example:27017, {}[apps.servers]"),
        ("type='http', publisher.url='https://known.example/p'", "http to https://known.example"),
    ],
)
def test_explained_it_says_which_table_lacks_a_server(tmp_path: Path, end: str, told: str) -> None:
    path = tmp_path / "a.app"
    path.write_text(CALLING.replace("type='log', prefix='NOW'", end))
    said = [*explanation(path, OperatorTerms(addresses=(("https://known.example", "https://known.example"),)))]
    assert f"sink Told: {told.format('not allowed here; see ')}" in said


def test_explained_it_says_that_health_is_in_every_partition_of_an_input_log(tmp_path: Path) -> None:
    sentence = "with more than one partition each has all rows of health, which belong to no asset"
    both = "from health select query insert into A; from quotes select base insert into B;"
    assert sentence in run(tmp_path, "explain", both)[1]
    alone = "from health select query insert into A;"
    assert sentence not in run(tmp_path, "explain", alone)[1]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("type='http-call',", "type='http',", "the option 'sink.id' is not known; there are publisher.url, "),
        ("type='http-call-response'", "type='http-response'", "no host runs the source"),
        ("publisher.url=", "url=", "the option 'url' is not known; there are publisher.url, "),
        ("method=", "metod=", "the option 'metod' is not known; did you mean 'method'?"),
        ("type='http-call-response', sink.id='p'", "type='http-call-response', sink.id='q'", "has the sink.id 'q'"),
        ("method='GET',", "method='GET', map.type='yaml',", "map type 'yaml'"),
    ],
)
def test_a_check_refuses_sinks_and_sources_that_no_host_runs(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    assert run(tmp_path, "check", CALLING)[0] == 0
    with pytest.raises(LaunchError) as found:
        run(tmp_path, "check", CALLING.replace(before, after))
    assert problem in str(found.value)
    # rows of a case are given and taken by hand
    told = case(events=[[0, "Price", [1.5]]], outputs=["Told"], expected={"out": [["Told", 0, False, [1.5]]]})
    assert run(tmp_path, "test", CALLING.replace(before, after), told) == (0, ["1 of 1 cases as expected"])


@pytest.mark.parametrize(
    ("app", "problem"),
    [
        (APP.replace("double", "duble"), "line 1, column 44: `duble` is unexpected"),
        (APP.replace("n > 1", "m > 1"), "line 3, column 83: there is no attribute 'm'"),
        (
            APP + "define function f[scala] return int { 1 };",
            "line 4, column 1: functions in scala are not supported",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, app: str, problem: str) -> None:
    with pytest.raises(LaunchError) as found:
        run(tmp_path, "check", app)
    assert f"a.app, {problem}" in str(found.value)
    assert "\n" not in str(found.value)


def test_a_check_says_all_mistakes_each_with_what_was_expected_and_the_nearest_name(tmp_path: Path) -> None:
    file, said = tmp_path / "a.app", list[str]()
    file.write_text(
        "define stream Trades (symbol strin);\n"
        "from quotes[bidd > 1.0]#window.lenght(5) select askk as a insert into O;\n"
        "from quotes select bid insert int P;\n"
    )
    with pytest.raises(LaunchError, match=r"a\.app: 5 mistakes\."):
        run_app(Namespace(work="check", file=file), said.append)
    first, *others = [one.removeprefix(f"{file}, ") for one in said]
    assert first.startswith(
        "line 1, column 30: `strin` is unexpected (did you mean `string`?): expected a type (string, "
    )
    assert others == [
        "line 2, column 13: there is no attribute 'bidd'; did you mean 'bid'?",
        "line 2, column 32: there is no window 'lenght'; did you mean 'length'?",
        "line 2, column 49: there is no attribute 'askk'; did you mean 'ask'?",
        "line 3, column 31: `int` is unexpected (did you mean `into`?): expected `all`, `current`, `events`, "
        "`expired` or `into`.",
    ]


def test_what_is_explained_is_checked_whole(tmp_path: Path) -> None:
    with pytest.raises(LaunchError) as found:
        run(
            tmp_path,
            "explain",
            "from quotes[bidd > 1.0] select askk insert into O;\nfrom quotes select bid insert int P;",
        )
    file = tmp_path / "a.app"
    assert [line.partition(": ")[0] for line in str(found.value).splitlines()] == [
        str(file),
        f"{file}, line 1, column 13",
        f"{file}, line 1, column 32",
        f"{file}, line 2, column 31",
    ]


def test_cases_that_hold_and_one_that_does_not(tmp_path: Path) -> None:
    slow = case(id="too slow", events=[[0, "Trades", TRADE], [2_000, "Trades", TRADE]])
    code, said = run(tmp_path, "test", APP, case(), "", slow)
    assert code == 1
    assert said == [
        "too slow: Busy: expected 1 row: [10, ['BTC', 2]]; came no row",
        "1 of 2 cases as expected",
    ]
    assert run(tmp_path, "test", APP, case()) == (0, ["1 of 1 cases as expected"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1: a case is one line of JSON, and this line is none (EOF"),
        ("[]", "line 1: a case is one line of JSON, an object such as"),
        (case(events=[[0, "Trades", TRADE], ["soon"]]), "event 2: write [time, stream, [values]], or [time] to move"),
        (case(events=[[0, "Trades"]]), "event 1: write [time, stream, [values]], or [time] to move"),
        (case(expected={"out": [["Busy", 10, ["BTC", 2]]]}), "row 1 of expected.out: write [stream, time, false"),
        (case(id=None), "line 1: id: write a text"),
        ('{"events": []}', "line 1: id: is missing; write a text"),
        (case(expected={"query": 1}), 'line 1: expected: write an object such as {"out"'),
        (case(events=[[0, "Trade", TRADE]]), "line 1: the app has no stream 'Trade'"),
        (case(outputs=["Busi"]), "line 1: the app has no stream 'Busi'"),
        (case(events=[[0, "Trades", ["BTC", 1.0]]]), "has 2 values for 3 columns"),
        (case(events=[[0, "Trades", ["BTC", "1", 1]]]), "has '1' in 'price', which is double"),
        (case(compare="somehow"), 'line 1: compare: write "ordered" or "set"'),
        ("", "has no case"),
    ],
)
def test_cases_that_cannot_be_run_are_one_sentence(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(LaunchError) as found:
        run(tmp_path, "test", APP, line)
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


def test_a_difference_shows_what_was_expected_and_a_few_of_what_came(tmp_path: Path) -> None:
    many = case(events=[[0, "Trades", TRADE]] * 6, expected={"out": [["Busy", 0, False, ["BTC", 2]]]})
    assert run(tmp_path, "test", APP, many)[1][0] == (
        "two in a second: Busy: expected 1 row: [0, ['BTC', 2]]; "
        "came 5 rows: [0, ['BTC', 2]], [0, ['BTC', 3]], [0, ['BTC', 4]], …"
    )
    most = [["Busy", 0, False, ["BTC", number]] for number in (2, 3, 4, 5)]
    assert run(tmp_path, "test", APP, many.replace(json.dumps([most[0]]), json.dumps(most)))[1][0] == (
        "two in a second: Busy: expected 4 rows: …, [0, ['BTC', 5]]; came 5 rows: …, [0, ['BTC', 5]], [0, ['BTC', 6]]"
    )


BEAT = "define trigger Beat at every 5 sec; from Beat select triggered_time as at insert into Told;"


@pytest.mark.parametrize("event", [[10_000], [10_000, None, None]])
def test_an_event_of_a_time_alone_moves_the_clock(tmp_path: Path, event: list[int | None]) -> None:
    expected = {"out": [["Told", 5_000, False, [5_000]], ["Told", 10_000, False, [10_000]]]}
    moved = case(events=[event], outputs=["Told"], expected=expected)
    assert run(tmp_path, "test", BEAT, moved) == (0, ["1 of 1 cases as expected"])


def test_a_case_writes_no_rows_of_a_trigger(tmp_path: Path) -> None:
    beat = case(events=[[0, "Beat", [0]]], outputs=["Told"], expected={})
    with pytest.raises(LaunchError, match="'Beat' is a trigger, whose rows come by the clock; write"):
        run(tmp_path, "test", BEAT, beat)


def test_an_event_that_cannot_be_computed_is_one_sentence(tmp_path: Path) -> None:
    app = APP + "from Trades select cast(symbol, 'int') + 1 as x insert into Sums;"
    with pytest.raises(
        LaunchError, match=r"line 1: the event of 'Trades' at 0 cannot be computed: can only concatenate"
    ):
        run(tmp_path, "test", app, case())


DOUBLING = "define stream S0 (a int); " + "".join(
    f"from S{number} select a insert into S{number + 1}; " * 2 for number in range(80)
)
FLOOD = json.dumps({"id": "flood", "events": [[1, "S0", [1]]], "expected": {}})


# the signal may come while Python runs a callback that cannot raise; the next one comes a quarter of a second later
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_event_that_takes_too_long_is_ended_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LaunchError) as found:
        run(tmp_path, "test", f"@App:limits(event.seconds = '0.5') {DOUBLING}", FLOOD)
    why = "it took more than 0.5 s of CPU with all that comes of it (event.seconds)"
    assert str(found.value).endswith(f"a.jsonl, line 1: the app was ended at the event of 'S0' at 1: {why}.")


def test_a_file_that_is_not_there_or_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot be read"):
        run_app(Namespace(work="check", file=tmp_path / "none"), print)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(LaunchError, match="is no text"):
        run_app(Namespace(work="check", file=tmp_path / "bytes"), print)
