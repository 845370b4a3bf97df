from collections.abc import Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI

from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.ui.samples import SETTINGS
from tests.ui.waiting import until
from ui.desk.alert_book import QUIET
from ui.desk.alert_keeper import AlertKeeper
from ui.services.dashboard import dashboard_of

HALTED = "Trading is halted: no orders are sent."
Halt = Callable[[], Awaitable[str]]


def watch_of(application: FastAPI) -> AlertKeeper:
    watch: AlertKeeper = application.state.alerts
    return watch


@pytest.fixture
async def halt(application: FastAPI, store: MongoTradeStore, api: httpx.AsyncClient) -> Halt:
    """Halt trading, look, and return the alert's id."""

    async def halted() -> str:
        await store.settings.amend(lambda now: now.model_copy(update={"trading_state": "halted"}), "test")
        hub = dashboard_of(application).hub
        await until(lambda: hub.settings is not None and hub.settings.trading_state == "halted")
        await watch_of(application).look()
        items = (await api.get("/api/alerts?state=open&limit=500")).json()["items"]
        return next(str(one["alert_id"]) for one in items if one["what"] == HALTED)

    return halted


async def alert(api: httpx.AsyncClient, alert_id: str) -> dict[str, object]:
    items: list[dict[str, object]] = (await api.get("/api/alerts?limit=500")).json()["items"]
    return next(one for one in items if one["alert_id"] == alert_id)


async def test_what_is_wrong_is_open_until_it_is_over(
    api: httpx.AsyncClient, application: FastAPI, store: MongoTradeStore, halt: Halt
) -> None:
    found = await alert(api, await halt())
    assert (found["severity"], found["part"], found["ended_at"]) == ("warning", "trading", None)
    await store.settings.amend(lambda now: SETTINGS.model_copy(update={"version": now.version}), "test")
    hub = dashboard_of(application).hub
    await until(lambda: hub.settings is not None and hub.settings.trading_state == "running")
    watch = watch_of(application)
    await watch.change(watch.book.observed([], wall_now() + QUIET))
    assert (await alert(api, str(found["alert_id"])))["ended_at"] is not None
    open_ones = (await api.get("/api/alerts?state=open")).json()
    assert (open_ones["open"], open_ones["items"]) == (0, [])


async def test_an_operator_acknowledges_and_mutes_and_the_counts_follow(
    api: httpx.AsyncClient, key: str, halt: Halt
) -> None:
    alert_id, headers = await halt(), {"X-API-Key": key}
    before = (await api.get("/api/alerts")).json()
    answer = await api.post(f"/api/alerts/{alert_id}/acknowledge", headers=headers, json={"note": "maintenance"})
    assert (answer.json()["acknowledged_by"], answer.json()["note"]) == ("owner", "maintenance")
    counts = (await api.get("/api/alerts")).json()
    assert (counts["open"], counts["unacknowledged"]) == (before["open"], before["unacknowledged"] - 1)
    answer = await api.put(f"/api/alerts/{alert_id}/mute", headers=headers, json={"minutes": 60})
    assert (answer.json()["muted_by"], answer.json()["muted_until"] is None) == ("owner", False)
    assert (await api.get("/api/alerts")).json()["open"] == before["open"] - 1
    answer = await api.delete(f"/api/alerts/{alert_id}/mute", headers=headers)
    assert answer.json()["muted_until"] is None
    audited = (await api.get("/api/audit?limit=10", headers=headers)).json()["items"]
    assert {"alert.acknowledge", "alert.mute", "alert.unmute"} <= {one["action"] for one in audited}


async def test_they_outlive_the_process(application: FastAPI, halt: Halt) -> None:
    alert_id = await halt()
    first, dashboard = watch_of(application), dashboard_of(application)
    second = AlertKeeper(
        dashboard.session.home, dashboard.health, dashboard.hub, first.rules, first._notices, first._signals
    )
    second.book = second._read()
    assert second.book.alerts[alert_id] == first.book.alerts[alert_id]
    path = dashboard.session.home / "alerts.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    assert second._read().alerts == {}


async def test_who_may_not_change_anything_may_look_alone(api: httpx.AsyncClient, halt: Halt) -> None:
    alert_id = await halt()
    assert (await api.get("/api/alerts")).status_code == 200
    for method, path in (("POST", "acknowledge"), ("PUT", "mute"), ("DELETE", "mute")):
        assert (await api.request(method, f"/api/alerts/{alert_id}/{path}", json={})).status_code == 401


@pytest.mark.parametrize(("method", "path"), [("POST", "acknowledge"), ("PUT", "mute"), ("DELETE", "mute")])
async def test_there_is_no_alert_of_an_unknown_id(api: httpx.AsyncClient, key: str, method: str, path: str) -> None:
    answer = await api.request(method, f"/api/alerts/nowhere/{path}", headers={"X-API-Key": key}, json={})
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no alert 'nowhere'.")


@pytest.mark.parametrize("minutes", [0, 10_081, "long"])
async def test_a_mute_ends_within_a_week(api: httpx.AsyncClient, key: str, minutes: object) -> None:
    answer = await api.put("/api/alerts/any/mute", headers={"X-API-Key": key}, json={"minutes": minutes})
    assert answer.status_code == 422
