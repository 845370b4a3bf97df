"""Rows that fail and are kept: as rows of the stream of errors, with the id that each had first, and given again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.hosts.app_messages import AppRow, ReplayedRow, app_message
from cep.apps.hosts.app_outside import app_outside
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, input_message
from cep.apps.language.app_parser import parse_app
from cep.apps.language.stream_names import output_streams
from cep.apps.transports.event_feed import EventFeed
from cep.apps.transports.http_listener import FeedServer, HttpListener
from launch.apps.error_keeper import ErrorKeeper, failed_rows
from launch.apps.failed_ends import FailedEnds
from launch.apps.outer_ends import OuterEnds
from launch.apps.row_copier import given_row
from launch.apps.sent_rows import SentRows, sent_message
from launch.sessions.app_input import LiveInput
from runtime.clock import SystemClock
from store.memory.failed_rows import MemoryFailedRows
from streams.message_format import row_of
from streams.records import Record
from streams.topics import APPS
from tests.cep.logs import session as session_of

TEXT = """@App:name('kept') @OnError(action = 'store') define stream Raw (text string);
from Raw select convert(str:unhex(text), 'string') as text insert into Texts;
from quotes select exchange as text insert into Raw;"""
CALLS = """@App:name('calls') define trigger Tick at every 10 sec;
@sink(type = 'http-call', publisher.url = 'https://example.com/a', on.error = 'store') define stream Asked (at long);
from Tick select triggered_time as at insert into Asked;"""
SOURCE = app_source(TEXT, "kept", takes_replays=True)
FIRST = "kept-0:0:17:2"


def sent(app: HostedApp, offset: int, values: dict[str, object], replays: str | None) -> list[tuple[str, object]]:
    """Return stream and id of what the app makes of a row that is given again."""
    reader = SentRows(SOURCE.sent_streams, 1, int, CountedWarnings({}))
    record = Record(str(SOURCE.rows_topic), 0, offset, None, sent_message(1, "Raw", values, replays), 5_000)
    row = reader.row(record)
    assert reader.rejected == 0, reader.problem
    given = app.take(offset, 1, row_of(input_message("s", row, InputPlace().after(row))))
    return [(one.stream, one.replays if isinstance(one, ReplayedRow) else None) for one in given]


def test_the_stream_of_errors_is_given_and_has_the_reason() -> None:
    assert output_streams(SOURCE.app) == ("Texts", "!Raw")
    assert list(SOURCE.sent_streams) == ["Raw"]
    assert app_source(TEXT, "kept").sent_streams == {}


def test_a_row_that_is_given_again_keeps_its_id_and_what_follows_from_it_has_its_own() -> None:
    app = HostedApp(SOURCE, 0)
    assert sent(app, 1, {"text": "xyz"}, FIRST) == [("!Raw", FIRST)]
    assert sent(app, 2, {"text": "4869"}, FIRST) == [("Texts", None)]
    assert sent(app, 3, {"text": "xyz"}, None) == [("!Raw", None)]


def test_the_message_of_a_row_that_is_given_again_says_which_it_was() -> None:
    message = app_message(ReplayedRow("kept-1:0:9:0", "kept", "!Raw", 5, {"text": "a", "_error": "no"}, FIRST))
    assert json.loads(message)["replays"] == FIRST
    record = Record(APPS, 0, 3, SOURCE.label, message, 1)
    row = given_row(record, SOURCE.name, SOURCE.label, ("!Raw",))
    assert row is not None
    assert (row.id, row.order) == (FIRST, (9, 0))
    (kept,) = failed_rows([record, Record(APPS, 0, 4, "other", message, 1)], SOURCE, ("!Raw",))
    assert (kept.id, kept.occurrence, kept.stream, kept.values, kept.error, kept.kind) == (
        FIRST,
        "kept-1:0:9:0",
        "Raw",
        {"text": "a"},
        "no",
        "row",
    )


async def test_rows_that_the_error_store_drops_are_counted_whoever_gave_the_newer_ones(tmp_path: Path) -> None:
    session, source = session_of(tmp_path), app_source(TEXT, "kept")
    keeper = ErrorKeeper(session, source, source.label, {(APPS, 0): 0}, tmp_path / "version")
    (tmp_path / "version").mkdir()
    rows = [AppRow(f"kept-1:0:{n}:0", "kept", "!Raw", n, {"text": "x", "_error": "no"}) for n in range(3)]
    records = [Record(APPS, 0, n, source.label, app_message(row), 1) for n, row in enumerate(rows)]
    await keeper._keep(MemoryFailedRows(SystemClock(), most=1), records)
    alone = LiveInput(source, {}, None, None, None, keeper)
    assert alone.figures() == {"errors_dropped": 2}
    beside = replace(alone, ends=OuterEnds(failed=FailedEnds(session, source, dropped=5)))
    assert beside.figures() == {"sinks": [], "sources": [], "errors_dropped": 7}
    assert LiveInput(source, {}, None, None, None).figures() == {}


class FullDisk(ErrorKeeper):
    """Cannot write its place."""

    async def catch_up(self) -> None:
        raise OSError(28, "No space left on device")


async def test_a_full_disk_keeps_no_path_from_the_next_run(tmp_path: Path) -> None:
    session, source = session_of(tmp_path), app_source(TEXT, "kept")
    listener, feed = HttpListener("127.0.0.1", 0, {"/texts": "key"}), EventFeed()
    await listener.open("/texts", feed)
    keeper = FullDisk(session, source, source.label, {}, tmp_path)
    ends = OuterEnds(feeds=(FeedServer(listener, "/texts", feed),))
    with pytest.raises(OSError, match="No space left"):
        await LiveInput(source, {}, None, None, None, keeper, ends=ends).finish()
    await listener.open("/texts", EventFeed())
    await listener.close("/texts")


def test_a_sink_that_keeps_what_it_gives_up_has_a_stream_of_errors() -> None:
    (call,) = app_outside(parse_app(CALLS)).calls
    assert (call.retries, call.of_errors, call.keeps_errors) == (False, ("at",), True)
    assert output_streams(parse_app(CALLS)) == ("Asked", "!Asked")
    assert list(app_source(CALLS, "calls", takes_replays=True).sent_streams) == ["Asked"]


@pytest.mark.parametrize("spelling", ["@OnError(action = 'store')", "@OnError(action = 'STORE')", "@onerror('store')"])
def test_spellings(spelling: str) -> None:
    assert output_streams(parse_app(TEXT.replace("@OnError(action = 'store')", spelling))) == ("Texts", "!Raw")
