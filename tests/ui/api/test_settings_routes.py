"""Changing settings: the key, the versions, the ranges – and that nothing changes if it says so."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from market.decide.settings import Settings
from market.decide.settings_entries import EntryChange
from session.session import Session
from store.app_actions import AppAction
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.records.audit_entry import AuditEntry
from store.server.client import connect
from tests.ui.samples import SETTINGS
from ui.auth.callers import Caller
from ui.services.dashboard import Dashboard, dashboard_of
from ui.services.settings import change_settings, switch_asset, switch_trading
from ui.stream.live_hub import LiveHub


async def patch(
    api: httpx.AsyncClient, body: object, key: str | None = None, if_match: str | None = None, **headers: str
) -> httpx.Response:
    given = headers | ({"X-API-Key": key} if key else {}) | ({"If-Match": if_match} if if_match else {})
    return await api.patch("/api/settings", json=body, headers=given)


async def test_the_etag_is_the_version(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/settings")
    assert (answer.headers["etag"], answer.json()["version"]) == ('"1"', 1)


@pytest.mark.parametrize("versioned", ["body", "header"])
async def test_a_change_raises_the_version_and_is_read_back(api: httpx.AsyncClient, key: str, versioned: str) -> None:
    body = {"min_net_bps": 9.5} | ({"version": 1} if versioned == "body" else {})
    answer = await patch(api, body, key, '"1"' if versioned == "header" else None)
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    now = (await api.get("/api/settings")).json()
    assert (now["version"], now["min_net_bps"], now["max_notional"]) == (2, 9.5, str(SETTINGS.max_notional))


async def test_who_changed_what_is_kept(api: httpx.AsyncClient, key: str) -> None:
    await patch(api, {"trading_state": "halted", "version": 1}, key, **{"X-Changed-By": "erika"})
    page = (await api.get("/api/settings/versions", params={"limit": 1})).json()
    (newest,) = page["items"]
    assert (newest["who"], newest["version"]) == ("erika", 2)
    assert newest["changes"] == [{"field": "trading_state", "before": "running", "after": "halted"}]
    (first,) = (await api.get("/api/settings/versions", params={"cursor": page["next_cursor"]})).json()["items"]
    assert (first["version"], first["changes"]) == (1, [])


@pytest.mark.parametrize("path", ["settings", "trading-state"])
async def test_who_says_no_name_stands_under_that_of_the_key(api: httpx.AsyncClient, key: str, path: str) -> None:
    if path == "settings":
        answer = await patch(api, {"min_net_bps": 9.5, "version": 1}, key)
    else:
        answer = await api.put("/api/trading-state", json={"state": "halted"}, headers={"X-API-Key": key})
    assert answer.status_code == 200
    newest = (await api.get("/api/settings/versions")).json()["items"][0]
    (change,) = (await api.get("/api/audit", headers={"X-API-Key": key})).json()["items"]
    assert newest["who"] == change["who"] == "owner"


async def test_a_state_that_there_is_not_is_named_with_those_there_are(api: httpx.AsyncClient, key: str) -> None:
    answer = await api.put("/api/trading-state", json={"state": "haltd"}, headers={"X-API-Key": key})
    why = "must be 'running', 'reduce_only' or 'halted'"
    assert (answer.status_code, answer.json()["detail"]) == (422, f"The request is not valid. state: {why}.")
    assert answer.json()["errors"] == [{"field": "body.state", "why": why}]


@pytest.mark.parametrize("key", [None, "wrong", "ä"])
async def test_without_the_key_nothing_else_is_looked_at(api: httpx.AsyncClient, key: str | None) -> None:
    headers = {b"X-API-Key": key.encode()} if key else {}
    answer = await api.patch("/api/settings", content=b"{", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


@pytest.mark.parametrize(
    ("body", "if_match", "status"),
    [
        ({"version": 7}, None, 409),
        ({"version": 0}, None, 409),
        ({}, '"7"', 412),
        ({}, '"not-ours"', 412),
        ({}, "9" * 5_000, 412),
        ({"version": 1}, '"7"', 422),
        ({}, None, 428),
        ({}, "*", 428),
        ({"version": "1"}, None, 422),
        ({"version": True}, None, 422),
        ([], None, 422),
        ("min_net_bps", None, 422),
    ],
)
async def test_versions(api: httpx.AsyncClient, key: str, body: object, if_match: str | None, status: int) -> None:
    changes = {"min_net_bps": 9.5, **body} if isinstance(body, dict) else body
    answer = await patch(api, changes, key, if_match)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert problem.get("current_version") == (1 if status in (409, 412) else None)
    assert (await api.get("/api/settings")).json()["version"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"min_net_bps": 10_001}, "min_net_bps"),
        ({"min_net_bps": -1_001, "emit_net_bps": -1_001}, "min_net_bps"),
        ({"min_net_bps": "much"}, "min_net_bps"),
        ({"max_notional": "0"}, "max_notional"),
        ({"max_notional": None}, "max_notional"),
        ({"max_open_arbitrages": 0}, "max_open_arbitrages"),
        ({"min_share_above_10s": 1.1}, "min_share_above_10s"),
        ({"single_leg_policy": "pray"}, "single_leg_policy"),
        ({"taker_fees": {"alpha": "0.2"}, "enabled_exchanges": ["alpha"]}, "taker_fees.alpha"),
        ({"minimum_net_bps": 5}, "minimum_net_bps"),
        ({"min_net_bps": 1, "emit_net_bps": 2}, "settings"),
        ({"enabled_exchanges": ["alpha", "delta"]}, "settings"),
        ({"enabled_exchanges": ["delta"], "taker_fees": {"delta": "0.001"}}, "enabled_exchanges"),
        ({"enabled_exchanges": ["alpha"], "taker_fees": {"alpha": "0.001", "delta": "0"}}, "taker_fees"),
    ],
)
async def test_what_is_out_of_range_is_named_and_changes_nothing(
    api: httpx.AsyncClient, key: str, changes: dict[str, Any], field: str
) -> None:
    answer = await patch(api, changes | {"version": 1}, key)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert field in [error["field"] for error in problem["errors"]]
    assert all(error["why"] for error in problem["errors"])
    assert (await api.get("/api/settings")).json() == SETTINGS.model_dump(mode="json")


async def test_who_changes_one_fee_says_nothing_of_the_others(api: httpx.AsyncClient, key: str) -> None:
    answer = await patch(api, {"version": 1, "taker_fees": {"beta": "0.0015"}}, key)
    assert (answer.status_code, answer.json()["taker_fees"]) == (200, {"alpha": "0.001", "beta": "0.0015"})


UNBOUNDED: tuple[tuple[str, Any], ...] = (
    ("max_notional", "1e-999999999"),
    ("max_notional", "1e50000000"),
    ("max_notional", "1" + "0" * 100_000),
    ("max_notional", "1_000"),
    ("min_net_bps", 5e-324),
    ("taker_fees", {"alpha": "1e-999999999"}),
)


async def test_a_number_that_no_sum_could_hold_is_422_in_one_sentence(api: httpx.AsyncClient, key: str) -> None:
    for field, value in UNBOUNDED:
        answer = await patch(api, {field: value, "version": 1}, key)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["field"].partition(".")[0]) == (422, field)
        assert len(error["why"]) < 200
    assert (await api.get("/api/settings")).json() == SETTINGS.model_dump(mode="json")


async def test_of_many_changes_at_once_from_one_version_one_wins(api: httpx.AsyncClient, key: str) -> None:
    answers = await asyncio.gather(*(patch(api, {"min_net_bps": bps}, key, '"1"') for bps in range(5, 13)))
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
    assert (await api.get("/api/settings")).json()["version"] == 2


async def test_the_key_is_never_logged_or_shown(
    api: httpx.AsyncClient, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answers = [await patch(api, {"version": 1, "min_net_bps": 7}, key), await patch(api, {}, key)]
    assert [answer.status_code for answer in answers] == [200, 428]
    said = [repr(record.__dict__) for record in caplog.records if not record.name.startswith("httpc")]
    assert not any(key in text for text in (*said, *(answer.text for answer in answers)))


async def test_before_the_first_settings_there_are_none(
    api: httpx.AsyncClient, key: str, session: Session, store: MongoTradeStore
) -> None:
    client = connect(session.services.mongodb)
    await client[session.services.database]["settings"].delete_many({})
    client.close()
    answers = [await api.get("/api/settings"), await patch(api, {"version": 1}, key)]
    assert [answer.status_code for answer in answers] == [404, 404]


PAUSE = AppAction(EntryChange("disabled_assets", "BTC", value=True), 1, 6)
HALF = AuditEntry("row 1", "app guard", "app", "app", "", "app.pause", "disabled_assets BTC")


async def test_what_apps_changed_meanwhile_holds_up_no_person(
    api: httpx.AsyncClient, key: str, store: MongoTradeStore
) -> None:
    await store.settings.act(PAUSE, HALF)
    answer = await patch(api, {"min_net_bps": 9.5}, key, '"1"')
    assert (answer.status_code, answer.headers["etag"]) == (200, '"3"')
    now = (await api.get("/api/settings")).json()
    assert (now["min_net_bps"], now["disabled_assets"]) == (9.5, ["BTC"])
    touched = await patch(api, {"disabled_assets": [], "version": 1}, key)
    assert (touched.status_code, touched.json()["current_version"]) == (409, 3)
    beside_a_person = await patch(api, {"min_net_bps": 7.5, "version": 2}, key)
    assert beside_a_person.status_code == 409


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"asset_thresholds": {"NONE": 9}}, "asset_thresholds"),
        ({"pair_thresholds": {"alpha>nowhere": 9}}, "pair_thresholds"),
        ({"pair_thresholds": {"alpha": 9}}, "pair_thresholds"),
        ({"cycle_thresholds": {"nowhere": 9}}, "cycle_thresholds"),
        ({"cycle_notionals": {"alpha/beta": 9}}, "cycle_notionals"),
        ({"asset_thresholds": {"BTC": -1}}, "settings"),
    ],
)
async def test_a_threshold_of_nothing_in_the_session_is_refused(
    api: httpx.AsyncClient, key: str, body: dict[str, object], field: str
) -> None:
    answer = await patch(api, body | {"version": 1}, key)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].startswith(field)


async def test_thresholds_of_an_asset_and_a_pair_are_set_and_read_back(api: httpx.AsyncClient, key: str) -> None:
    own = {
        "asset_thresholds": {"BTC": 9.5},
        "pair_thresholds": {"alpha>beta": 12.0, "alpha/beta": 7.0},
        "cycle_thresholds": {"alpha": 8.0, "alpha:BTC/USD:buy>beta:BTC/EUR:sell>alpha:EUR/USD:sell": 11.0},
        "cycle_notionals": {"alpha": "500"},
    }
    assert (await patch(api, own | {"version": 1}, key)).status_code == 200
    now = (await api.get("/api/settings")).json()
    assert {name: now[name] for name in own} == own


class WatchedHub(LiveHub):
    """Notes when it learns of settings."""

    def __init__(self, hub: LiveHub, order: list[str]) -> None:
        self.__dict__ |= hub.__dict__
        self._order = order

    def apply_settings(self, settings: Settings) -> None:
        self._order.append("shown")
        super().apply_settings(settings)


class WatchedReader(TradeReader):
    """Notes when the primary is asked, which may take its time."""

    def __init__(self, reader: TradeReader, order: list[str]) -> None:
        self.__dict__ |= reader.__dict__
        self._order = order

    async def settings_changed_at(self, version: int) -> int | None:
        self._order.append("asked")
        return await super().settings_changed_at(version)


@pytest.mark.parametrize(
    "change",
    [
        lambda dashboard, who: change_settings(dashboard, {"min_net_bps": 7}, 1, who),
        lambda dashboard, who: switch_trading(dashboard, "halted", who),
        lambda dashboard, who: switch_asset(dashboard, "BTC", False, who),
    ],
)
async def test_a_change_is_shown_before_the_audit_log_asks_for_its_time(
    application: FastAPI, change: Callable[[Dashboard, Caller], Awaitable[Settings]]
) -> None:
    order: list[str] = []
    dashboard = dashboard_of(application)
    watched = replace(dashboard, hub=WatchedHub(dashboard.hub, order), reader=WatchedReader(dashboard.reader, order))
    await change(watched, Caller("owner", "operator", "key"))
    assert order == ["shown", "asked"]
