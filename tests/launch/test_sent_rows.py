"""Rows that users send into an app's plain streams: each version takes those that fit it, and counts the others."""

import json
from decimal import Decimal

import pytest

from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import HostedApp, app_source
from cep.apps.hosts.input_log import InputPlace, input_message
from launch.apps.sent_rows import SentRows, sent_message
from streams.message_format import row_of
from streams.records import Record

CREATED = 1_000
SENT = """@App:name('sent') define stream Marks (text string, level int, price decimal);
from Marks select text, level, price insert into Out;"""
SOURCE = app_source(SENT, "sent", takes_rows=True)
TOPIC = "app-rows-sent"


def reader() -> SentRows:
    return SentRows(SOURCE.plain_streams, CREATED, lambda at: at + 1, CountedWarnings({}))


def record(message: bytes) -> Record:
    return Record(TOPIC, 2, 7, None, message, 5_000)


def test_all_versions_of_an_app_have_one_topic() -> None:
    newer = app_source(SENT.replace("level, price insert", "level + 1 as level, price insert"), "sent", takes_rows=True)
    assert SOURCE.rows_topic == newer.rows_topic == TOPIC
    assert SOURCE.label != newer.label
    assert app_source("from quotes select bid insert into O;", "sent", takes_rows=True).rows_topic is None


def test_a_row_is_in_the_log_by_the_columns_of_the_version_and_comes_as_its_types_say() -> None:
    rows = reader()
    found = rows.row(record(sent_message(CREATED, "Marks", {"price": "1.50", "text": "a"})))
    assert (found.topic, found.partition, found.offset, found.time) == (TOPIC, 2, 7, 5_001)
    assert found.rows == (("Marks", ("a", None, "1.50")),)
    message = input_message("s", found, InputPlace().after(found))
    (given,) = HostedApp(SOURCE, 0).take(0, 1, row_of(message))
    assert (given.stream, dict(given.values)) == ("Out", {"text": "a", "level": None, "price": Decimal("1.50")})
    assert (rows.rejected, rows.problem) == (0, "")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (sent_message(CREATED, "Marks", {"leve": 1}), "a row of 'Marks' has no column 'leve'; did you mean 'level'?"),
        (sent_message(CREATED, "Marks", {"level": "high"}), "a row of 'Marks' has 'high' in 'level', which is int"),
        (sent_message(CREATED, "Sparks", {}), "a row for 'Sparks', into which nobody sends rows in this version"),
        (json.dumps({"app": CREATED, "stream": "Marks", "values": 3}).encode(), "a message is no row that was sent"),
        (b"{", "a message is no row that was sent"),
        (b"[]", "a message is no row that was sent"),
    ],
)
def test_a_row_that_fits_no_more_is_counted_with_its_reason_and_read_once(message: bytes, problem: str) -> None:
    rows = reader()
    found = rows.row(record(message))
    assert (found.rows, found.offset) == ((), 7)
    assert (rows.rejected, rows.problem) == (1, problem)


def test_a_row_for_an_app_of_that_name_that_was_removed_is_nobodys() -> None:
    rows = reader()
    assert rows.row(record(sent_message(CREATED - 1, "Marks", {"text": "a"}))).rows == ()
    assert rows.rejected == 0
