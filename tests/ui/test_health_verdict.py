"""What is complained of, and what not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.machine_load import MachineLoad
from session.disk_bounds import DiskBounds
from session.session import Placement
from tests.market.samples import MARKETS
from tests.ui.health_reports import detection, feed, part, partition, query, report
from tests.ui.samples import session_of
from ui.live.region_standing import RegionMember
from ui.rows.region import StandingRow
from ui.services.health_verdict import RegionsSeen, summary_of, verdict_of, with_findings


def found(tmp_path: Path, **changes: Any) -> list[tuple[str, str]]:
    """(severity, part)."""
    findings = with_findings(report(**changes), session_of(tmp_path), None)
    assert all(finding["what"].endswith((".", "?")) and finding["todo"].endswith(".") for finding in findings)
    return [(finding["severity"], finding["part"]) for finding in findings]


def test_of_a_session_that_is_well_nothing_is_said(tmp_path: Path) -> None:
    assert found(tmp_path) == []
    assert (summary_of([]), verdict_of([])) == ("All healthy", "well")


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        (None, []),
        (DiskBounds().warn, []),
        (DiskBounds().warn - 1, [("warning", "disk")]),
        (DiskBounds().reduce - 1, [("failing", "disk")]),
        (0, [("failing", "disk")]),
    ],
)
def test_little_room_on_the_disk(tmp_path: Path, free: int | None, expected: list[tuple[str, str]]) -> None:
    findings = with_findings(report(), session_of(tmp_path), None, free=free)
    assert [(finding["severity"], finding["part"]) for finding in findings] == expected


ALL_LIVE = [feed("alpha", "BTC/USD"), feed("beta", "BTC/EUR"), feed("fx", "EUR/USD")]
LATE = {"reader": "bot-alpha", "lag": 9.0, "report_age": 1.0, "lost": 0}
SILENT = {"reader": "bot-alpha", "lag": 0.1, "report_age": 30.0, "lost": 0}
BEHIND = {"reader": "dashboard", "next_offset": 0, "behind": 90_000, "is_bound": False}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sources": {"kafka": False, "mongodb": True}, "topics": []}, [("failing", "kafka")]),
        # what answers is not failing, though the dashboard has no new rows of it yet
        ({"sources": {"kafka": False, "mongodb": True}}, [("warning", "kafka")]),
        ({"processes": [part("ui", "restarting")]}, []),
        (
            {"processes": [part("ui", "failed", kind="ui"), part("ui-eu", "failed", kind="ui")]},
            [("failing", "ui"), ("failing", "ui-eu")],
        ),
        ({"kafka_answers": False}, [("failing", "kafka")]),
        ({"sources": {"kafka": True, "mongodb": False}}, [("failing", "mongodb")]),
        ({"processes": [part("cep", "failed", last_end="exit code 2")]}, [("failing", "cep")]),
        ({"processes": [part("cep", "restarting")]}, [("failing", "cep")]),
        ({"processes": [part("cep", "starting")]}, [("warning", "cep")]),
        ({"processes": [part("bot-alpha", "stopped", is_wanted=False)]}, [("warning", "bot-alpha")]),
        ({"processes": [part("cep", restarts=2, since=report()["now"] - 1_000_000)]}, [("warning", "cep")]),
        ({"processes": [part("cep", restarts=2)]}, []),
        ({"processes": [part("cep", "unknown"), part("bot-alpha", "unknown")]}, [("failing", "supervisor")]),
        ({"processes": []}, []),
        ({"feeds": [*ALL_LIVE[:2], feed("fx", "EUR/USD", status="down")]}, [("failing", "feed fx EUR/USD")]),
        ({"feeds": [*ALL_LIVE[:2], feed("fx", "EUR/USD", status="stale")]}, [("warning", "feed fx EUR/USD")]),
        ({"feeds": [*ALL_LIVE[:2], feed("fx", "EUR/USD", status="resyncing")]}, [("warning", "feed fx EUR/USD")]),
        ({"feeds": [*ALL_LIVE[:2], feed("fx", "EUR/USD", offset_us=9_000_000)]}, [("warning", "feed fx EUR/USD")]),
        ({"feeds": ALL_LIVE[:2]}, [("warning", "feed fx")]),
        (
            {"feeds": ALL_LIVE[:2], "processes": [part("feed-fx", "stopped", is_wanted=False)]},
            [("warning", "feed-fx")],
        ),
        ({"detection": [detection(waiting=4.0)]}, [("warning", "detection, partition 0")]),
        ({"detection": [detection(waiting=40.0)]}, [("failing", "detection, partition 0")]),
        ({"detection": [detection(delay=1.5)]}, [("warning", "detection, partition 0")]),
        ({"queries": [query("opportunities", is_active=False)]}, [("failing", "query opportunities")]),
        ({"queries": [query("opportunities", report_age=30.0)]}, [("failing", "query opportunities")]),
        ({"queries": [query("spreads", batch_age=90.0)]}, [("warning", "query spreads")]),
        ({"queries": [query("spreads", batch_seconds=17.0)]}, [("warning", "query spreads")]),
        ({"queries": [query("opportunities", is_real_time=True, batch_age=290.0)]}, []),
        ({"queries": [query("cycles", checkpoint_age=40.0)]}, [("warning", "query cycles")]),
        ({"queries": [query("cycles", checkpoint_age=4.0)]}, []),
        ({"queries": [query("cycles")]}, []),
        ({"publisher": {"version": 3, "version_in_log": 3, "repeated_age": 30.0}}, [("failing", "publisher")]),
        ({"publisher": {"version": 4, "version_in_log": 3, "repeated_age": 0.5}}, [("warning", "publisher")]),
        ({"publisher": {"version": 4, "version_in_log": None, "repeated_age": None}}, []),
        ({"change_streams": [LATE]}, [("warning", "bot-alpha")]),
        ({"change_streams": [SILENT]}, [("warning", "bot-alpha")]),
        ({"change_streams": [SILENT], "processes": [part("bot-alpha", "starting")]}, [("warning", "bot-alpha")]),
        ({"topics": [partition(readers=[BEHIND])]}, [("warning", "dashboard")]),
    ],
)
def test_what_is_wrong_is_named_once(tmp_path: Path, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found(tmp_path, **changes) == expected


def test_what_follows_from_a_cause_that_is_named_is_left_out(tmp_path: Path) -> None:
    broken = {"detection": [detection(waiting=40.0)], "queries": [query("spreads", report_age=99.0)]}
    gone = {"sources": {"kafka": False, "mongodb": True}, "topics": []}
    assert found(tmp_path, **broken, **gone) == [("failing", "kafka")]
    assert found(tmp_path, **broken, processes=[part("cep", "starting")]) == [("warning", "cep")]


def test_without_any_feed_nothing_can_be_traded(tmp_path: Path) -> None:
    down = [feed(one["exchange"], one["symbol"], status="down") for one in ALL_LIVE]
    assert ("failing", "feeds") in found(tmp_path, feeds=down)


@pytest.mark.parametrize(
    ("load", "parts"),
    [
        (None, ["publisher", "detection, partition 0", "query spreads", "bot-alpha", "dashboard"]),
        (MachineLoad(3.0, 2), ["publisher", "detection, partition 0", "query spreads", "bot-alpha", "dashboard"]),
        (MachineLoad(3.1, 2), ["publisher", "machine"]),
    ],
)
def test_an_overloaded_machine_is_the_cause_of_what_is_late(
    tmp_path: Path, load: MachineLoad | None, parts: list[str]
) -> None:
    changes = {
        "detection": [detection(delay=1.5)],
        "queries": [query("spreads", batch_seconds=17.0)],
        "change_streams": [LATE],
        "topics": [partition(readers=[BEHIND])],
        "processes": [part("publisher", "failed")],
    }
    findings = with_findings(report(**changes), session_of(tmp_path), None, load=load)
    assert {finding["part"] for finding in findings} == set(parts)
    if load is not None and load.is_overload:
        assert findings[-1]["what"] == (
            "Its load is 3.1 on 2 cores, so bot-alpha, detection, partition 0, query spreads, dashboard are late."
        )


def test_a_machine_that_is_busy_and_delays_nothing_is_not_complained_of(tmp_path: Path) -> None:
    assert with_findings(report(), session_of(tmp_path), None, load=MachineLoad(40.0, 2)) == []


def test_what_is_failing_comes_first_and_is_counted(tmp_path: Path) -> None:
    changes = {"processes": [part("feed-fx", "starting"), part("cep", "failed"), part("publisher", "failed")]}
    findings = with_findings(report(**changes), session_of(tmp_path), None)
    assert [finding["part"] for finding in findings] == ["cep", "publisher", "feed-fx"]
    assert summary_of(findings) == "2 failing and 1 to check: cep, publisher, feed-fx"
    assert verdict_of(findings) == "failing"
    assert verdict_of(findings[2:]) == "warning"


def test_words_name_exchanges_as_people_do_and_count_as_people_do(tmp_path: Path) -> None:
    again = part("bot-coinbase-eur", restarts=1, since=report()["now"] - 1_000_000)
    (finding,) = with_findings(report(processes=[again]), session_of(tmp_path), None)
    assert (finding["part"], finding["what"].split("; ")[1]) == ("bot-Coinbase EUR", "1 time in this session.")


def test_a_setting_is_named_as_its_field_is(tmp_path: Path) -> None:
    changes = {"queries": [query("spreads", batch_age=90.0)]}
    (finding,) = with_findings(report(**changes), session_of(tmp_path), None)
    assert "“Minimum share of the last 10 s above it (0: off)”" in finding["todo"]


NOW = 200_000_000
UP = RegionMember("a:1", "primary", 0, NOW)
AWAY = RegionMember("b:1", "unreachable", NOW - 7_000_000, NOW - 9_000_000)

STARTING = RegionMember("b:1", "other", NOW - 60_000_000, None)
TOO_OLD = RegionMember("b:1", "other", NOW - 180_000_000, None)


def regions_seen(
    lost_since: int | None = None, age: float | None = None, lags: dict[str, float] | None = None, eu: RegionMember = UP
) -> RegionsSeen:
    row = StandingRow(
        now=NOW,
        region="us",
        leader="us",
        leader_since=0,
        primary_lost_since=lost_since,
        store_age=age,
        mirror_lags=lags or {},
    )
    return RegionsSeen(row, {"us": UP, "eu": eu})


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (regions_seen(), []),
        (regions_seen(lost_since=NOW - 1_000_000), []),
        (
            regions_seen(lost_since=NOW - 14_000_000, age=15.0, eu=AWAY),
            [
                "mongodb: Its primary has not been reached from here for 14 s: nothing new is opened, and what the "
                "store shows here is 15 s old."
            ],
        ),
        (regions_seen(eu=AWAY), ["store of eu: It has not answered for 7 s."]),
        (regions_seen(eu=STARTING), []),
        (regions_seen(eu=TOO_OLD), ["store of eu: It answers, but has had nothing to read for 180 s."]),
        (
            regions_seen(lags={"eu": 0.4, "jp": 17.2}),
            ["prices of jp: The newest one that has arrived here is 17 s old: they are not traded on from here."],
        ),
        (
            regions_seen(lags={"eu": -1.9, "jp": -0.4}),
            ["clock of eu: It is at least 1.9 s ahead of this region's: meanwhile no pair of both regions is traded."],
        ),
    ],
)
def test_a_region_that_is_cut_off_is_named_with_how_old_things_are(
    tmp_path: Path, seen: RegionsSeen, expected: list[str]
) -> None:
    findings = with_findings(report(), session_of(tmp_path), None, seen)
    assert [f"{finding['part']}: {finding['what']}" for finding in findings] == expected


def test_prices_that_never_came_are_a_finding_of_the_region_they_are_of(tmp_path: Path) -> None:
    """alpha is in us, whose page it is; eu has beta."""
    session = replace(session_of(tmp_path), place=Placement("us", ("us", "eu")), markets=MARKETS[:2])
    findings = with_findings(report(), session, None, regions_seen())
    assert [finding["what"] for finding in findings if finding["part"] == "prices of eu"] == [
        "None has arrived here yet: they are not traded on from here."
    ]
    arrived = with_findings(report(), session, None, regions_seen(lags={"eu": 0.1}))
    assert "prices of eu" not in [finding["part"] for finding in arrived]
    away = with_findings(report(kafka_answers=False), session, None, regions_seen())
    assert "prices of eu" not in [finding["part"] for finding in away]


def test_without_mongodb_its_regions_are_no_finding_of_their_own(tmp_path: Path) -> None:
    away = report(sources={"kafka": True, "mongodb": False})
    findings = with_findings(away, session_of(tmp_path), None, regions_seen(lost_since=1))
    assert [finding["part"] for finding in findings] == ["mongodb"]


def test_a_region_without_the_primary_says_nothing_of_parts_that_cannot_report_to_it(tmp_path: Path) -> None:
    silent = report(processes=[part("cep", "unknown")], feeds=[feed("alpha", "BTC/USD", status="down")])
    cut, whole = (
        {finding["part"] for finding in with_findings(silent, session_of(tmp_path), None, seen)}
        for seen in (regions_seen(lost_since=NOW - 14_000_000), regions_seen())
    )
    assert cut == {"mongodb"}
    assert {"supervisor", "feeds"} <= whole
