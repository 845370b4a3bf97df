"""An app that reads several topics, over its input log: which topics, its clock, and rows that are there twice."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from streams.message_format import row_of
from streams.topics import OPPORTUNITIES, TICKS
from tests.cep.apps.hosts.quote_app import told

JOINED = """@App:name('joined')
from opportunities#window.length(1) as o join quotes#window.time(1 sec) as q
on o.base == q.base and o.buy_exchange == q.exchange
select o.opportunity_id as opportunity_id, q.bid as bid, o.net_bps as net_bps insert into Met;
from not quotes for 2 sec select 'silent' as what insert into Silent;
"""


def flat(stream: str, **values: Any) -> tuple[tuple[str, Sequence[Any]]]:
    return ((stream, [values.get(column.name) for column in PRODUCT_STREAMS[stream].columns]),)


def quote(offset: int, at: int, bid: float) -> SourceRow:
    return SourceRow(TICKS, 0, offset, at * 1_000, flat("quotes", base="BTC", exchange="alpha", bid=bid))


def opportunity(offset: int, at: int) -> SourceRow:
    rows = flat("opportunities", opportunity_id=f"o{offset}", base="BTC", buy_exchange="alpha", net_bps=7.5)
    return SourceRow(OPPORTUNITIES, 0, offset, at * 1_000, rows)


def probe(offset: int, at: int) -> SourceRow:
    return SourceRow(TICKS, 0, offset, at * 1_000, ())


LOG = (quote(4, 10, 1.0), opportunity(0, 15), quote(6, 20, 2.0), quote(7, 1_900, 3.0), probe(9, 4_000))
MET = [
    (15, "Met", {"opportunity_id": "o0", "bid": 1.0, "net_bps": 7.5}),
    (20, "Met", {"opportunity_id": "o0", "bid": 2.0, "net_bps": 7.5}),
    (1_900, "Met", {"opportunity_id": "o0", "bid": 3.0, "net_bps": 7.5}),
    (3_900, "Silent", {"what": "silent"}),
]


def given_by(app: HostedApp, log: Iterable[SourceRow], first: int = 0) -> list[AppRow]:
    place, out = InputPlace(), list[AppRow]()
    for offset, row in enumerate(log, start=first):
        place = place.after(row)
        out += app.take(offset, 1, row_of(input_message("s", row, place)))
    return out


def test_rows_of_two_topics_meet_by_their_own_times() -> None:
    rows = given_by(HostedApp(AppSource("joined", JOINED), 0), LOG)
    assert [(row.time, row.stream, dict(row.values)) for row in rows] == MET
    assert rows[0].id == f"{AppSource('joined', JOINED).label}:0:1:0"


@given(st.lists(st.integers(0, len(LOG)), max_size=4), st.integers(0, len(LOG)))
def test_cut_anywhere_and_with_rows_that_are_there_twice_it_gives_the_same(cuts: list[int], again: int) -> None:
    source = AppSource("joined", JOINED)
    log = [*LOG, *LOG[again:]]
    app, before, rows = HostedApp(source, 0), 0, list[AppRow]()
    for cut in (*sorted(cuts), len(log)):
        rows += given_by(app, log[before:cut], before)
        data, app, before = app.snapshot(), HostedApp(source, 0), cut
        app.restore(data)
    assert told(rows) == told(given_by(HostedApp(source, 0), LOG))


@pytest.mark.parametrize(
    ("read", "sources"),
    [
        (("quotes",), (TICKS,)),
        (("quotes", "ticks"), (TICKS,)),
        (("opportunities",), (OPPORTUNITIES,)),
        (("quotes", "opportunities"), (TICKS, OPPORTUNITIES)),
        (("opportunities", "spreads"), (TICKS, OPPORTUNITIES, "spreads")),
    ],
)
def test_an_app_of_several_topics_has_a_log_of_its_own(read: tuple[str, ...], sources: tuple[str, ...]) -> None:
    text = " ".join(f"from {name} select base insert into Out{number};" for number, name in enumerate(read))
    found = app_source(text, "a b")
    assert found.sources == sources
    assert found.is_merged == (len(sources) > 1)
    assert found.topic == (f"app-input-a-b-{found.version}" if found.is_merged else sources[0])


def test_a_long_name_is_cut_where_it_names_files_and_topics() -> None:
    found = app_source(f"@App:name('{'n' * 300}') from quotes select base insert into Out;", "a")
    assert (len(found.name), len(found.label)) == (300, 109)


@pytest.mark.parametrize(
    "row", [{}, {"topic": TICKS, "offset": 3}, {"topic": TICKS, "offset": 3, "time": 1, "rows": 3}]
)
def test_a_row_that_is_none_of_the_log_is_left_out(row: dict[str, object]) -> None:
    app = HostedApp(AppSource("joined", JOINED), 0)
    assert app.take(4, 0, row) == []
    assert app.position == 5
