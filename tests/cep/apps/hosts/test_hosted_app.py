"""An app over a partition: ids, clock, unreadable rows, and the same rows wherever it is cut."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.engine.snapshots import SnapshotError
from cep.apps.errors import AppFailedError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.language.stream_names import output_streams
from cep.apps.parts.app_limits import AppLimits
from streams.message_format import marker_row, row_of
from tests.cep.apps.hosts.quote_app import QUOTE_APP, rows_of, source, told
from tests.cep.logs import START, LogMaker

LOG = LogMaker(5).write(400)
WHOLE = told(rows_of(LOG, HostedApp(source(), 0)))


def test_every_output_stream_has_rows_with_ids_of_their_log() -> None:
    assert {stream for _, stream, _, _ in WHOLE} == {"Busy", "Gone", "Silent"}
    ids = [one for one, *_ in WHOLE]
    assert len(set(ids)) == len(ids)
    assert source().label.startswith("quote-app-")
    of_messages: dict[int, list[str]] = {}
    for one in ids:
        app, partition, offset, number = one.split(":")
        assert (app, partition) == (source().label, "0")
        of_messages.setdefault(int(offset), []).append(number)
    assert set(of_messages) <= set(range(len(LOG)))
    # one message may make several rows, which are counted from 0
    assert max(map(len, of_messages.values())) > 1
    assert all(numbers == [str(one) for one in range(len(numbers))] for numbers in of_messages.values())


@settings(max_examples=25)  # to compile an app takes long
@given(st.lists(st.integers(0, len(LOG)), max_size=4))
def test_cut_anywhere_it_gives_the_same_rows(cuts: list[int]) -> None:
    rows: list[AppRow] = []
    app, before = HostedApp(source(), 0), 0
    for cut in (*sorted(cuts), len(LOG)):
        rows += rows_of(LOG[before:cut], app, before)
        data, app, before = app.snapshot(), HostedApp(source(), 0), cut
        app.restore(data)
        assert app.position in (cut, 0)
    assert told(rows) == WHOLE


def test_a_snapshot_of_another_version_is_refused() -> None:
    app = HostedApp(source(), 0)
    rows_of(LOG[:50], app)
    with pytest.raises(SnapshotError, match="of another app"):
        HostedApp(source(QUOTE_APP + "\n"), 0).restore(app.snapshot())


def test_a_probe_moves_the_clock_and_is_no_row() -> None:
    app = HostedApp(source("from not quotes for 2 sec select 'silent' as what insert into Silent;"), 0)
    log = [marker_row("probe", "BTC", f"p{at}", START + at * 1_000_000) for at in (0, 1, 5)]
    silent = told(rows_of(log, app))
    assert [one[1:] for one in silent] == [("Silent", START // 1_000 + 2_000, {"what": "silent"})]
    assert silent[0][0].endswith(":0:2:0")


@pytest.mark.parametrize("row", [{}, {"kind": "quote"}, {"kind": "quote", "received_time": 1, "bid": "many"}])
def test_a_row_that_cannot_be_read_is_left_out(row: dict[str, object]) -> None:
    app = HostedApp(source("from quotes select base insert into Out;"), 0)
    assert app.take(4, 0, row) == []
    assert app.position == 5


def test_of_other_topics_the_time_of_writing_is_the_clock() -> None:
    app = HostedApp(source("from spreads select base, currentTimeMillis() as now insert into Out;"), 0)
    (row,) = app.take(0, 7_000, {"base": "BTC"})
    assert (row.time, row.values) == (7, {"base": "BTC", "now": 7})


def test_a_row_that_cannot_be_computed_ends_the_app_with_one_sentence() -> None:
    app = HostedApp(
        source("from spreads select convert(rows, 'int') * 1 as n, cast(base, 'int') + 1 as m insert into O;"), 3
    )
    with pytest.raises(AppFailedError, match="row 9 of partition 3 cannot be computed: "):
        app.take(9, 0, {"base": "BTC", "rows": 1})


def test_an_app_that_keeps_too_much_is_ended_with_one_sentence() -> None:
    terms = OperatorTerms(limits=AppLimits(state_bytes=20_000))
    text = "from quotes#window.time(1 year) select count() as n insert into Out;"
    app = HostedApp(AppSource("a", text, terms=terms), 1)
    rows_of(LOG[:20], app)
    app.snapshot()
    rows_of(LOG[20:], app, 20)
    with pytest.raises(AppFailedError, match=r"partition 1 keeps more than 20,000 bytes \(state.bytes\) at row 400"):
        app.snapshot()


@pytest.mark.parametrize(
    "expression",
    [
        "map:get(list:create(base), 'a')",
        "list:get(list:sort(list:create(base, 1)), 0)",
        "str:replaceAll(base, 'B', '$9')",
        "map:toJSON(map:create(map:create(), 1))",
    ],
)
def test_what_a_function_cannot_compute_ends_the_app_with_one_sentence(expression: str) -> None:
    app = HostedApp(source(f"from quotes select {expression} as x insert into Out;"), 0)
    with pytest.raises(AppFailedError, match="cannot be computed: "):
        rows_of(LOG, app)


def test_rows_that_feed_themselves_end_the_app() -> None:
    app = HostedApp(source("from quotes select base insert into A; from A select base insert into A;"), 0)
    with pytest.raises(AppFailedError, match=r"the stream 'A' feeds itself without end \(A -> A\)$"):
        rows_of(LOG, app)


def test_variables_belong_to_the_version() -> None:
    text = "from spreads[context:getVar('region') == 'eu'] select base, context:getVar('none') as x insert into O;"
    here, there = (AppSource("a", text, (("region", region),)) for region in ("eu", "us"))
    assert here.version != there.version != AppSource("a", text).version
    assert [row.values for row in HostedApp(here, 0).take(0, 7_000, {"base": "BTC"})] == [{"base": "BTC", "x": None}]
    assert HostedApp(there, 0).take(0, 7_000, {"base": "BTC"}) == []


def test_an_app_is_named_by_its_text_or_its_file() -> None:
    text = "from quotes select base insert into Out;"
    assert app_source(text, "file").name == "file"
    named = app_source(f"@App:name('a b/c') {text}", "file")
    assert (named.name, named.label) == ("a b/c", f"a-b-c-{named.version}")


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("from quotes select base insert into A; from A select base insert into B;", ("B",)),
        ("from quotes select base insert into A; from quotes select base insert into B;", ("A", "B")),
        ("from quotes select base insert into A; from A[base == 'X'] select base insert into A;", ("A",)),
        ("define table T (base string); from quotes select base insert into T; from ticks select base insert into A;",
         ("A",)),
    ],
)  # fmt: skip
def test_the_last_streams_come_out(text: str, streams: tuple[str, ...]) -> None:
    assert output_streams(source(text).app) == streams


def test_a_message_is_json() -> None:
    row = HostedApp(source("from spreads select base, createSet(base) as s insert into O;"), 0).take(
        0, 7_000, row_of(b'{"base": "BTC"}')
    )
    assert json.loads(app_message(row[0])) == {
        "id": row[0].id,
        "app": "quote app",
        "stream": "O",
        "time": 7,
        "values": {"base": "BTC", "s": ["BTC"]},
    }
