"""Who may do what over REST: nobody, viewers, operators; with reading open and with reading by key."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from runtime.clock import wall_now
from session.access_terms import AccessTerms, RateTerms
from session.session import Session
from store.mongo.store import MongoTradeStore
from tests.ui.clients import client_of
from tests.ui.waiting import until
from ui.auth.api_keys import digest_of, ensure_api_key, new_key
from ui.auth.callers import Role
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.auth.rate_buckets import Rates
from ui.server.application import build_app
from ui.services.dashboard import dashboard_of

CHANGING = ("post", "put", "patch", "delete")
NO_CHANGE = {
    "/api/tickets",
    "/api/sign-in",
    "/api/sign-out",
    "/api/alerts/rules/preview",
    "/api/settings/what-if",
    "/api/apps/check",
    "/api/apps/explain",
    "/api/apps/x/query",
}
"""They change nothing that anybody else sees."""
WITHOUT_A_KEY = {"/api/health", "/api/ready", "/api/problems", "/api/problems/x", *NO_CHANGE}
PROBLEM = "application/problem+json"


def given(session: Session, name: str, role: Role) -> str:
    key = new_key()
    add_key(session.home, StoredKey(name, role, wall_now(), digest_of(key)))
    return key


@pytest.fixture
def viewer_key(session: Session) -> str:
    return given(session, "desk", "viewer")


@pytest.fixture
async def keyed(session: Session, store: MongoTradeStore) -> AsyncIterator[FastAPI]:
    """Yield an application whose readers need a key; five reads and two changes at once, three wrong keys."""
    terms = AccessTerms(True, RateTerms(0.1, 60), RateTerms(0.1, 2), RateTerms(0.1, 3))
    app = build_app(replace(session, page=replace(session.page, access=terms)), with_pages=False)
    async with app.router.lifespan_context(app):
        await until(lambda: dashboard_of(app).hub.live_state.sources.mongodb)
        yield app


@pytest.fixture
async def keyed_api(keyed: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(keyed) as client:
        yield client


def routes(api_document: dict[str, dict[str, dict[str, object]]], methods: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (method, path) with every parameter of a path filled in."""
    found = []
    for path, operations in api_document["paths"].items():
        plain = "/".join("x" if part.startswith("{") else part for part in path.split("/"))
        found += [(method.upper(), plain) for method in operations if method in methods]
    return found


async def test_a_viewer_key_can_change_nothing(api: httpx.AsyncClient, viewer_key: str, session: Session) -> None:
    changing = [
        route for route in routes((await api.get("/openapi.json")).json(), CHANGING) if route[1] not in NO_CHANGE
    ]
    assert ("PATCH", "/api/settings") in changing
    for method, path in changing:
        answer = await api.request(method, path, headers={"X-API-Key": viewer_key}, json={})
        assert (method, path, answer.status_code, answer.headers["content-type"]) == (method, path, 403, PROBLEM)
    owner = ensure_api_key(session.home).read_text().strip()
    entries = (await api.get("/api/audit?who=desk&limit=500", headers={"X-API-Key": owner})).json()["items"]
    assert sorted(entry["action"] for entry in entries if entry["outcome"] == "rejected")
    assert len(entries) == len(changing)


async def test_nobody_changes_anything_without_a_key(api: httpx.AsyncClient) -> None:
    for method, path in routes((await api.get("/openapi.json")).json(), CHANGING):
        if path not in NO_CHANGE:
            answer = await api.request(method, path, json={})
            assert (method, path, answer.status_code, answer.headers["content-type"]) == (method, path, 401, PROBLEM)
            assert "ApiKey" in answer.headers["www-authenticate"]


async def test_where_reading_needs_a_key_every_route_asks_for_it(keyed_api: httpx.AsyncClient, key: str) -> None:
    document = (await keyed_api.get("/openapi.json", headers={"X-API-Key": key})).json()
    for method, path in routes(document, ("get", *CHANGING)):
        if path not in WITHOUT_A_KEY:
            answer = await keyed_api.request(method, path, json={} if method != "GET" else None)
            assert (method, path, answer.status_code, answer.headers["content-type"]) == (method, path, 401, PROBLEM)
            assert "www-authenticate" in answer.headers


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/", "/bots", "/_stcore/host-config", "/sign-in/x", "/metrics2"]
)
async def test_pages_and_documents_ask_for_it_too(keyed_api: httpx.AsyncClient, path: str) -> None:
    assert (await keyed_api.get(path)).status_code == 401
    sent = await keyed_api.get(path, headers={"Accept": "text/html,*/*"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/sign-in?next={path}")
    assert (await keyed_api.get("/sign-in")).status_code == 200


@pytest.mark.parametrize("header", ["X-API-Key", "Authorization"])
async def test_a_viewer_reads_with_its_key(keyed_api: httpx.AsyncClient, viewer_key: str, header: str) -> None:
    headers = {header: viewer_key if header == "X-API-Key" else f"Bearer {viewer_key}"}
    assert (await keyed_api.get("/api/quotes", headers=headers)).status_code == 200
    assert (await keyed_api.get("/api/caller", headers=headers)).json() == {
        "name": "desk", "role": "viewer", "means": "key",
    }  # fmt: skip


async def test_a_wrong_key_is_not_read_as_none(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/quotes")).status_code == 200
    answer = await api.get("/api/quotes", headers={"X-API-Key": "mistyped"})
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)


async def test_a_revoked_key_counts_no_more_at_once(
    keyed_api: httpx.AsyncClient, viewer_key: str, session: Session
) -> None:
    headers = {"X-API-Key": viewer_key}
    assert (await keyed_api.get("/api/quotes", headers=headers)).status_code == 200
    revoke_key(session.home, "desk")
    assert (await keyed_api.get("/api/quotes", headers=headers)).status_code == 401


async def test_a_removed_owners_key_counts_no_more_at_once(
    keyed_api: httpx.AsyncClient, key: str, session: Session
) -> None:
    assert (await keyed_api.get("/api/quotes", headers={"X-API-Key": key})).status_code == 200
    ensure_api_key(session.home).unlink()
    assert (await keyed_api.get("/api/quotes", headers={"X-API-Key": key})).status_code == 401


async def test_wrong_keys_are_slowed_down_and_right_ones_are_not(keyed_api: httpx.AsyncClient, key: str) -> None:
    answers = [await keyed_api.get("/api/quotes", headers={"X-API-Key": f"wrong {number}"}) for number in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 10
    assert answers[-1].headers["content-type"] == PROBLEM
    assert (await keyed_api.get("/api/quotes", headers={"X-API-Key": key})).status_code == 200


async def test_changes_are_limited_more_than_reading(keyed_api: httpx.AsyncClient, key: str) -> None:
    headers = {"X-API-Key": key}
    changes = [await keyed_api.put("/api/trading-state", json={"state": "running"}, headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in changes] == [200, 200, 429]
    assert int(changes[-1].headers["retry-after"]) >= 1
    assert (await keyed_api.get("/api/quotes", headers=headers)).status_code == 200


async def test_pieces_of_an_upload_leave_the_kill_switch_its_rate(
    keyed: FastAPI, keyed_api: httpx.AsyncClient, key: str
) -> None:
    dashboard_of(keyed).access.pieces = Rates(RateTerms(0.1, 9))
    headers = {"X-API-Key": key}
    begun = await keyed_api.post("/api/recordings/uploads", json={"name": "a.csv", "size": 10}, headers=headers)
    address = f"/api/recordings/uploads/{begun.json()['upload_id']}"
    pieces = [await keyed_api.put(f"{address}?offset={at}", content=b"x", headers=headers) for at in range(10)]
    assert [answer.status_code for answer in pieces] == [200] * 9 + [429]
    stopped = await keyed_api.put("/api/trading-state", json={"state": "halted"}, headers=headers)
    assert stopped.status_code == 200


async def test_reading_too_has_a_limit_of_each_caller(keyed_api: httpx.AsyncClient, key: str, viewer_key: str) -> None:
    answers = [await keyed_api.get("/api/caller", headers={"X-API-Key": viewer_key}) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]
    assert (await keyed_api.get("/api/caller", headers={"X-API-Key": key})).status_code == 200


async def test_the_document_declares_how_to_be_known(api: httpx.AsyncClient) -> None:
    document = (await api.get("/openapi.json")).json()
    assert set(document["components"]["securitySchemes"]) == {"ApiKey", "Bearer", "SignIn"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path not in (WITHOUT_A_KEY | {"/api/problems/{name}"}) - {"/api/tickets"}:
                assert {name for way in operation["security"] for name in way} >= {"ApiKey", "Bearer"}, (method, path)
