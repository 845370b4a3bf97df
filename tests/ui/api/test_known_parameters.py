"""A misspelt parameter is told, by every route."""

import re

import httpx
import pytest


async def test_a_misspelt_filter_is_named_beside_those_that_there_are(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/quotes?colour=red&base=BTC")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["errors"] == [{"field": "query.colour", "why": "unknown parameter; known: base, exchange"}]
    assert "'colour'" in answer.json()["detail"]


async def test_every_route_knows_what_it_declares_and_says_that_it_rejects(api: httpx.AsyncClient, key: str) -> None:
    document = (await api.get("/openapi.json")).json()
    asked = 0
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if not path.startswith("/api/") or method not in ("get", "post", "put", "patch", "delete"):
                continue
            assert "422" in route["responses"], (method, path)
            address = re.sub(r"{\w+}", "1", path)
            answer = await api.request(method, address, params={"colour": "red"}, headers={"X-API-Key": key})
            assert answer.status_code == 422, (method, path, answer.text)
            declared = sorted(one["name"] for one in route.get("parameters", ()) if one["in"] == "query")
            there_are = f"known: {', '.join(declared)}" if declared else "this route has none"
            assert answer.json()["detail"] == f"No parameter 'colour': {there_are}.", (method, path)
            asked += 1
    assert asked > 30


@pytest.mark.parametrize("path", ["/api/opportunities?from=0&limit=1", "/api/trades?from=0", "/api/health"])
async def test_what_is_declared_passes(api: httpx.AsyncClient, path: str) -> None:
    assert (await api.get(path)).status_code == 200
