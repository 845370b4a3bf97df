"""Other names and other sites get nothing, whichever part they ask for."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.ui.clients import client_of
from tests.ui.samples import session_of
from ui.http.same_host import names_of
from ui.server.application import build_app


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "evil.example@127.0.0.1", ""])
@pytest.mark.parametrize("path", ["/api/quotes", "/docs", "/assets/panel.js"])
async def test_a_foreign_host_name_is_rejected(api: httpx.AsyncClient, host: str, path: str) -> None:
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


@pytest.mark.parametrize(
    ("web_host", "is_served"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("127.0.0.2", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("192.0.2.7", True),
        ("127.evil.example", True),
    ],
)
def test_other_names_are_served_beyond_loopback_alone(web_host: str, is_served: bool) -> None:
    assert (names_of(web_host) is None) == is_served


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("trading.example:8000", None, 404),
        ("192.0.2.7:8000", "http://192.0.2.7:8000", 404),
        ("trading.example:8000", "http://evil.example", 403),
        ("trading.example:8000", "http://[", 403),
    ],
)
async def test_beyond_loopback_any_name_is_served_to_its_own_pages(
    tmp_path: Path, host: str, origin: str | None, status: int
) -> None:
    app = build_app(
        replace(session_of(tmp_path), page=replace(session_of(tmp_path).page, host="0.0.0.0")), with_pages=False
    )
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    async with client_of(app, "http://any") as client:
        assert (await client.patch("/api/nothing", headers=headers)).status_code == status


@pytest.mark.parametrize("body", [b"O\xff", b"{"], ids=["no text", "no JSON"])
async def test_a_body_that_cannot_be_read_is_no_valid_request(api: httpx.AsyncClient, body: bytes) -> None:
    answer = await api.post("/api/sign-in", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["errors"][0]["field"].startswith("body")
