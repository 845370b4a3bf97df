"""Regions with one app in each, whose rows go to the others as mirrors bring them: late, again, never backwards."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import orjson

from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message
from cep.apps.hosts.product_streams import PRODUCT_STREAMS
from cep.apps.hosts.shared_rows import SharedReader, shared_message
from streams.message_format import row_of
from streams.records import Record
from streams.topics import SHARED_IN, TICKS

TEXT = """@App:name('sharing')
CREATE STREAM GLOBAL News (who string, n double);
@PrimaryKey('who') CREATE TABLE GLOBAL Last (who string, n double, region string);
CREATE TABLE GLOBAL Seen (who string, n double);
@PrimaryKey('who') CREATE TABLE LOCAL Own (who string, n double);
from quotes[bid >= 0.0] select exchange as who, bid as n insert into News;
from quotes[bid >= 0.0 and bid < 8.0] select exchange as who, bid as n, context:getVar('region') as region
update or insert into Last set Last.n = n, Last.region = region on Last.who == who;
from quotes[bid >= 8.0] select exchange as who delete Last on Last.who == who;
from quotes[bid >= 5.0] select exchange as who, bid as n insert into Seen;
from quotes[bid == 9.0] select exchange as who delete Seen on Seen.who == who;
from quotes[bid >= 0.0] select exchange as who, bid as n update or insert into Own set Own.n = n on Own.who == who;
from News select who, n insert into Heard;
from quotes[bid == -1.0] join Last select Last.who as who, Last.n as n, Last.region as region insert into ShownLast;
from quotes[bid == -1.0] join Seen select Seen.who as who, Seen.n as n insert into ShownSeen;
from quotes[bid == -1.0] join Own select Own.who as who, Own.n as n insert into ShownOwn;
"""
PROBE = -1.0
SESSION = "s"
START = 1_000_000
"""Milliseconds."""
COLUMNS = [column.name for column in PRODUCT_STREAMS["quotes"].columns]


@cache
def shared_source(region: str, text: str = TEXT) -> AppSource:
    return AppSource("sharing", text, (("region", region),), region=region)


def reader_of(source: AppSource, since: int = 0) -> SharedReader:
    assert source.shared is not None
    return SharedReader(source.name, source.shared, SESSION, since, CountedWarnings({}))


class SharingRegion:
    """`ahead`: milliseconds that its clock is before the others'."""

    def __init__(self, name: str, ahead: int = 0, text: str = TEXT) -> None:
        self.name, self.source, self._now = name, shared_source(name, text), START + ahead
        self._reader = reader_of(self.source)
        self.app = HostedApp(self.source, 0)
        self.log: list[dict[str, Any]] = []
        self.rows: list[AppRow] = []
        self.sent: list[bytes] = []
        """What is in its topic `shared`."""
        self._place, self._came = InputPlace(), 0
        self._saved = 0, self.app.snapshot()

    def quote(self, who: str, bid: float) -> list[AppRow]:
        """Return a row of its `ticks`, a millisecond later."""
        self._now += 1
        values = tuple({"exchange": who, "bid": bid}.get(name) for name in COLUMNS)
        return self.add(SourceRow(TICKS, 0, self._place.next.get(TICKS, 0), self._now * 1_000, [("quotes", values)]))

    def receive(self, message: bytes) -> list[AppRow]:
        """Return what a mirror brings."""
        row = self._reader.row(Record(SHARED_IN, 0, self._came, "label", message, self._now * 1_000))
        self._came += 1
        return [] if row is None else self.add(row)

    def add(self, row: SourceRow) -> list[AppRow]:
        self._place = self._place.after(row)
        self.log.append(row_of(input_message(SESSION, row, self._place)))
        return self._take(len(self.log) - 1)

    def save(self) -> None:
        self._saved = len(self.log), self.app.snapshot()

    def kill(self) -> None:
        """Kill the app; it resumes at its snapshot, and gives the rows since then again."""
        first, data = self._saved
        self.app = HostedApp(self.source, 0)
        self.app.restore(data)
        for offset in range(first, len(self.log)):
            self._take(offset)

    def shown(self, table: str) -> Counter[tuple[tuple[str, Any], ...]]:
        """Return the table's rows."""
        return counted(row for row in self.quote("probe", PROBE) if row.stream == f"Shown{table}")

    def heard(self) -> Counter[tuple[tuple[str, Any], ...]]:
        return counted(row for row in once(self.rows) if row.stream == "Heard")

    def replayed(self) -> list[AppRow]:
        """Return the app's rows from its log alone."""
        app = HostedApp(self.source, 0)
        return [given for offset, row in enumerate(self.log) for given in app.take(offset, 0, row)]

    def _take(self, offset: int) -> list[AppRow]:
        given = self.app.take(offset, 0, self.log[offset])
        self.rows += given
        assert self.source.shared is not None
        shared = [row for row in given if row.stream in self.source.shared.names]
        self.sent += [shared_message(orjson.loads(app_message(row)), SESSION, self.name) for row in shared]
        return given


def counted(rows: Iterable[AppRow]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(row.values.items()) for row in rows)


def once(rows: Iterable[AppRow]) -> list[AppRow]:
    """Each id's first."""
    return list({row.id: row for row in reversed([*rows])}.values())[::-1]


class Mirrors:
    """From each region to each other: how far it has copied, at least."""

    def __init__(self, regions: Iterable[SharingRegion]) -> None:
        self.regions = {one.name: one for one in regions}
        self._copied: Counter[tuple[str, str]] = Counter()

    def copy(self, source: str, target: str, rows: int) -> None:
        first = self._copied[source, target]
        for message in self.regions[source].sent[first : first + rows]:
            self.regions[target].receive(message)
            self._copied[source, target] += 1

    def forget(self, source: str, target: str, rows: int) -> None:
        """After a kill of the mirror its last rows come again."""
        self._copied[source, target] = max(0, self._copied[source, target] - rows)

    def heal(self) -> None:
        for source in self.regions:
            for target in self.regions:
                if source != target:
                    self.copy(source, target, len(self.regions[source].sent))
