"""The bots over REST: how they are, and stopping and starting them."""

import httpx
import pytest
from fastapi import FastAPI

from market.decide.circuit_breaker import Failure
from market.trade.leases import UNFENCED, decision_right
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.records.processes import SUPERVISOR, ProcessReport
from tests.store.reservation_requests import request
from tests.ui.reported import process_named, received_at, reported
from tests.ui.samples import SETTINGS
from ui.auth.api_keys import digest_of
from ui.auth.key_store import StoredKey, add_key
from ui.services.dashboard import dashboard_of


@pytest.fixture
async def supervised(session: Session, api: httpx.AsyncClient) -> httpx.AsyncClient:
    """Return a client of REST; a supervisor has just reported its processes."""
    await reported(session)
    return api


async def row_of(api: httpx.AsyncClient, name: str) -> dict[str, object]:
    answer = await api.get(f"/api/bots/{name}")
    assert answer.status_code == 200
    row: dict[str, object] = answer.json()
    return row


async def test_how_each_bot_does(supervised: httpx.AsyncClient, store: MongoTradeStore) -> None:
    lease = await store.leases.acquire("alpha", "alpha@desk:101:abc")
    assert lease is not None
    await store.reserve(request("2"), UNFENCED)
    for index in range(SETTINGS.breaker_failures):
        await store.health.record("beta", Failure(f"order-{index}", "outcome_unknown"))
    alpha, beta = (await supervised.get("/api/bots")).json()["items"]
    assert (alpha["name"], alpha["exchange"], alpha["region"]) == ("bot-alpha", "alpha", "us")
    assert (alpha["state"], alpha["activity"], alpha["pid"], alpha["is_enabled"]) == ("ready", "trading", 101, True)
    assert (alpha["open_arbitrages"], alpha["open_legs"], alpha["is_unwatched"]) == (1, 1, False)
    assert alpha["lease"] == {"holder": "alpha@desk:101:abc", "token": 1, "until": lease.until, "is_held": True}
    assert (beta["activity"], beta["last_end"], beta["lease"]) == ("stopped", "stopped by erika", None)
    assert (beta["breaker"]["is_paused"], beta["breaker"]["failures"]) == (True, {"outcome_unknown": 5})
    assert beta["last_seen"] == beta["since"]


async def test_one_that_holds_no_lease_stands_by(supervised: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await store.leases.acquire("alpha", "alpha@desk:999:abc")
    assert (await row_of(supervised, "bot-alpha"))["activity"] == "standby"


async def test_which_process_decides(supervised: httpx.AsyncClient, store: MongoTradeStore) -> None:
    for right in (decision_right(1), decision_right(0), "alpha"):
        await store.leases.acquire(right, "alpha@desk:101:abc")
    await store.leases.acquire(decision_right(2), "gamma@desk:999:abc")
    assert (await row_of(supervised, "bot-alpha"))["decides_on"] == [0, 1]
    lease = await store.leases.acquire(decision_right(0), "alpha@desk:101:abc")
    assert lease is not None
    await store.leases.release(lease)
    assert (await row_of(supervised, "bot-alpha"))["decides_on"] == [1]


async def test_an_order_that_nobody_watches_is_reported(supervised: httpx.AsyncClient, store: MongoTradeStore) -> None:
    lease = await store.leases.acquire("alpha", "alpha@desk:101:abc")
    assert lease is not None
    await store.reserve(request("2"), UNFENCED)
    await store.leases.release(lease)
    row = await row_of(supervised, "bot-alpha")
    assert (row["open_legs"], row["is_unwatched"]) == (1, True)


async def test_stopping_and_starting_are_kept_with_who_and_audited(
    supervised: httpx.AsyncClient, session: Session, key: str, application: FastAPI
) -> None:
    for _ in range(2):
        answer = await supervised.post("/api/bots/bot-alpha/stop", headers={"X-API-Key": key})
        assert (answer.status_code, answer.json()["wanted"], answer.json()["wanted_by"]) == (200, "stopped", "owner")
    first = answer.json()["wanted_at"]
    assert (await process_named(session, "bot-alpha")).order.at == first
    started = (await supervised.post("/api/bots/bot-alpha/start", headers={"X-API-Key": key})).json()
    assert started["wanted"] == "running"
    audit = (await supervised.get("/api/audit", headers={"X-API-Key": key})).json()["items"]
    reported_of = [(one["action"], one["target"], one["who"], one["outcome"]) for one in audit]
    assert reported_of[0] == ("process.start", "bot-alpha", "owner", "done")
    assert reported_of[1:] == [("process.stop", "bot-alpha", "owner", "done")] * 2
    assert audit[0]["before"]["wanted"] == "stopped"
    assert dashboard_of(application).session == session


@pytest.mark.parametrize(("given", "status"), [(None, 401), ("wrong", 401), ("viewer", 403)])
async def test_who_may_not(supervised: httpx.AsyncClient, session: Session, given: str | None, status: int) -> None:
    headers = {}
    if given is not None:
        headers["X-API-Key"] = given
        add_key(session.home, StoredKey("guest", "viewer", 0, digest_of("viewer")))
    for path in ("/api/bots/bot-alpha/stop", "/api/processes/feed-alpha/stop"):
        answer = await supervised.post(path, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (await process_named(session, "bot-alpha")).order.wanted == "running"


@pytest.mark.parametrize(
    ("path", "status", "why"),
    [
        ("/api/bots/bot-nobody/stop", 404, "no process 'bot-nobody' here; there are bot-alpha, bot-beta."),
        ("/api/bots/cep/stop", 404, "no process 'cep'"),
        ("/api/bots/feed-alpha/stop", 404, "no process 'feed-alpha'"),
        ("/api/processes/cep/stop", 409, "only bots and feeds"),
        (f"/api/processes/{SUPERVISOR}/stop", 409, "only bots and feeds"),
        ("/api/processes/nobody/start", 404, "no process 'nobody' here; there are bot-alpha, bot-beta, cep, feed-"),
    ],
)
async def test_what_cannot_be_stopped(
    supervised: httpx.AsyncClient, key: str, path: str, status: int, why: str
) -> None:
    answer = await supervised.post(path, headers={"X-API-Key": key})
    assert answer.status_code == status
    assert why in answer.json()["detail"]


async def test_nobody_obeys_a_silent_supervisor(supervised: httpx.AsyncClient, session: Session, key: str) -> None:
    await received_at(session, wall_now() - 60_000_000)
    row = await row_of(supervised, "bot-alpha")
    assert (row["state"], row["activity"]) == ("unknown", "unknown")
    answer = await supervised.post("/api/bots/bot-alpha/stop", headers={"X-API-Key": key})
    assert answer.status_code == 409
    assert "would not be carried out" in answer.json()["detail"]
    assert (await process_named(session, "bot-alpha")).order.wanted == "running"


async def test_a_session_that_ends_starts_nothing(
    supervised: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    await store.stop_reservations()
    answer = await supervised.post("/api/bots/bot-beta/start", headers={"X-API-Key": key})
    assert (answer.status_code, "ending" in answer.json()["detail"]) == (409, True)


async def test_all_processes_and_a_feed_that_is_stopped(supervised: httpx.AsyncClient, key: str) -> None:
    rows = {row["name"]: row for row in (await supervised.get("/api/processes")).json()["items"]}
    assert sorted(rows) == ["bot-alpha", "bot-beta", "cep", "feed-alpha", SUPERVISOR]
    assert (rows["feed-alpha"]["restarts"], rows["feed-alpha"]["is_stoppable"]) == (2, True)
    assert rows["cep"]["is_stoppable"] is False
    stopped = await supervised.post("/api/processes/feed-alpha/stop", headers={"X-API-Key": key})
    assert (stopped.status_code, stopped.json()["wanted"]) == (200, "stopped")


async def test_before_the_supervisor_reported_anything_there_are_none(api: httpx.AsyncClient, session: Session) -> None:
    assert (await api.get("/api/bots")).json() == {"items": []}
    assert (await api.get("/api/bots/bot-alpha")).status_code == 404
    await reported(session, ProcessReport("bot-alpha", "bot", "alpha", "starting", age=0))
    assert (await row_of(api, "bot-alpha"))["activity"] == "starting"


async def test_the_only_bot_of_an_exchange_is_found_by_it(
    supervised: httpx.AsyncClient, session: Session, key: str
) -> None:
    assert (await row_of(supervised, "alpha"))["name"] == "bot-alpha"
    stopped = await supervised.post("/api/bots/alpha/stop", headers={"X-API-Key": key})
    assert (stopped.status_code, stopped.json()["name"], stopped.json()["wanted"]) == (200, "bot-alpha", "stopped")
    bots = [ProcessReport(name, "bot", "alpha", "ready", age=0) for name in ("bot-alpha", "bot-alpha-2")]
    await reported(session, *bots)
    answer = await supervised.get("/api/bots/alpha")
    assert answer.status_code == 404
    assert "there are bot-alpha, bot-alpha-2" in answer.json()["detail"]
