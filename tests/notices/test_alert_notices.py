"""Notices of alert rules, and who gets them."""

import pytest

from notices.alert_notices import notice_of_alert
from notices.routing import is_wanted
from store.records.audit_entry import AuditEntry
from store.records.notice import Notice
from tests.notices.samples import AT, webhook

WHAT = "arbitrage_trades_open: 9: above 5."


def entry(action: str = "alert.begin", *to: str, role: str = "rule") -> AuditEntry:
    after = {"what": WHAT, "severity": "failing", "to": list(to)}
    name = "ended" if action == "alert.end" else "began"
    return AuditEntry(f"alert:1:{name}", "rule many", role, "", "", action, "many", "done", after=after, at=AT)


def notice(*to: str) -> Notice:
    found = notice_of_alert(entry("alert.begin", *to))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("action", "event", "line"),
    [
        ("alert.begin", "alert_began", f"ALERT many: {WHAT}"),
        ("alert.end", "alert_ended", f"Over many: {WHAT}"),
        ("alert.more", "alerts_more", f"ALERTS many: {WHAT}"),
    ],
)
def test_the_beginning_and_the_end_of_an_alert_are_said(action: str, event: str, line: str) -> None:
    found = notice_of_alert(entry(action, "desk"))
    assert found is not None
    assert (found.kind, found.event, found.line, found.at) == ("alerts", event, line, AT)
    assert found.facts == {"rule": "many", "what": WHAT, "severity": "failing", "to": "desk"}
    assert found.is_urgent


@pytest.mark.parametrize("role", ["app", "operator"])
def test_what_others_did_is_no_alert(role: str) -> None:
    assert notice_of_alert(entry(role=role)) is None


@pytest.mark.parametrize(
    ("to", "changes", "wanted"),
    [
        ((), {}, True),
        (("desk",), {}, True),
        (("phone", "desk"), {}, True),
        (("phone",), {}, False),
        (("desktop",), {}, False),
        (("desk",), {"events": ("trades",)}, False),
    ],
)
def test_a_rule_names_who_gets_it(to: tuple[str, ...], changes: dict[str, object], wanted: bool) -> None:
    assert is_wanted(notice(*to), webhook("desk", **changes), 0) == wanted
