"""Notices of what apps did, and of what they want to say."""

import pytest

from notices.app_notices import notice_of_action
from store.records.audit_entry import AuditEntry
from tests.notices.samples import AT

OLD: dict[str, object] = {"value": None, "version": 3}


@pytest.mark.parametrize(
    ("action", "target", "before", "after", "event", "line"),
    [
        ("app.notice", "notice", {}, {"text": "wide spreads"}, "app_notice", "App guard: wide spreads"),
        (
            "app.pause",
            "disabled_assets ETH",
            OLD,
            {"value": True},
            "app_acted",
            "App guard PAUSED ETH: nothing new begins in it",
        ),
        (
            "app.resume",
            "disabled_assets ETH",
            {"value": True},
            {"value": None},
            "app_acted",
            "App guard RESUMED ETH, which it had paused",
        ),
        (
            "app.threshold",
            "asset_thresholds ETH",
            OLD,
            {"value": 12.5},
            "app_acted",
            "App guard set the threshold to 12.5 bps net for ETH",
        ),
        (
            "app.threshold",
            "pair_thresholds kraken>bitflyer",
            {"value": 12.5},
            {"value": 20.0},
            "app_acted",
            "App guard set the threshold to 20 bps net for Kraken → bitFlyer (was 12.5)",
        ),
        (
            "app.threshold",
            "asset_thresholds ETH",
            {"value": 12.5},
            {"value": None},
            "app_acted",
            "App guard took its own threshold off for ETH (was 12.5)",
        ),
        (
            "exchange.halt",
            "kraken",
            {"enabled_exchanges": ["kraken"]},
            {"enabled_exchanges": []},
            "app_acted",
            "App guard took Kraken OFF: nothing new begins there",
        ),
    ],
)
def test_what_an_app_did(
    action: str, target: str, before: dict[str, object], after: dict[str, object], event: str, line: str
) -> None:
    entry = AuditEntry("row 1", "app guard", "app", "app", "", action, target, "done", before, after, at=AT)
    notice = notice_of_action(entry)
    assert notice is not None
    assert (notice.notice_id, notice.kind, notice.event, notice.at) == ("app:row 1", "apps", event, AT)
    assert notice.line == line
    assert notice.facts["app"] == "guard"
    assert notice.is_urgent


@pytest.mark.parametrize(("role", "outcome"), [("operator", "done"), ("app", "rejected")])
def test_what_people_did_and_what_was_not_done_is_no_notice(role: str, outcome: str) -> None:
    entry = AuditEntry("row 1", "ada", role, "key", "", "app.pause", "disabled_assets ETH", outcome)  # type: ignore[arg-type]  # a literal, as above
    assert notice_of_action(entry) is None
