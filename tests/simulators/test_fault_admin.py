"""The admin routes: a token opens them, faults go on and off, and mistakes get one sentence."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from simulators.catalogue import EXCHANGES
from simulators.faults.fault_kinds import FAULT_KINDS
from simulators.faults.requests import fault_description
from simulators.web.fault_admin import ensure_token, token_path
from tests.exchanges.served import Served, served
from tests.exchanges.stepped_clock import SteppedClock

BAN: dict[str, Any] = {"exchange": "kraken", "kind": "ban", "seconds": 5}


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, clock=SteppedClock()) as running:
        yield running


async def asked(
    outside: Served, method: str, *, query: str = "", token: str | None = None, **body: Any
) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {outside.token if token is None else token}"}
    url = f"{outside.url}/admin/faults{query}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, headers=headers, **body) as response,
    ):
        return response.status, await response.json()


async def test_faults_go_on_are_listed_strike_and_go_off(outside: Served) -> None:
    status, row = await asked(outside, "POST", json=BAN)
    assert (status, row) == (201, {**BAN, "number": 1, "probability": 1.0, "seconds_left": 5.0, "struck": 0})
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{outside.url}/kraken/0/public/Depth?pair=XBTUSD") as rejected,
    ):
        assert "EGeneral:Temporary lockout" in await rejected.text()
    status, listed = await asked(outside, "GET")
    assert (status, [row["struck"] for row in listed["faults"]]) == (200, [1])
    assert listed["strikes"] == {"kraken": {"ban": 1}}
    assert set(listed["kinds"]) == set(FAULT_KINDS)
    assert await asked(outside, "DELETE", query="?exchange=binance") == (200, {"faults": listed["faults"]})
    assert await asked(outside, "DELETE") == (200, {"faults": []})
    assert (await asked(outside, "GET"))[1]["faults"] == []


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("token", ["", "wrong", "größer"])
async def test_nobody_comes_in_without_the_token(outside: Served, method: str, token: str) -> None:
    status, answer = await asked(outside, method, token=token, json=BAN)
    assert status == 401
    assert "Authorization: Bearer" in answer["error"]
    assert outside.faults.active() == []


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"data": b"{"}, "not JSON"),
        ({"data": b"\xff\xfe"}, "not JSON"),
        ({}, "not JSON"),
        ({"json": [BAN]}, "A fault is a JSON object"),
        ({"json": {**BAN, "kind": "flood"}}, "There is no fault 'flood'"),
        ({"json": {**BAN, "exchange": "mtgox"}}, "There is no exchange 'mtgox'"),
        ({"json": {**BAN, "seconds": 1e99}}, "seconds must be between"),
    ],
)
async def test_a_mistake_gets_one_sentence(outside: Served, body: dict[str, Any], sentence: str) -> None:
    status, answer = await asked(outside, "POST", **body)
    assert status == 400
    assert sentence in answer["error"]
    assert list(answer) == ["error"]
    assert outside.faults.active() == []


@pytest.mark.parametrize(("query", "sentence"), [("?exchange=x", "no exchange 'x'"), ("?kind=x", "no fault 'x'")])
async def test_a_mistake_in_clearing_gets_one_sentence(outside: Served, query: str, sentence: str) -> None:
    status, answer = await asked(outside, "DELETE", query=query)
    assert (status, sentence in answer["error"]) == (400, True)


def test_the_token_is_private_and_stays(tmp_path: Path) -> None:
    token = ensure_token(tmp_path / "home")
    assert ensure_token(tmp_path / "home") == token
    assert os.stat(token_path(tmp_path / "home")).st_mode & 0o777 == 0o600
    assert len(token) >= 32


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_is_said_for_every_exchange(kind: Any, exchange: str) -> None:
    assert fault_description(kind, exchange)
