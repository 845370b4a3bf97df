"""A body that is too large is rejected before it fills the memory, and before anybody is asked for a key."""

from collections.abc import AsyncIterator

import httpx
import pytest

from ui.http.body_limit import MAX_BYTES

PART = b" " * 65_536


async def endless() -> AsyncIterator[bytes]:
    """Without a length; only so much is taken of it."""
    for _ in range(2 * MAX_BYTES // len(PART)):
        yield PART


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/sign-in"), ("PUT", "/api/trading-state")])
async def test_too_much_is_413(api: httpx.AsyncClient, method: str, path: str) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b" " * (MAX_BYTES + 1), endless()):
        answer = await api.request(method, path, content=content, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (413, "/api/problems/too-large")


async def test_too_much_is_413_where_a_route_reads_the_body_itself(api: httpx.AsyncClient, key: str) -> None:
    for path in ("/api/settings", "/api/backtests"):
        method = "PATCH" if path == "/api/settings" else "POST"
        answer = await api.request(method, path, content=endless(), headers={"X-API-Key": key})
        assert answer.status_code == 413


async def test_as_much_as_may_be_is_read(api: httpx.AsyncClient, key: str) -> None:
    answer = await api.patch("/api/settings", content=b" " * MAX_BYTES, headers={"X-API-Key": key})
    assert (answer.status_code, answer.json()["detail"]) == (422, "The body is not JSON.")
