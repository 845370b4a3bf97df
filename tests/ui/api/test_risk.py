"""The kill switch by REST, and what refusals would have brought."""

import asyncio
from decimal import Decimal

import httpx
import pytest

from market.arbitrages import Refusal
from store.trades import MongoTradeStore
from tests.ui.samples import SETTINGS, START


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
    assert (await switch(api, "reducing", key)).json() == {"state": "reducing", "settings_version": 3}


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
    for index, (reason, forgone) in enumerate((("stale", "0.10"), ("stale", "0.05"), ("exposure", "2.5"))):
        profit = Decimal(forgone)
        sample = ("o", "BTC", "alpha", "beta", "alpha", reason, 4.5, profit, START, 3)
        await store.refuse(Refusal(f"refusal-{index}", *sample, forgone=profit * 3))
    assert (await api.get("/api/refusals/summary")).json() == {
        "currency": "USD",
        "count": 9,
        "forgone": "7.95",
        "reasons": [
            {"reason": "exposure", "count": 3, "forgone": "7.5"},
            {"reason": "stale", "count": 6, "forgone": "0.45"},
        ],
    }
