"""The audit log keeps what was tried, by the server's time, and finds it again."""

from collections.abc import AsyncIterator

import pytest

from store.errors import CursorError
from store.operations.audit import AuditFilter, MongoAudit
from store.records.audit_entry import AuditEntry
from store.server.client import connect, database_of
from store.server.indexes import create_indexes
from tests.databases import lent_database
from tests.ui.regional_dashboard import RecordedAudit


@pytest.fixture
async def audit(mongodb_uri: str) -> AsyncIterator[MongoAudit]:
    client = connect(mongodb_uri)
    async with lent_database(mongodb_uri) as name:
        database = database_of(client, name)
        await create_indexes(database)
        yield MongoAudit(database)
    client.close()


@pytest.fixture(params=["mongodb", "recorded"])
def either(request: pytest.FixtureRequest) -> MongoAudit:
    """Also the one that tests of pages have in its place."""
    found: MongoAudit = request.getfixturevalue("audit") if request.param == "mongodb" else RecordedAudit()
    return found


def entry(identity: str, who: str = "erika", action: str = "settings.change", target: str = "settings") -> AuditEntry:
    return AuditEntry(identity, who, "operator", "key", "127.0.0.1", action, target)


async def test_an_entry_is_begun_and_ends_with_before_and_after(either: MongoAudit) -> None:
    begun = await either.begin(entry("one"))
    assert begun.at > 1_700_000_000_000_000
    assert (await either.page(AuditFilter(), None, 10)).items == (begun,)
    await either.end("one", "done", {"min_net_bps": 5.0}, {"min_net_bps": 7.5})
    (ended,) = (await either.page(AuditFilter(), None, 10)).items
    assert (ended.outcome, dict(ended.before), dict(ended.after)) == (
        "done",
        {"min_net_bps": 5.0},
        {"min_net_bps": 7.5},
    )
    assert ended.at == begun.at


async def test_written_twice_it_is_one_entry_with_its_first_time(either: MongoAudit) -> None:
    first = await either.begin(entry("one"))
    await either.begin(entry("one", who="somebody else"))
    assert (await either.page(AuditFilter(), None, 10)).items == (first,)


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        (AuditFilter(), ["c", "b", "a"]),
        (AuditFilter(who="erika"), ["c", "a"]),
        (AuditFilter(action="key.add"), ["b"]),
        (AuditFilter(target="settings", who="hans"), []),
        (AuditFilter(outcome="rejected"), ["c"]),
        (AuditFilter(outcome="started"), ["b", "a"]),
        (AuditFilter(since=9_000_000_000_000_000), []),
        (AuditFilter(until=1), []),
        (AuditFilter(since=1, until=9_000_000_000_000_000), ["c", "b", "a"]),
    ],
)
async def test_entries_are_found_by_what_they_say(audit: MongoAudit, requested: AuditFilter, found: list[str]) -> None:
    await audit.begin(entry("a"))
    await audit.begin(entry("b", "hans", "key.add", "desk"))
    await audit.begin(entry("c"))
    await audit.end("c", "rejected", {}, {}, "out of range")
    assert [one.entry_id for one in (await audit.page(requested, None, 10)).items] == found


async def test_pages_follow_each_other(audit: MongoAudit) -> None:
    for number in range(5):
        await audit.begin(entry(f"entry {number}"))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await audit.page(AuditFilter(), cursor, 2)
        seen += [one.entry_id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == [f"entry {number}" for number in range(5)]
    with pytest.raises(CursorError):
        await audit.page(AuditFilter(), "not ours", 2)
