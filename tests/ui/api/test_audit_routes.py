"""The audit log over REST: every change, rejected ones too; for operators."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from runtime.clock import wall_now
from session.access_terms import AccessTerms
from session.session import Session
from store.mongo.store import MongoTradeStore
from tests.ui.clients import client_of
from tests.ui.issuer import Issuer, issuing
from tests.ui.waiting import until
from ui.auth.api_keys import digest_of, new_key
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.server.application import build_app


async def entries(api: httpx.AsyncClient, key: str, **requested: str | int) -> list[dict[str, object]]:
    answer = await api.get("/api/audit", params=requested, headers={"X-API-Key": key})
    assert answer.status_code == 200
    found: list[dict[str, object]] = answer.json()["items"]
    return found


async def test_a_change_says_who_what_before_and_after(api: httpx.AsyncClient, key: str) -> None:
    headers = {"X-API-Key": key, "X-Changed-By": "erika"}
    await api.patch("/api/settings", json={"version": 1, "min_net_bps": 7.5}, headers=headers)
    (entry,) = await entries(api, key)
    assert (entry["who"], entry["role"], entry["means"], entry["on_behalf"]) == ("owner", "operator", "key", "erika")
    assert (entry["action"], entry["target"], entry["outcome"]) == ("settings.change", "settings", "done")
    assert (entry["before"], entry["after"]) == (
        {"version": 1, "min_net_bps": 5.0}, {"version": 2, "min_net_bps": 7.5},
    )  # fmt: skip
    assert abs(int(str(entry["at"])) - wall_now()) < 60_000_000
    assert entry["address"] == "127.0.0.1"


async def test_a_change_of_the_settings_has_one_time_in_the_history_and_in_the_audit_log(
    api: httpx.AsyncClient, key: str
) -> None:
    headers = {"X-API-Key": key}
    changes: list[tuple[str, str, object]] = [
        ("PATCH", "/api/settings", {"version": 1, "min_net_bps": 7.5}),
        ("PUT", "/api/trading-state", {"state": "halted"}),
        ("DELETE", "/api/assets/BTC", None),
        ("PUT", "/api/assets/BTC", None),
    ]
    for method, path, body in changes:
        assert (await api.request(method, path, json=body, headers=headers)).status_code == 200
    versions = (await api.get("/api/settings/versions")).json()["items"]
    audited = await entries(api, key)
    assert [(row["after"], row["at"]) for row in map(versioned, audited)] == [
        (row["version"], row["changed_at"]) for row in versions if row["version"] > 1
    ]
    # what changes nothing has no version: its time is its own
    await api.put("/api/trading-state", json={"state": "halted"}, headers=headers)
    newest = (await entries(api, key))[0]
    assert newest["action"] == "trading.switch"
    assert int(str(newest["at"])) > max(row["changed_at"] for row in versions)


def versioned(entry: dict[str, object]) -> dict[str, object]:
    after = entry["after"]
    assert isinstance(after, dict)
    return entry | {"after": after["version"]}


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"version": 7, "min_net_bps": 7.5}, 409, "version 1"),
        ({"version": 1, "min_net_bps": 10_001}, 422, "min_net_bps"),
        ({"version": 1, "$set": {"a.b": 1}, "\u0000": "\ufffd", "big": 2**70}, 422, "there is no such"),
    ],
)
async def test_a_rejected_change_is_kept_with_the_reason(
    api: httpx.AsyncClient, key: str, body: dict[str, object], status: int, reason: str
) -> None:
    content = httpx.Request("PATCH", "http://x", json=body).content if "$set" not in body else ODD
    answer = await api.patch("/api/settings", content=content, headers={"X-API-Key": key})
    assert answer.status_code == status
    (entry,) = await entries(api, key, outcome="rejected")
    assert (entry["action"], entry["outcome"]) == ("settings.change", "rejected")
    # in the words of the answer, for people
    assert reason in str(entry["reason"])
    assert not str(entry["reason"]).startswith("[{")


ODD = b'{"version": 1, "$set": {"a.b": 1}, "\\u0000": "\\ufffd", "big": 1180591620717411303424, "api_key": "hidden"}'


async def test_what_sounds_secret_is_not_kept(api: httpx.AsyncClient, key: str) -> None:
    await api.patch("/api/settings", content=ODD, headers={"X-API-Key": key})
    (entry,) = await entries(api, key)
    assert "hidden" not in str(entry)
    assert entry["after"] == {
        "·set": {"a·b": 1}, "·": "\ufffd", "big": str(2**70), "api_key": "(not shown)",
    }  # fmt: skip


async def test_who_was_turned_away_is_kept_too(api: httpx.AsyncClient, key: str) -> None:
    await api.patch("/api/settings", json={"version": 1}, headers={"X-API-Key": "wrong"})
    (entry,) = await entries(api, key, who="anybody")
    assert (entry["action"], entry["outcome"]) == ("PATCH /api/settings", "rejected")
    assert "wrong" not in str(entry).replace("wrong key", "")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "who", "reason"),
    [
        ("PATCH", "settings", b'{"min_net_bps": 7}', 428, "owner", "Say which version"),
        ("PATCH", "settings", b"{no", 422, "owner", "not JSON"),
        ("PUT", "trading-state", b'{"state": "haltd"}', 422, "owner", "state: must be 'running', "),
        # read before anybody is asked who he is
        ("PUT", "trading-state", b"{no", 422, "anybody", "must be JSON"),
        ("POST", "sign-in", b'{"key": "guessed"}', 401, "anybody", "Unknown or revoked key"),
    ],
)
async def test_what_is_no_request_at_all_is_kept_too(
    api: httpx.AsyncClient, key: str, method: str, path: str, body: bytes, status: int, who: str, reason: str
) -> None:
    headers = {"X-API-Key": key, "content-type": "application/json"}
    answer = await api.request(method, f"/api/{path}", content=body, headers=headers)
    assert answer.status_code == status
    (entry,) = await entries(api, key)
    assert (entry["who"], entry["outcome"], entry["action"]) == (who, "rejected", f"{method} /api/{path}")
    assert reason in str(entry["reason"])
    assert "guessed" not in str(entry)


async def test_a_flood_of_what_is_no_request_is_not_kept(api: httpx.AsyncClient, key: str) -> None:
    for _ in range(150):
        await api.put("/api/trading-state", content=b"{no", headers={"content-type": "application/json"})
    assert 100 <= len(await entries(api, key, limit=200)) < 150


async def test_it_is_for_operators(api: httpx.AsyncClient, session: Session) -> None:
    viewer = new_key()
    add_key(session.home, StoredKey("desk", "viewer", wall_now(), digest_of(viewer)))
    for path in ("/api/audit", "/api/keys"):
        assert (await api.get(path)).status_code == 401
        assert (await api.get(path, headers={"X-API-Key": viewer})).status_code == 403


async def test_keys_that_were_given_and_revoked_are_there(api: httpx.AsyncClient, key: str, session: Session) -> None:
    digest = digest_of(new_key())
    add_key(session.home, StoredKey("desk", "viewer", wall_now(), digest))
    listed = (await api.get("/api/keys", headers={"X-API-Key": key})).json()
    assert [(one["name"], one["role"]) for one in listed] == [("owner", "operator"), ("desk", "viewer")]
    assert digest not in str(listed)
    revoke_key(session.home, "desk")

    async def are_reported() -> bool:
        return [entry["action"] for entry in await entries(api, key, target="desk")] == ["key.revoke", "key.add"]

    await until(are_reported)


@pytest.mark.parametrize(
    "requested", [{"outcome": "odd"}, {"since": "x"}, {"since": -1}, {"cursor": "?"}, {"limit": 0}, {"who": "x" * 201}]
)
async def test_a_query_that_is_none_is_422(api: httpx.AsyncClient, key: str, requested: dict[str, str | int]) -> None:
    answer = await api.get("/api/audit", params=requested, headers={"X-API-Key": key})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


async def test_every_problem_has_a_kind_that_can_be_read(api: httpx.AsyncClient) -> None:
    for path, status in (("/api/nothing", 404), ("/api/audit", 401), ("/api/quotes?limit=x&base=" + "x" * 99, 422)):
        problem = (await api.get(path)).json()
        assert problem["status"] == status
        kind = (await api.get(problem["type"])).json()
        assert (kind["type"], kind["status"], kind["title"]) == (problem["type"], status, problem["title"])
    listed = (await api.get("/api/problems")).json()
    assert {401, 403, 409, 412, 422, 428, 429, 503} <= {one["status"] for one in listed}


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing() as running:
        yield running


async def test_a_token_of_the_issuer_is_taken_where_it_is_configured(
    session: Session, store: MongoTradeStore, api: httpx.AsyncClient, issuer: Issuer
) -> None:
    trader = {"Authorization": f"Bearer {issuer.token()}"}
    assert (await api.get("/api/quotes", headers=trader)).status_code == 401
    app = build_app(
        replace(session, page=replace(session.page, access=AccessTerms(True, oidc=issuer.terms))), with_pages=False
    )
    async with (
        app.router.lifespan_context(app),
        client_of(app) as keyed,
    ):
        change = {"version": 1, "min_net_bps": 6}
        for role, reading, changing in (("desk", 200, 403), ("guest", 403, 403), ("trader", 200, 200)):
            headers = {"Authorization": f"Bearer {issuer.token(role, sub=role)}"}
            assert (await keyed.get("/api/quotes", headers=headers)).status_code == reading
            assert (await keyed.patch("/api/settings", json=change, headers=headers)).status_code == changing
        late = await keyed.get("/api/quotes", headers={"Authorization": f"Bearer {issuer.token(exp=1)}"})
        assert (late.status_code, late.json()["detail"]) == (401, "Token rejected: it has expired.")
        (entry,) = (await keyed.get("/api/audit?outcome=done", headers=trader)).json()["items"]
        assert (entry["who"], entry["means"]) == ("oidc:trader", "token")
