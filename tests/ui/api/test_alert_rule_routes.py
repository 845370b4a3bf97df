"""Alert rules over REST: made, previewed, changed and removed; what they say is an alert like others."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.notice_destinations import Destination
from session.session import Upkeep
from tests.ui.api.test_alert_routes import watch_of
from ui.desk.alert_book import EMPTY, QUIET, Seen
from ui.desk.alert_keeper import AlertKeeper
from ui.desk.alert_rules import LOOK_SECONDS, looks_needed, part_of, subject_of
from ui.desk.rule_keeper import FIRST_LOOKS, RuleKeeper
from ui.services.dashboard import dashboard_of

RULE = {
    "name": "no trades",
    "metric": "arbitrage_trades_open",
    "direction": "below",
    "threshold": 1,
    "how": "now",
    "severity": "failing",
}


@pytest.fixture
async def looked(application: FastAPI) -> RuleKeeper:
    """Return the keeper, which looked at the metrics once."""
    watch = watch_of(application)
    await watch.look()
    return watch.rules


async def look_again(application: FastAPI, keeper: RuleKeeper) -> None:
    """As if the next look were due."""
    keeper._looked_at -= LOOK_SECONDS * MICROSECONDS
    await watch_of(application).look()


async def made(api: httpx.AsyncClient, key: str, **changes: object) -> httpx.Response:
    return await api.post("/api/alerts/rules", headers={"X-API-Key": key}, json=RULE | changes)


async def test_a_rule_makes_an_alert_that_is_reported_and_ends(
    api: httpx.AsyncClient, key: str, application: FastAPI, looked: RuleKeeper
) -> None:
    answer = await made(api, key)
    assert (answer.status_code, answer.json()["condition"], answer.json()["firing"]) == (201, "below 1", 1)
    await look_again(application, looked)
    items = (await api.get("/api/alerts?state=open&limit=500")).json()["items"]
    (alert,) = [one for one in items if one["part"] == "rule no trades"]
    assert (alert["severity"], alert["what"]) == ("failing", "arbitrage_trades_open: 0: below 1.")
    headers = {"X-API-Key": key}
    (entry,) = (await api.get("/api/audit?action=alert.begin", headers=headers)).json()["items"]
    assert (entry["who"], entry["role"], entry["target"]) == ("rule no trades", "rule", "no trades")
    rule_id = answer.json()["rule_id"]
    changed = await api.put(f"/api/alerts/rules/{rule_id}", headers=headers, json=RULE | {"threshold": 0})
    assert (changed.json()["firing"], changed.json()["rule_id"]) == (0, rule_id)
    watch = watch_of(application)
    await watch.change(watch.book.observed([], wall_now() + 60 * MICROSECONDS))
    assert (await api.delete(f"/api/alerts/rules/{rule_id}", headers=headers)).status_code == 204
    assert (await api.get("/api/alerts/rules")).json()["rules"] == []
    actions = {one["action"] for one in (await api.get("/api/audit?limit=20", headers=headers)).json()["items"]}
    assert {"alert.rule.add", "alert.rule.change", "alert.rule.remove"} <= actions


async def test_a_preview_says_how_often_it_would_have_fired(
    api: httpx.AsyncClient, application: FastAPI, looked: RuleKeeper
) -> None:
    await look_again(application, looked)
    found = (await api.post("/api/alerts/rules/preview", json=RULE)).raise_for_status().json()
    assert (found["times"], found["series"], found["matching"]) == (1, 1, 1)
    (firing,) = found["firings"]
    assert (firing["series"], firing["began_at"], firing["ended_at"]) == (
        "arbitrage_trades_open",
        found["since"],
        None,
    )
    never = (await api.post("/api/alerts/rules/preview", json=RULE | {"threshold": 0})).json()
    assert (never["times"], never["firings"]) == (0, [])
    waits = (await api.post("/api/alerts/rules/preview", json=RULE | {"for_seconds": 600})).json()
    assert waits["times"] == 0
    assert looked.rules == ()


async def test_after_a_restart_no_alert_is_over_before_the_rule_has_looked_long_enough(
    api: httpx.AsyncClient, key: str, application: FastAPI, looked: RuleKeeper
) -> None:
    made_one = await made(api, key, for_seconds=300)
    first, dashboard = watch_of(application), dashboard_of(application)
    rule = looked.rules[0]
    seen = Seen(
        "failing", part_of(rule), "arbitrage_trades_open: 0: below 1.", "", rule.rule_id, subject_of((rule.metric, ()))
    )
    # known from an earlier process, of five minutes ago
    before = EMPTY.observed([seen], wall_now() - 300 * MICROSECONDS)
    rules = RuleKeeper(dashboard.session.home, application.state.metrics, dashboard.hub)
    again = AlertKeeper(dashboard.session.home, dashboard.health, dashboard.hub, rules, first._notices, first._signals)
    await rules.resume()
    again.book = before
    for _ in range(FIRST_LOOKS + looks_needed(rule)):
        assert next(iter(again.book.alerts.values())).ended_at is None
        rules._looked_at -= LOOK_SECONDS * MICROSECONDS
        await again.look()
    # it said the same all the time, so it never ended
    (alert,) = [one for one in again.book.alerts.values() if one.rule_id == made_one.json()["rule_id"]]
    assert (alert.ended_at, alert.since) == (None, next(iter(before.alerts.values())).since)
    # a rule that looked as long and says nothing ends its alert
    await rules.change(lambda known: tuple(one.model_copy(update={"threshold": -1.0}) for one in known))
    again._began_at = 0
    await again.change(again.book.observed([], wall_now() + QUIET, again._is_undecided))
    assert all(one.ended_at is not None for one in again.book.alerts.values())


@pytest.mark.usefixtures("looked")
async def test_metrics_say_what_a_rule_can_be_about(api: httpx.AsyncClient) -> None:
    rows = {row["name"]: row for row in (await api.get("/api/alerts/metrics")).raise_for_status().json()}
    assert rows["arbitrage_trades_open"]["series"] == [{"labels": {}, "value": 0}]
    assert rows["arbitrage_rejections_total"]["kind"] == "counter"
    assert not [name for name in rows if name.startswith("arbitrage_http_")]


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"metric": "arbitrage_moon"}, 409, "no gauge or counter 'arbitrage_moon'"),
        ({"destinations": ["pager"]}, 409, "No destination of [[notices]] is called 'pager': there are desk."),
        ({"threshold": "high"}, 422, "threshold"),
        ({"name": ""}, 422, "name"),
    ],
)
async def test_why_a_rule_is_not_kept_is_said(
    api: httpx.AsyncClient, key: str, application: FastAPI, changes: dict[str, object], status: int, words: str
) -> None:
    dashboard = dashboard_of(application)
    session = replace(dashboard.session, upkeep=Upkeep(notices=(Destination("desk", "webhook"),)))
    application.state.dashboard = replace(dashboard, session=session)
    answer = await made(api, key, **changes)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    assert (await made(api, key, destinations=["desk"])).status_code == 201
    again = await made(api, key, name="No Trades")
    assert (again.status_code, "Another rule is called" in again.json()["detail"]) == (409, True)
    listed = (await api.get("/api/alerts/rules")).json()
    assert listed["destinations"] == [{"name": "desk", "kind": "webhook", "gets_alerts": True}]


async def test_rules_outlive_the_process(
    api: httpx.AsyncClient, key: str, application: FastAPI, looked: RuleKeeper, tmp_path: Path
) -> None:
    assert (await made(api, key)).status_code == 201
    dashboard = dashboard_of(application)
    second = RuleKeeper(dashboard.session.home, application.state.metrics, dashboard.hub)
    await second.resume()
    assert second.rules == looked.rules
    path = dashboard.session.home / "alert_rules.json"
    path.write_text("{")
    await second.resume()
    assert second.rules == ()


@pytest.mark.usefixtures("looked")
async def test_who_may_not_change_anything_may_look_and_preview_alone(api: httpx.AsyncClient, key: str) -> None:
    rule_id = (await made(api, key)).json()["rule_id"]
    assert (await api.get("/api/alerts/rules")).status_code == 200
    assert (await api.post("/api/alerts/rules/preview", json=RULE)).status_code == 200
    assert (await api.post("/api/alerts/rules", json=RULE)).status_code == 401
    for method in ("PUT", "DELETE"):
        assert (await api.request(method, f"/api/alerts/rules/{rule_id}", json=RULE)).status_code == 401
        there_is_none = await api.request(method, "/api/alerts/rules/moon", headers={"X-API-Key": key}, json=RULE)
        assert (there_is_none.status_code, there_is_none.json()["detail"]) == (404, "There is no alert rule 'moon'.")
