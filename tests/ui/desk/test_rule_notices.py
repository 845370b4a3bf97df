"""What of the alerts is reported: the beginning and the end of those of rules, once, and not too often."""

from market.time_units import MICROSECONDS
from store.errors import StoreUnavailableError
from store.records.audit_entry import AuditEntry
from tests.ui.desk.test_alert_rules import rule
from ui.desk.alert_book import EMPTY, QUIET, AlertBook, Seen
from ui.desk.rule_notices import MOST_AN_HOUR, RuleNotices

NOW = 1_764_500_000 * MICROSECONDS
OWN = Seen("warning", "rule old", "it is 12: above 10.", "")
OTHER = Seen("warning", "cep", "It is late.", "Wait.")
RULES = [rule(destinations=("desk",))]


class KeptAudit:
    """An audit log in memory, that can be away."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.is_away = False

    async def begin(self, entry: AuditEntry) -> AuditEntry:
        if self.is_away:
            raise StoreUnavailableError("away")
        self.entries.append(entry)
        return entry


def written(audit: KeptAudit) -> list[tuple[str, str]]:
    return [(one.action, one.target) for one in audit.entries]


async def looked(notices: RuleNotices, book: AlertBook, now: int, *seen: Seen) -> AlertBook:
    after = book.observed(seen, now)
    notices.report(book, after, RULES, now)
    await notices.send()
    return after


async def test_the_beginning_and_the_end_of_a_rules_alert_are_reported_once() -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    book = await looked(notices, EMPTY, NOW, OWN, OTHER)
    book = await looked(notices, book, NOW + 1, OWN, OTHER)
    assert written(audit) == [("alert.begin", "old")]
    book = await looked(notices, book, NOW + 1 + QUIET, OTHER)
    await looked(notices, book, NOW + 2 + QUIET, OTHER)
    assert written(audit) == [("alert.begin", "old"), ("alert.end", "old")]
    assert audit.entries[0].after == {"what": OWN.what, "severity": "warning", "to": ["desk"]}
    assert len({one.entry_id for one in audit.entries}) == 2


async def test_what_cannot_be_written_is_written_later() -> None:
    audit = KeptAudit()
    notices, audit.is_away = RuleNotices(audit.begin), True
    book = await looked(notices, EMPTY, NOW, OWN)
    assert written(audit) == []
    audit.is_away = False
    await looked(notices, book, NOW + 1, OWN)
    assert written(audit) == [("alert.begin", "old")]


async def test_while_it_is_muted_nothing_is_reported() -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    book = await looked(notices, EMPTY, NOW, OWN)
    (alert_id,) = book.alerts
    book = book.muted(alert_id, "owner", NOW + 3_600 * MICROSECONDS)
    await looked(notices, book, NOW + 1 + QUIET)
    assert written(audit) == [("alert.begin", "old")]


async def test_what_comes_and_goes_is_reported_so_often_in_an_hour_and_again_in_the_next() -> None:
    audit, book, now = KeptAudit(), EMPTY, NOW
    notices = RuleNotices(audit.begin)
    for _ in range(MOST_AN_HOUR):
        book = await looked(notices, book, now, OWN)
        now += QUIET + 1
        book = await looked(notices, book, now)
    assert len(audit.entries) == MOST_AN_HOUR
    book = await looked(notices, book, NOW + 3_600 * MICROSECONDS, OWN)
    assert len(audit.entries) == MOST_AN_HOUR + 1
