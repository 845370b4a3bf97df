"""Who may use the service, and who does: keys, browsers that are signed in, and ending a sign-in."""

import asyncio
import fcntl
import threading
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from runtime.clock import wall_now
from session.access_terms import RateTerms
from session.session import Session
from tests.ui.clients import client_of
from tests.ui.waiting import until
from ui.auth.api_keys import digest_of, keys_folder, new_key
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.auth.rate_buckets import Rates
from ui.auth.sign_ins import COOKIE
from ui.auth.started_sign_ins import SIGN_INS_FILE
from ui.services.dashboard import dashboard_of

BROWSER = "Mozilla/5.0 (X11; Linux) Chrome/140.0 Safari/537.36"
HELD_SECONDS = 5


@pytest.fixture
def desk_key(session: Session) -> str:
    key = new_key()
    add_key(keys_folder(session.home), StoredKey("desk", "viewer", wall_now(), digest_of(key)))
    return key


async def people(api: httpx.AsyncClient, key: str) -> Any:
    return (await api.get("/api/people", headers={"X-API-Key": key})).raise_for_status().json()


async def signed_in(api: httpx.AsyncClient, key: str) -> dict[str, str]:
    """Return the headers of a browser that has just signed in."""
    answer = await api.post("/api/sign-in", json={"key": key}, headers={"User-Agent": BROWSER})
    cookie = answer.raise_for_status().cookies[COOKIE]
    api.cookies.clear()
    return {"Cookie": f"{COOKIE}={cookie}"}


async def test_keys_and_browsers_are_listed_with_their_last_use(
    api: httpx.AsyncClient, key: str, desk_key: str
) -> None:
    before = await people(api, key)
    assert [(row["name"], row["role"]) for row in before["keys"]] == [("owner", "operator"), ("desk", "viewer")]
    # asking was a use of the owner's key
    assert [row["seen_at"] is None for row in before["keys"]] == [False, True]
    assert (before["sign_ins"], before["tokens"], before["issuer"], before["is_reading_open"]) == ([], [], None, True)
    headers = await signed_in(api, desk_key)
    (row,) = (await people(api, key))["sign_ins"]
    assert (row["name"], row["role"], row["browser"], row["seen_at"]) == ("desk", "viewer", BROWSER, None)
    assert row["began_at"] < row["ends_at"]
    await api.get("/api/caller", headers=headers)
    (row,) = (await people(api, key))["sign_ins"]
    assert (row["seen_at"] is None, row["is_yours"]) == (False, False)
    # the answer holds nothing that a cookie is made of
    assert headers["Cookie"].split(":")[2] not in str(await people(api, key))


async def test_an_operator_ends_a_sign_in_for_good(
    api: httpx.AsyncClient, application: FastAPI, key: str, desk_key: str
) -> None:
    ended, other = await signed_in(api, desk_key), await signed_in(api, key)
    rows = {row["name"]: row["sign_in_id"] for row in (await people(api, key))["sign_ins"]}
    async with client_of(application) as browser:
        own = (await browser.get("/api/people", headers=other)).json()["sign_ins"]
    assert {row["name"]: row["is_yours"] for row in own} == {"desk": False, "owner": True}
    headers = {"X-API-Key": key}
    assert (await api.delete(f"/api/sign-ins/{rows['desk']}", headers=headers)).status_code == 204
    names = [(await api.get("/api/caller", headers=one)).json()["means"] for one in (ended, other)]
    assert names == ["open", "sign-in"]
    assert [row["name"] for row in (await people(api, key))["sign_ins"]] == ["owner"]
    again = await api.delete(f"/api/sign-ins/{rows['desk']}", headers=headers)
    assert (again.status_code, "No browser is signed in" in again.json()["detail"]) == (404, True)
    (entry, *_) = (await api.get("/api/audit?action=sign_in.end&outcome=done", headers=headers)).json()["items"]
    assert (entry["who"], entry["before"]["name"]) == ("owner", "desk")


async def test_browsers_of_a_revoked_key_and_those_that_signed_out_are_not_listed(
    api: httpx.AsyncClient, session: Session, key: str, desk_key: str
) -> None:
    await signed_in(api, desk_key)
    own = await signed_in(api, key)
    assert (await api.post("/api/sign-out", headers=own)).status_code == 204
    assert [row["name"] for row in (await people(api, key))["sign_ins"]] == ["desk"]
    revoke_key(keys_folder(session.home), "desk")
    assert (await people(api, key))["sign_ins"] == []


async def test_it_is_for_operators_alone(api: httpx.AsyncClient, desk_key: str) -> None:
    assert (await api.get("/api/people")).status_code == 401
    assert (await api.get("/api/people", headers={"X-API-Key": desk_key})).status_code == 403
    assert (await api.delete("/api/sign-ins/x", headers={"X-API-Key": desk_key})).status_code == 403


async def test_signing_in_waits_for_the_disk_beside_the_loop(
    api: httpx.AsyncClient, session: Session, desk_key: str
) -> None:
    with (keys_folder(session.home) / f"{SIGN_INS_FILE}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # a loop that waited itself would wait no longer than this
        release = threading.Timer(HELD_SECONDS, fcntl.flock, (lock, fcntl.LOCK_UN))
        release.start()
        signing = asyncio.create_task(signed_in(api, desk_key))
        for _ in range(10):
            assert (await api.get("/api/caller")).status_code == 200
        assert not signing.done()
        release.cancel()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert COOKIE in (await signing)["Cookie"]


async def test_signing_in_has_a_rate_by_key(
    api: httpx.AsyncClient, application: FastAPI, key: str, desk_key: str
) -> None:
    dashboard_of(application).access.signing_in = Rates(RateTerms(0.1, 2))
    answers = [await api.post("/api/sign-in", json={"key": given}) for given in (desk_key, desk_key, desk_key, key)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200]


async def test_a_key_is_made_shown_once_and_revoked(api: httpx.AsyncClient, key: str) -> None:
    headers = {"X-API-Key": key}
    made = await api.post("/api/keys", json={"name": "screen", "role": "viewer"}, headers=headers)
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    own = {"X-API-Key": made.json()["key"]}
    assert (await api.get("/api/caller", headers=own)).json() == {"name": "screen", "role": "viewer", "means": "key"}
    listed = (await api.get("/api/keys", headers=headers)).json()
    assert [row["name"] for row in listed] == ["owner", "screen"]
    assert made.json()["key"] not in str(listed)
    again = await api.post("/api/keys", json={"name": "screen", "role": "viewer"}, headers=headers)
    assert (again.status_code, "There is a key 'screen' already" in again.json()["detail"]) == (409, True)
    signed = await signed_in(api, made.json()["key"])
    assert (await api.delete("/api/keys/screen", headers=headers)).status_code == 204
    assert (await api.get("/api/caller", headers=own)).status_code == 401
    assert (await api.get("/api/caller", headers=signed)).json()["means"] == "open"

    async def is_audited() -> bool:
        items = (await api.get("/api/audit?action=key.revoke", headers=headers)).json()["items"]
        return [(one["who"], one["means"], one["target"]) for one in items] == [("owner", "key", "screen")]

    await until(is_audited)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/api/keys", {"name": "owner", "role": "viewer"}, 409, "cannot name a key"),
        ("POST", "/api/keys", {"name": "A B", "role": "viewer"}, 409, "cannot name a key"),
        ("POST", "/api/keys", {"name": "a", "role": "king"}, 422, "role"),
        ("POST", "/api/keys", {"role": "viewer"}, 422, "name"),
        ("DELETE", "/api/keys/nobody", None, 404, "There is no key 'nobody'"),
        ("DELETE", "/api/keys/owner", None, 404, "There is no key 'owner'"),
    ],
)
async def test_what_cannot_be_done_with_keys_is_said_and_audited(
    api: httpx.AsyncClient, key: str, method: str, path: str, body: object, status: int, words: str
) -> None:
    headers = {"X-API-Key": key}
    answer = await api.request(method, path, json=body, headers=headers)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    (entry, *_) = (await api.get("/api/audit?outcome=rejected", headers=headers)).json()["items"]
    assert (entry["who"], words in entry["reason"]) == ("owner", True)
