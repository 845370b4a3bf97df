"""An app on quotes, and logs for it."""

from collections.abc import Iterable
from typing import Any

from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from streams.message_format import row_of

QUOTE_APP = """@App:name('quote app')
from quotes#window.time(200 milliseconds) select exchange, base, avg(bid) as bid, count() as n
group by exchange, base insert into Means;
from Means[n > 3] select exchange, base, bid, n output last every 5 events insert into Busy;
partition with (exchange of ticks) begin
    from every a = ticks[kind == 'quote'] -> b = ticks[kind == 'withdrawn' and base == a.base] within 1 sec
    select a.exchange as exchange, a.base as base, b.received_time - a.received_time as lasted insert into Gone;
    from not ticks[kind == 'quote'] for 300 milliseconds select 'silent' as what insert into Silent;
end;
"""
"""A window, a rate, a pattern and an absence, the last two by exchange."""


def source(text: str = QUOTE_APP) -> AppSource:
    return AppSource("quote app", text)


def other_source(number: int) -> AppSource:
    """Another app, which keeps its rows for another time."""
    text = QUOTE_APP.replace("'quote app'", f"'quote app {number}'").replace(
        "200 millis", f"{200 + 50 * number} millis"
    )
    return AppSource("other", text)


def rows_of(messages: Iterable[bytes], app: HostedApp, first: int = 0) -> list[AppRow]:
    """Return what the app makes of messages with the offsets `first`, `first` + 1, …"""
    return [out for at, message in enumerate(messages, first) for out in app.take(at, 0, row_of(message))]


def told(rows: Iterable[AppRow]) -> list[tuple[str, str, int, dict[str, Any]]]:
    return [(one.id, one.stream, one.time, dict(one.values)) for one in rows]
