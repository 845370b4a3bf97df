"""Assets are taken off the session and back over REST, by operators, each time as a version of the settings."""

import httpx
import pytest


async def shown(api: httpx.AsyncClient) -> dict[str, bool]:
    return {row["base"]: row["enabled"] for row in (await api.get("/api/assets")).json()}


async def test_the_assets_of_the_session_are_listed_with_their_markets(api: httpx.AsyncClient) -> None:
    (row,) = (await api.get("/api/assets")).json()
    assert (row["base"], row["enabled"], row["settings_version"]) == ("BTC", True, 1)
    assert row["markets"]["alpha"] == "BTC/USD"


async def test_an_asset_is_taken_off_and_back(api: httpx.AsyncClient, key: str) -> None:
    headers = {"X-API-Key": key}
    off = await api.delete("/api/assets/BTC", headers=headers)
    assert (off.status_code, off.json()["enabled"], off.json()["settings_version"]) == (200, False, 2)
    assert await shown(api) == {"BTC": False}
    again = await api.delete("/api/assets/BTC", headers=headers)
    assert again.json() == off.json()
    on = await api.put("/api/assets/BTC", headers=headers)
    assert (on.json()["enabled"], on.json()["settings_version"]) == (True, 3)
    assert await shown(api) == {"BTC": True}
    entries = (await api.get("/api/audit", headers=headers)).json()["items"]
    assert {(one["action"], one["target"]) for one in entries} == {("assets.switch", "BTC")}


async def test_an_asset_that_the_session_does_not_have_is_named_with_those_it_has(
    api: httpx.AsyncClient, key: str
) -> None:
    answer = await api.put("/api/assets/ETH", headers={"X-API-Key": key})
    assert answer.status_code == 404
    assert answer.json()["detail"] == "This session has no asset 'ETH'; `assets` in arbitrage.toml names BTC."


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_nobody_switches_without_a_key(api: httpx.AsyncClient, method: str) -> None:
    assert (await api.request(method, "/api/assets/BTC")).status_code == 401
    assert await shown(api) == {"BTC": True}


@pytest.mark.parametrize("changes", [{"disabled_assets": ["ETH"]}, {"asset_limits": {"ETH": "100"}}])
async def test_settings_name_assets_of_the_session_only(
    api: httpx.AsyncClient, key: str, changes: dict[str, object]
) -> None:
    answer = await api.patch("/api/settings", json={"version": 1, **changes}, headers={"X-API-Key": key})
    (field,) = changes
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": field, "why": "this session has no asset ETH; it has BTC"}]
