"""What of the alerts is reported: the beginning and the end of those of rules, once, and not too often."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from store.errors import StoreUnavailableError
from store.records.audit_entry import AuditEntry
from tests.ui.desk.test_alert_rules import rule
from ui.desk.alert_book import EMPTY, QUIET, AlertBook, Seen
from ui.desk.alert_rules import AlertRule
from ui.desk.rule_notices import (
    BETWEEN_SUMS,
    HOUR,
    MOST_NAMED,
    MOST_OF_A_RULE,
    MOST_OF_AN_ALERT,
    MOST_WAITING,
    RuleNotices,
)

NOW = 1_764_500_000 * MICROSECONDS
OWN = Seen("warning", "rule old", "it is 12: above 10.", "", "1", "it")
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


async def looked(
    notices: RuleNotices, book: AlertBook, now: int, *seen: Seen, rules: Sequence[AlertRule] = RULES
) -> AlertBook:
    after = book.observed(seen, now)
    notices.report(book, after, rules, now)
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


async def test_who_heard_of_a_beginning_hears_of_the_end_though_it_is_muted_by_then() -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    book = await looked(notices, EMPTY, NOW, OWN)
    await looked(notices, muted(book, NOW + HOUR), NOW + 1 + QUIET)
    assert written(audit) == [("alert.begin", "old"), ("alert.end", "old")]


def muted(book: AlertBook, until: int) -> AlertBook:
    """Mute the one alert."""
    (alert_id, *_) = book.alerts
    return book.muted(alert_id, "owner", until)


@pytest.mark.parametrize("is_ended_by_hand", [False, True])
async def test_what_begins_while_it_is_muted_is_reported_once_it_is_not(is_ended_by_hand: bool) -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    over = await looked(RuleNotices(KeptAudit().begin), EMPTY.observed([OWN], NOW - HOUR), NOW)
    book = await looked(notices, muted(over, NOW + 2 * QUIET), NOW + 1, OWN)
    book = await looked(notices, book, NOW + 2, OWN)
    assert written(audit) == []
    if is_ended_by_hand:
        book = book.unmuted(next(iter(book.alerts)))
        book = await looked(notices, book, NOW + 3, OWN)
    else:
        book = await looked(notices, book, NOW + 2 * QUIET, OWN)
    assert written(audit) == [("alert.begin", "old")]
    book = await looked(notices, book, NOW + 2 * QUIET + 1, OWN)
    await looked(notices, book, NOW + 4 * QUIET)
    assert written(audit) == [("alert.begin", "old"), ("alert.end", "old")]


@pytest.mark.parametrize("muted_until", [NOW + HOUR, NOW + QUIET])
async def test_what_began_and_ended_while_it_was_muted_is_never_reported(muted_until: int) -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    over = await looked(RuleNotices(KeptAudit().begin), EMPTY.observed([OWN], NOW - HOUR), NOW)
    book = await looked(notices, muted(over, muted_until), NOW + 1, OWN)
    book = await looked(notices, book, NOW + 1 + QUIET)
    await looked(notices, book, NOW + 2 * HOUR)
    assert written(audit) == []


def of_series(number: int) -> Seen:
    return Seen("warning", "rule old", f"x of {number}: 12: above 10.", "", "1", f"x{number}")


def actions(audit: KeptAudit) -> Counter[str]:
    return Counter(one.action.removeprefix("alert.") for one in audit.entries)


async def test_what_comes_and_goes_is_told_so_often_in_an_hour_then_summed_up_and_told_again_in_the_next() -> None:
    audit, book, now = KeptAudit(), EMPTY, NOW
    notices = RuleNotices(audit.begin)
    for _ in range(MOST_OF_AN_ALERT + 5):
        book = await looked(notices, book, now, OWN)
        book = await looked(notices, book, now + QUIET)
        now += 2 * QUIET
    assert actions(audit) == {"begin": MOST_OF_AN_ALERT, "end": MOST_OF_AN_ALERT, "more": 1}
    book = await looked(notices, book, now + BETWEEN_SUMS)
    assert actions(audit)["more"] == 2
    assert audit.entries[-1].after["what"] == f"and 9 more (4 began, 5 ended), as {OWN.what}"
    await looked(notices, book, NOW + HOUR, OWN)
    assert actions(audit)["begin"] == MOST_OF_AN_ALERT + 1


async def test_of_a_rule_over_many_series_all_beginnings_and_all_ends_are_told_or_counted() -> None:
    audit, count = KeptAudit(), MOST_OF_A_RULE + 20
    notices = RuleNotices(audit.begin)
    book = await looked(notices, EMPTY, NOW, *map(of_series, range(count)))
    assert actions(audit) == {"begin": MOST_OF_A_RULE, "more": 1}
    words = str(audit.entries[-1].after["what"])
    assert words.startswith("and 20 more (20 began), as x of 30: 12: above 10. x of 31")
    assert words.count("above") == MOST_NAMED
    # one alert that comes and goes takes no place of another
    book = await looked(notices, book, NOW + QUIET)
    assert actions(audit) == {"begin": MOST_OF_A_RULE, "more": 1, "end": MOST_OF_A_RULE}
    await looked(notices, book, NOW + BETWEEN_SUMS)
    assert str(audit.entries[-1].after["what"]).startswith("and 20 more (20 ended), as ")
    assert len({one.entry_id for one in audit.entries}) == len(audit.entries)


async def test_who_heard_of_a_beginning_hears_of_the_end_though_the_rule_is_gone() -> None:
    audit = KeptAudit()
    notices = RuleNotices(audit.begin)
    book = await looked(notices, EMPTY, NOW, OWN)
    book = await looked(notices, book, NOW + 1, rules=[])
    book = await looked(notices, book, NOW + QUIET, rules=[])
    assert written(audit) == [("alert.begin", "old"), ("alert.end", "old")]
    assert audit.entries[-1].after["to"] == ["desk"]


async def test_after_a_restart_the_end_of_what_an_earlier_process_told_is_told() -> None:
    audit = KeptAudit()
    book = await looked(RuleNotices(KeptAudit().begin), EMPTY, NOW, OWN)
    await looked(RuleNotices(audit.begin), book, NOW + QUIET)
    assert written(audit) == [("alert.end", "old")]


async def test_while_the_store_is_away_no_more_waits_than_there_is_room_for_and_the_rest_is_counted() -> None:
    audit = KeptAudit()
    notices, audit.is_away = RuleNotices(audit.begin), True
    rules = [rule(rule_id=str(number), name=str(number)) for number in range(50)]
    seen = [
        Seen("warning", f"rule {one.name}", "it is 12.", "", one.rule_id, f"{at}") for one in rules for at in range(9)
    ]
    book = await looked(notices, EMPTY, NOW, *seen, rules=rules)
    audit.is_away = False
    book = await looked(notices, book, NOW + 1, *seen, rules=rules)
    assert actions(audit) == {"begin": MOST_WAITING}
    await looked(notices, book, NOW + 2, *seen, rules=rules)
    told = actions(audit)["begin"]
    more = [str(one.after["what"]).split()[1] for one in audit.entries if one.action == "alert.more"]
    assert told + sum(map(int, more)) == len(seen)


@given(st.lists(st.tuples(st.integers(1, 900), st.sets(st.integers(0, 60))), max_size=8))
def test_nothing_is_lost_and_every_told_beginning_has_its_end(looks: list[tuple[int, set[int]]]) -> None:
    async def run() -> None:
        audit, book, now = KeptAudit(), EMPTY, NOW
        notices = RuleNotices(audit.begin)
        for pause, series in looks:
            now += pause * MICROSECONDS
            book = await looked(notices, book, now, *map(of_series, sorted(series)))
        book = await looked(notices, book, now + QUIET)
        await looked(notices, book, now + QUIET + BETWEEN_SUMS)
        more = sum(int(str(one.after["what"]).split()[1]) for one in audit.entries if one.action == "alert.more")
        found = actions(audit)
        assert found["begin"] == found["end"]
        assert found["begin"] + found["end"] + more == 2 * len(book.alerts)

    asyncio.run(run())
