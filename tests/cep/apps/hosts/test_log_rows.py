"""What a row of a topic is to several apps: read once, and the same for each."""

from collections.abc import Mapping
from typing import Any

import pytest

from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.log_rows import RowReading
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from streams.message_format import row_of
from tests.cep.logs import LogMaker

TEXTS = (
    "from quotes select exchange, bid insert into Out;",
    "from ticks select kind, sequence insert into Out;",
    "from quotes select bid insert into A; from ticks select kind insert into B;",
)
ROWS: list[Mapping[str, Any]] = [
    *(row_of(message) for message in LogMaker(3).write(60)),
    {"kind": "settings", "received_time": 5_000_000_000},
    {"kind": "quote", "bid": "no number", "received_time": 5_000_000_000},
    {"kind": "quote", "received_time": "never"},
    {},
]


@pytest.mark.parametrize("order", [TEXTS, TEXTS[::-1]])
def test_apps_that_read_a_row_together_get_what_each_gets_alone(order: tuple[str, ...]) -> None:
    alone, together = ([HostedApp(AppSource("a", text), 0) for text in order] for _ in range(2))
    for offset, row in enumerate(ROWS):
        read = RowReading()
        assert [app.take(offset, 7, row, read) for app in together] == [app.take(offset, 7, row) for app in alone]
    assert [app.snapshot() for app in together] == [app.snapshot() for app in alone]


def test_what_was_read_is_left_for_the_next() -> None:
    read, row = RowReading(), ROWS[0]
    apps = [HostedApp(AppSource("a", text), 0) for text in TEXTS]
    for app in apps:
        app.take(0, 7, row, read)
    assert read.values == {name: PRODUCT_STREAMS[name].row_of(row) for name in ("quotes", "ticks")}
    assert read.time == row["received_time"] // 1_000
