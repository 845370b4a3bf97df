"""Other names and other sites get nothing, whichever part they ask for."""

import httpx
import pytest


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "evil.example@127.0.0.1", ""])
@pytest.mark.parametrize("path", ["/api/quotes", "/docs", "/assets/panel.js"])
async def test_a_foreign_host_name_is_refused(api: httpx.AsyncClient, host: str, path: str) -> None:
    answer = await api.get(path, headers={"Host": host})
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "[::1]:8000", "localhost"])
async def test_our_own_names_are_served(api: httpx.AsyncClient, host: str) -> None:
    assert (await api.get("/api/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://[", "http://127.0.0.1:8001", "https://localhost"]
)
async def test_another_sites_page_changes_nothing(api: httpx.AsyncClient, key: str, origin: str) -> None:
    headers = {"Origin": origin, "X-API-Key": key}
    answer = await api.patch("/api/settings", json={"version": 1, "min_net_bps": 9}, headers=headers)
    assert answer.status_code == 403
    assert (await api.get("/api/settings")).json()["version"] == 1


async def test_our_own_page_may(api: httpx.AsyncClient, key: str) -> None:
    headers = {"Origin": "http://127.0.0.1:8000", "X-API-Key": key}
    answer = await api.patch("/api/settings", json={"version": 1, "min_net_bps": 9}, headers=headers)
    assert answer.status_code == 200
