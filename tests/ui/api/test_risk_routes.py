"""The kill switch by REST, and what rejections would have brought."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import httpx
import pytest
from fastapi import FastAPI

from market.decide.circuit_breaker import Failure
from market.decide.risk_checks import CHECKS
from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.market.samples import USD_MARKET
from tests.store.reservation_requests import episode_of, opportunity, request
from tests.ui.samples import FX_MARKET, SETTINGS, START, quote, record
from tests.ui.waiting import until
from ui.services.dashboard import dashboard_of


async def switch(api: httpx.AsyncClient, state: object, key: str | None, **headers: str) -> httpx.Response:
    given = headers | ({"X-API-Key": key} if key else {})
    return await api.put("/api/trading-state", json={"state": state}, headers=given)


async def test_the_switch_needs_no_version_and_is_kept_with_who(api: httpx.AsyncClient, key: str) -> None:
    answer = await switch(api, "halted", key, **{"X-Changed-By": "erika"})
    assert (answer.status_code, answer.json()) == (200, {"state": "halted", "settings_version": 2})
    assert (await api.get("/api/settings")).json()["trading_state"] == "halted"
    newest, _ = (await api.get("/api/settings/versions")).json()["items"]
    assert (newest["who"], newest["changes"]) == (
        "erika",
        [{"field": "trading_state", "before": "running", "after": "halted"}],
    )
    assert (await switch(api, "halted", key)).json()["settings_version"] == 2
    assert (await switch(api, "reduce_only", key)).json() == {"state": "reduce_only", "settings_version": 3}


async def test_it_holds_among_changes_that_come_at_the_same_time(api: httpx.AsyncClient, key: str) -> None:
    async def tune(bps: float) -> None:
        for _ in range(4):
            version = (await api.get("/api/settings")).json()["version"]
            await api.patch("/api/settings", json={"version": version, "min_net_bps": bps}, headers={"X-API-Key": key})

    tuning = asyncio.gather(*(tune(bps) for bps in (6.0, 7.0, 8.0, 9.0)))
    assert (await switch(api, "halted", key)).status_code == 200
    await tuning
    assert (await api.get("/api/settings")).json()["trading_state"] == "halted"


@pytest.mark.parametrize(
    ("state", "key_given", "status"),
    [("halted", None, 401), ("halted", "wrong", 401), ("off", "right", 422), (None, "right", 422)],
)
async def test_what_is_no_switch_switches_nothing(
    api: httpx.AsyncClient, key: str, state: object, key_given: str | None, status: int
) -> None:
    answer = await switch(api, state, key if key_given == "right" else key_given)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (await api.get("/api/settings")).json() == SETTINGS.model_dump(mode="json")


async def test_the_summary_says_what_each_reason_cost(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    for index, (reason, missed_profit) in enumerate((("stale", "0.10"), ("stale", "0.05"), ("exposure", "2.5"))):
        profit = Decimal(missed_profit)
        at = START + index * 10_000_000
        sample = ("o", "BTC", "alpha", "beta", "alpha", reason, 4.5, Decimal(9), at, 3)
        await store.reject([Rejection(f"rejection-{index}", *sample, tradable=profit)])
        of = replace(opportunity(), event_time=at, expires_at=at + 1)
        await store.save_episodes([episode_of(of, reason, missed_profit)])
    expected = {
        "currency": "USD",
        "count": 9,
        "missed_profit": "2.65",
        "reasons": [
            {"reason": "exposure", "count": 3, "missed_profit": "2.5"},
            {"reason": "stale", "count": 6, "missed_profit": "0.15"},
        ],
    }

    async def is_summed() -> bool:
        answer = await api.get("/api/rejections/summary")
        return bool(answer.json() == expected)

    # sums are cached for as long as reading them takes many times over
    await until(is_summed)


async def test_the_limits_say_what_is_used_of_them(
    api: httpx.AsyncClient, application: FastAPI, store: MongoTradeStore
) -> None:
    await store.reserve(replace(request("2"), unit_notional=Decimal("100.5")), UNFENCED)
    await store.balances.replace("beta", {"BTC": Decimal("9.5"), "EUR": Decimal(30)}, "now", UNFENCED)
    for index in range(SETTINGS.breaker_failures):
        await store.health.record("beta", Failure(f"order-{index}", "outcome_unknown"))
    # last, since a quote is fresh for a second
    now = wall_now()
    dashboard_of(application).hub.apply_records(
        [record(quote(USD_MARKET, "99", "101", now)), record(quote(FX_MARKET, "1.0", "1.2", now))]
    )
    row = (await api.get("/api/risk")).json()
    assert (row["trading_state"], row["settings_version"], row["is_stopping"]) == ("running", 1, False)
    assert [check["reason"] for check in row["checks"]] == [check.reason for check in CHECKS]
    used = {
        check["reason"]: {use["of"]: (use["used"], use["is_reached"]) for use in check["used"]}
        for check in row["checks"]
    }
    assert used["halted"] == {}
    assert used["daily_loss"] == {None: ("0", False)}
    assert used["too_many_open"] == {None: ("1", False)}
    assert used["total_limit"] == {None: ("201", False)}
    assert used["asset_limit"] == {"BTC": ("201", False)}
    assert used["exchange_limit"] == {"alpha": ("201", False), "beta": ("201", False)}
    assert used["exposure"] == {"BTC": ("50", False)}
    assert used["currency_drift"] == {"USD": ("0", False), "EUR": ("33", False)}
    assert used["exchange_paused"] == {"alpha": ("0", False), "beta": ("5", True)}
    limits = {use["limit"] for check in row["checks"] if check["reason"] == "exchange_limit" for use in check["used"]}
    assert limits == {"5000"}
    healthy, paused = row["exchanges"]
    assert (healthy["is_paused"], healthy["paused_until"], healthy["failures"]) == (False, None, {})
    assert (paused["is_paused"], paused["failures"], paused["pauses"]) == (True, {"outcome_unknown": 5}, 1)
    assert paused["paused_until"] > row["now"]


async def test_a_limit_that_is_reached_says_so(api: httpx.AsyncClient, key: str, store: MongoTradeStore) -> None:
    changes = {"version": 1, "max_total_notional": "200"}
    await store.reserve(replace(request("2"), unit_notional=Decimal("100.5")), UNFENCED)
    assert (await api.patch("/api/settings", json=changes, headers={"X-API-Key": key})).status_code == 200
    reached = {
        check["reason"]: [use["is_reached"] for use in check["used"]]
        for check in (await api.get("/api/risk")).json()["checks"]
    }
    assert (reached["total_limit"], reached["asset_limit"], reached["exposure"]) == ([True], [False], [False])
