"""`arbitrage exchanges`: somebody else's ccxt trades on it with what the file says, and mistakes get one sentence."""

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio import subprocess, timeout
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import ccxt.async_support
import pytest

from exchanges.simulated_markets import paper_markets
from launch.setup.data_dir import ready_file
from session.session import Session
from simulators.simulator_server import EXCHANGES

DEADLINE = 60
SYMBOLS = {
    "coinbaseexchange": "BTC/USD",
    "bitstamp": "BTC/EUR",
    "bitflyer": "BTC/JPY",
    "kraken": "BTC/USD",
    "binance": "BTC/USDT",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def started(home: Path, *words: str) -> subprocess.Process:
    return await subprocess.create_subprocess_exec(
        *(sys.executable, "-m", "launch.cli.main", "exchanges", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "ARBITRAGE_HOME": str(home)},
    )


@asynccontextmanager
async def exchanges(home: Path, *words: str) -> AsyncIterator[tuple[subprocess.Process, str]]:
    """The running command and its one line."""
    process = await started(home, *words)
    try:
        assert process.stdout is not None
        async with timeout(DEADLINE):
            line = await process.stdout.readline()
        yield process, line.decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def failed(home: Path, *words: str) -> tuple[int | None, str]:
    process = await started(home, *words)
    async with timeout(DEADLINE):
        out, err = await process.communicate()
    assert out == b""
    return process.returncode, err.decode()


async def test_anybodys_ccxt_trades_with_what_the_file_says(tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "exchanges.json"
    async with exchanges(tmp_path, "--port", str(port), "--json", str(file)) as (process, line):
        assert f"http://127.0.0.1:{port}" in line
        assert os.stat(file).st_mode & 0o777 == 0o600
        reported = json.loads(file.read_text())
        assert tuple(reported) == EXCHANGES
        for name, settings in reported.items():
            client = getattr(ccxt.async_support, settings["id"])(settings)
            try:
                await client.load_markets()
                before = await client.fetch_balance()
                symbol, ask = SYMBOLS[name], (await client.fetch_order_book(SYMBOLS[name]))["asks"][0][0]
                await client.create_order(symbol, "limit", "buy", 0.01, int(ask * 1.05))
                after = await client.fetch_balance()
                assert after["total"]["BTC"] > before["total"]["BTC"], name
            finally:
                await client.close()
        process.send_signal(signal.SIGINT)
        async with timeout(10):
            out, err = await process.communicate()
        assert (process.returncode, out, err) == (0, b"", b"")


async def test_only_those_that_are_named_with_their_faults(tmp_path: Path) -> None:
    port, plan = free_port(), tmp_path / "faults.json"
    plan.write_text(json.dumps([{"at": 0, "exchange": "kraken", "kind": "http_5xx", "seconds": 600, "status": 502}]))
    words = ("--port", str(port), "--only", "kraken", "binance", "--faults", str(plan))
    url = f"http://127.0.0.1:{port}"
    async with exchanges(tmp_path, *words) as (_, line), aiohttp.ClientSession() as session:
        assert "kraken, binance" in line
        token = (tmp_path / "exchange_admin_token").read_text()
        statuses = []
        for path in ("/bitstamp/api/v2/ticker/btceur/", "/binance/api/v3/time"):
            async with session.get(url + path) as answer:
                statuses.append(answer.status)
        assert statuses == [404, 200]
        async with timeout(DEADLINE):
            while True:
                async with session.get(f"{url}/kraken/0/public/Time") as answer:
                    if answer.status == 502:
                        break
        async with session.get(f"{url}/admin/faults", headers={"Authorization": f"Bearer {token}"}) as answer:
            [fault] = (await answer.json())["faults"]
            assert (fault["exchange"], fault["kind"]) == ("kraken", "http_5xx")


async def test_a_session_has_its_own_exchanges_and_no_others(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    markets = tuple(market for market in paper_markets() if market.exchange in ("kraken", "bitstamp"))
    session = Session("s", "paper", tmp_path, "k:1", "mongodb://m", "d", markets, "USD", exchanges_url=url)
    (tmp_path / "run.json").write_bytes(session.to_json())
    process = await started(tmp_path, "--session")
    try:
        async with timeout(DEADLINE):
            while not ready_file(tmp_path, "exchanges").exists():
                await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=0.05)
                assert process.returncode is None
        async with aiohttp.ClientSession() as client:
            for name, status in (("kraken/0/public/Time", 200), ("binance/api/v3/time", 404)):
                async with client.get(f"{url}/{name}") as answer:
                    assert answer.status == status, name
        assert {path.stem for path in (tmp_path / "exchanges").iterdir()} == {"kraken", "bitstamp"}
        process.send_signal(signal.SIGTERM)
        async with timeout(10):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--only", "mtgox"), "'mtgox' is not simulated; known are"),
        (("--faults", "1:much"), "is not a number of faults a minute"),
        (("--faults", "no/such/file.json"), "cannot be read"),
        (("--json", "no/such/folder/file.json"), "is not a writable folder"),
        (("--session",), "no session runs"),
    ],
)
async def test_a_mistake_gets_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    code, said = await failed(tmp_path, "--port", str(free_port()), *words)
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1


async def test_a_taken_port_gets_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = await failed(tmp_path, "--port", str(port))
    assert code == 2
    assert f"port {port} on 127.0.0.1 cannot be used" in said
    assert said.count("\n") == 1


async def test_two_at_once_would_spoil_each_others_accounts(tmp_path: Path) -> None:
    async with exchanges(tmp_path, "--port", str(free_port())):
        code, said = await failed(tmp_path, "--port", str(free_port()))
    assert code == 2
    assert "is already running" in said
