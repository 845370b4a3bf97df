"""Onto the live stream by a ticket: once, in time, from our own page, for as long as its key counts."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
import websockets

from runtime.clock import wall_now
from session.access_terms import AccessTerms
from session.session import Session
from store.mongo.store import MongoTradeStore
from tests.ui.api.listening import listening
from tests.ui.clients import client_at
from ui.auth.api_keys import digest_of, ensure_api_key, new_key
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.auth.sign_ins import COOKIE
from ui.http.socket_admission import PROTOCOL
from ui.server.application import build_app
from ui.services.dashboard import dashboard_of


@dataclass(slots=True)
class Place:
    """A served application if reading needs a key, and the key of a viewer."""

    address: str
    key: str
    session: Session

    async def ticket(self, key: str | None = None) -> list[str]:
        async with client_at(self.address) as client:
            answer = await client.post("/api/tickets", headers={"X-API-Key": key or self.key})
        assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
        assert answer.json()["expires_in"] == 30
        protocols: list[str] = answer.json()["protocols"]
        return protocols

    def connect(
        self, protocols: list[str], origin: str | None = None, headers: dict[str, str] | None = None
    ) -> websockets.connect:
        return websockets.connect(
            f"ws://{self.address}/ws/live",
            origin=origin or f"http://{self.address}",  # type: ignore[arg-type]  # a plain str
            subprotocols=protocols or None,  # type: ignore[arg-type]  # plain ones
            additional_headers=headers,
            max_size=None,
        )

    async def status(self, protocols: list[str], origin: str | None = None) -> int:
        """Return what a rejected connection is answered with."""
        with pytest.raises(websockets.InvalidStatus) as rejected:
            await self.connect(protocols, origin)
        return rejected.value.response.status_code


@pytest.fixture
async def place(session: Session, store: MongoTradeStore) -> AsyncIterator[Place]:
    key = new_key()
    add_key(session.home, StoredKey("desk", "viewer", wall_now(), digest_of(key)))
    keyed = replace(session, page=replace(session.page, access=AccessTerms(require_key=True)))
    app = build_app(keyed, with_pages=False)
    async with listening(app) as address:
        dashboard_of(app).access.recheck_seconds = 0.1
        yield Place(address, key, keyed)


async def to_the_end(client: websockets.ClientConnection) -> None:
    async for _ in client:
        pass


async def test_a_ticket_opens_the_stream_once(place: Place) -> None:
    protocols = await place.ticket()
    async with place.connect(protocols) as client:
        assert client.subprotocol == PROTOCOL
        assert '"snapshot"' in str(await client.recv())
    assert await place.status(protocols) == 401


async def test_nobody_listens_without_one(place: Place) -> None:
    assert await place.status([]) == 401
    assert await place.status([PROTOCOL, "ticket.guessed"]) == 401


@pytest.mark.parametrize("path", ["/_stcore/stream", "/api/_stcore/stream", "/sign-in/_stcore/stream", "/ws/live/x"])
async def test_no_other_socket_is_there_for_strangers(place: Place, path: str) -> None:
    with pytest.raises(websockets.InvalidStatus) as rejected:
        await websockets.connect(f"ws://{place.address}{path}", subprotocols=["streamlit"])  # type: ignore[list-item]
    assert rejected.value.response.status_code == 403


async def test_a_ticket_is_no_use_to_another_sites_page(place: Place) -> None:
    protocols = await place.ticket()
    assert await place.status(protocols, "http://evil.example") == 403
    async with place.connect(protocols) as client:
        assert await client.recv()


async def test_a_program_may_bring_its_key(place: Place) -> None:
    async with place.connect([], headers={"X-API-Key": place.key}) as client:
        assert await client.recv()


async def test_who_listens_is_cut_off_once_its_key_is_revoked(place: Place) -> None:
    async with place.connect(await place.ticket()) as client:
        await client.recv()
        revoke_key(place.session.home, "desk")
        with pytest.raises(websockets.ConnectionClosedError, match="1008"):
            await asyncio.wait_for(to_the_end(client), 20)


async def test_signing_out_ends_the_streams_of_that_sign_in_and_of_no_other(place: Place) -> None:
    async with (
        client_at(place.address) as leaving,
        client_at(place.address) as staying,
    ):
        listened = []
        for client in (leaving, staying):
            await client.post("/api/sign-in", json={"key": place.key})
            listened.append((await client.post("/api/tickets")).json()["protocols"])
        async with place.connect(listened[0]) as ending, place.connect(listened[1]) as going_on:
            await leaving.post("/api/sign-out")
            with pytest.raises(websockets.ConnectionClosedError, match="1008"):
                await asyncio.wait_for(to_the_end(ending), 20)
            assert await going_on.recv()
            unused = (await staying.post("/api/tickets?purpose=page")).json()["protocols"]
            assert await place.status(unused) == 401, "a page's ticket opens no stream"


async def test_a_ticket_of_a_key_that_was_revoked_meanwhile_opens_nothing(place: Place) -> None:
    protocols = await place.ticket()
    revoke_key(place.session.home, "desk")
    assert await place.status(protocols) == 401


async def test_a_signed_in_page_gets_tickets_and_no_key_is_anywhere(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with client_at(place.address) as client:
            assert (await client.post("/api/tickets")).status_code == 401
            wrong = await client.post("/api/sign-in", json={"key": "wrong"})
            assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
            signed = await client.post("/api/sign-in", json={"key": place.key})
            assert signed.json() == {"name": "desk", "role": "viewer", "means": "sign-in"}
            said = signed.headers["set-cookie"].lower()
            assert "httponly" in said
            assert "samesite=strict" in said
            cookie = client.cookies[COOKIE]
            ticket = (await client.post("/api/tickets")).json()
            async with place.connect(ticket["protocols"]) as listener:
                assert await listener.recv()
            assert (await client.get("/api/quotes")).status_code == 200
            changed = await client.patch(
                "/api/settings", json={"version": 1}, headers={"Origin": f"http://{place.address}"}
            )
            assert changed.status_code == 403
            assert (await client.post("/api/sign-out")).status_code == 204
            assert (await client.get("/api/quotes", headers={"Cookie": f"{COOKIE}={cookie}"})).status_code == 401
    clients = ("httpc", "httpx", "websockets.client")
    logged = [repr(vars(record)) for record in caplog.records if not record.name.startswith(clients)]
    assert logged
    assert not [line for line in logged for secret in (place.key, ticket["ticket"], cookie) if secret in line]
    assert place.key not in signed.text + wrong.text + said


async def test_the_cookie_alone_changes_nothing_that_a_page_of_ours_did_not_ask_for(place: Place) -> None:
    owner = ensure_api_key(place.session.home).read_text().strip()
    async with client_at(place.address) as client:
        await client.post("/api/sign-in", json={"key": owner})
        change = {"state": "reduce_only"}
        rejected = await client.put("/api/trading-state", json=change)
        foreign = await client.put("/api/trading-state", json=change, headers={"Origin": "http://evil.example"})
        own = await client.put("/api/trading-state", json=change, headers={"Origin": f"http://{place.address}"})
    assert [answer.status_code for answer in (rejected, foreign, own)] == [403, 403, 200]


async def test_a_programs_stream_ends_once_its_key_is_revoked(place: Place) -> None:
    async with (
        asyncio.timeout(20),
        client_at(place.address, {"X-API-Key": place.key}) as client,
        client.stream("GET", "/api/stream") as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == "retry: 1000"
        revoke_key(place.session.home, "desk")
        async for _ in lines:
            pass


async def test_nobody_says_in_a_header_where_it_comes_from(place: Place) -> None:
    async with client_at(place.address) as client:
        forged = {"X-API-Key": "wrong", "X-Forwarded-For": "203.0.113.7"}
        assert (await client.patch("/api/settings", json={}, headers=forged)).status_code == 401
        key = ensure_api_key(place.session.home).read_text().strip()
        entries = (await client.get("/api/audit?outcome=rejected", headers={"X-API-Key": key})).json()["items"]
    assert [entry["address"] for entry in entries] == ["127.0.0.1"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_behind_tls_the_cookie_goes_no_other_way(place: Place, scheme: str) -> None:
    async with client_at(place.address) as client:
        origin = {"Origin": f"{scheme}://{place.address}"}
        answer = await client.post("/api/sign-in", json={"key": place.key}, headers=origin)
    assert ("Secure" in answer.headers["set-cookie"]) is (scheme == "https")
