"""Where reading needs a key, a stranger sees nothing of Streamlit: no page, no socket; and a sign-in's end counts."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from tests.ui.clients import client_at
from ui.auth.sign_ins import COOKIE

ROOT = Path(__file__).parents[2]
HTML = {"Accept": "text/html"}


@pytest.fixture
def address(tmp_path: Path, mongodb_uri: str) -> Iterator[str]:
    """Streamlit allows but one of itself in a process, so it gets its own."""
    command = (sys.executable, "-m", "tests.ui.keyed_pages", str(tmp_path), mongodb_uri, f"test_{uuid4().hex}")
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            command, cwd=ROOT, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdout is not None
        said = process.stdout.readline().decode().strip()
        assert said, (tmp_path / "log").read_text()
        yield said
        process.communicate(timeout=20)


async def pages_socket(address: str, cookie: str = "") -> websockets.ClientConnection:
    """Streamlit's own."""
    return await websockets.connect(
        f"ws://{address}/_stcore/stream",
        origin=f"http://{address}",  # type: ignore[arg-type]  # a plain str
        subprotocols=["streamlit"],  # type: ignore[list-item]  # a plain str
        additional_headers={"Cookie": f"{COOKIE}={cookie}"} if cookie else {},
        max_size=None,
    )


async def shown(socket: websockets.ClientConnection) -> None:
    """As a click does: the script runs and something comes of it."""
    await socket.send(BackMsg(rerun_script=ClientState()).SerializeToString())
    assert await asyncio.wait_for(socket.recv(), 20)


async def until_closed(socket: websockets.ClientConnection) -> None:
    with suppress(websockets.ConnectionClosedError):
        async for _ in socket:
            pass


async def test_a_stranger_sees_nothing_and_a_sign_in_ends_with_its_key(address: str, tmp_path: Path) -> None:
    key = (tmp_path / "api_key").read_text().strip()
    async with client_at(address) as client:
        for path in ("/", "/bots", "/_stcore/anything"):
            away = await client.get(path, headers=HTML)
            assert (away.status_code, away.headers["location"]) == (303, f"/sign-in?next={path}")
        for path in ("/_stcore/host-config", "/_stcore/health", "/static/js/index.js", "/docs", "/openapi.json"):
            assert (await client.get(path)).status_code == 401
        with pytest.raises(websockets.InvalidStatus) as rejected:
            await pages_socket(address)
        assert rejected.value.response.status_code == 403

        form = await client.get("/sign-in")
        assert (form.status_code, "Sign in" in form.text) == (200, True)
        assert "script-src 'self'" in form.headers["content-security-policy"]
        assert (await client.post("/api/sign-in", json={"key": key})).status_code == 200
        cookie = client.cookies[COOKIE]
        page = await client.get("/", headers=HTML)
        assert "Streamlit" in page.text
    async with await pages_socket(address, cookie) as socket:
        await shown(socket)
        (tmp_path / "api_key").write_text("another\n")
        await socket.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        await asyncio.wait_for(until_closed(socket), 20)
    with pytest.raises(websockets.InvalidStatus):
        await pages_socket(address, cookie)
    said = (tmp_path / "log").read_text() + page.text + form.text
    assert not [secret for secret in (key, cookie) if secret in said]
