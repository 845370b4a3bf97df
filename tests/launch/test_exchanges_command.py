"""`arbitrage exchanges`: somebody else's ccxt trades on it with the file's settings, and mistakes get one sentence."""

import asyncio
import json
import os
import signal
import socket
import ssl
import sys
from asyncio import subprocess, timeout
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import ccxt.async_support
import ccxt.pro
import pytest

from exchanges.simulated_markets import paper_markets
from launch.commands.exchanges import detection_seen
from launch.commands.main import run
from launch.setup.data_dir import ready_file
from session.session import Services, Session, SimulatedTerms
from simulators.catalogue import EXCHANGES
from simulators.server import ExchangesOptions, run_exchanges
from tests.clients.serving import free_ports

DEADLINE = 60
UNHURRIED = {"enableRateLimit": False, "timeout_on_exit": 0}
"""Without ccxt's waits between calls and behind each close."""
SYMBOLS = {
    "coinbaseexchange": "BTC/USD",
    "bitstamp": "BTC/EUR",
    "bitflyer": "BTC/JPY",
    "kraken": "BTC/USD",
    "binance": "BTC/USDT",
    "bybit": "BTC/USDT",
    "okx": "BTC/USDT",
    "coinbase": "BTC/USD",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def started(home: Path, *words: str) -> subprocess.Process:
    return await subprocess.create_subprocess_exec(
        *(sys.executable, "-m", "launch.commands.main", "exchanges", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "ARBITRAGE_HOME": str(home)},
    )


@asynccontextmanager
async def exchanges(home: Path, *words: str) -> AsyncIterator[tuple[subprocess.Process, str]]:
    """Return the running command and its one line."""
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
            client = getattr(ccxt.async_support, settings["id"])(settings | UNHURRIED)
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


async def lines_of(process: subprocess.Process, count: int) -> list[str]:
    assert process.stdout is not None
    async with timeout(DEADLINE):
        return [(await process.stdout.readline()).decode() for _ in range(count)]


async def test_each_exchange_has_a_port_of_its_own_beside_the_shared_one(tmp_path: Path) -> None:
    port, file = free_ports(), tmp_path / "exchanges.json"
    words = ("--port", str(port), "--json", str(file), "--port-per-exchange", "--only", "bitflyer", "kraken")
    async with exchanges(tmp_path, *words) as (process, line), aiohttp.ClientSession() as session:
        assert f"http://127.0.0.1:{port}" in line
        reported = json.loads(file.read_text())
        own = {name: port + 1 + EXCHANGES.index(name) for name in ("bitflyer", "kraken")}
        printed = await lines_of(process, 2)
        assert all(
            f"{name}: http://" in text and str(own[name]) in text for name, text in zip(own, printed, strict=True)
        )
        for name, address in (
            ("kraken", reported["kraken"]["urls"]["api"]["public"]),
            ("bitflyer", reported["bitflyer"]["urls"]["api"]["rest"]),
        ):
            assert address in (f"http://{name}.localhost:{own[name]}", f"http://127.0.0.1:{own[name]}")
        for url, status in (
            (f"http://127.0.0.1:{port}/kraken/0/public/Time", 200),
            (f"http://127.0.0.1:{own['kraken']}/0/public/Time", 200),
            (f"http://127.0.0.1:{own['bitflyer']}/v1/gethealth", 200),
            (f"http://127.0.0.1:{own['kraken']}/admin/faults", 404),
            (f"http://127.0.0.1:{own['kraken']}/kraken/0/public/Time", 404),
        ):
            async with session.get(url) as answer:
                assert answer.status == status, url


async def test_a_client_that_trusts_the_ca_trades_over_tls(tmp_path: Path) -> None:
    port, file = free_ports(), tmp_path / "exchanges.json"
    words = ("--port", str(port), "--json", str(file), "--tls", "--port-per-exchange", "--accounts", "2")
    async with exchanges(tmp_path, *words) as (_, line):
        assert f"https://127.0.0.1:{port}" in line
        settings = json.loads(file.read_text())["kraken"]
        assert settings["urls"]["api"]["ws"]["public"].startswith("wss://")
        [other] = settings.pop("other_accounts")
        assert other["apiKey"] != settings["apiKey"]
        key = Path(settings["cafile"]).with_name("server_key.pem")
        assert key.stat().st_mode & 0o777 == 0o600
        for account in (settings, other):
            client = ccxt.pro.kraken(account)
            try:
                assert (await client.fetch_balance())["total"]["BTC"] == 10
                assert (await client.watch_order_book("BTC/USD"))["asks"]
            finally:
                await client.close()
        async with aiohttp.ClientSession() as session:
            for host in ("127.0.0.1", "localhost"):
                with pytest.raises(aiohttp.ClientConnectorCertificateError):
                    await session.get(f"https://{host}:{port}/kraken/0/public/Time")
                trusted = ssl.create_default_context(cafile=settings["cafile"])
                trusted.verify_flags |= ssl.VERIFY_X509_STRICT
                async with session.get(f"https://{host}:{port}/kraken/0/public/Time", ssl=trusted) as answer:
                    assert answer.status == 200


async def test_accounts_come_back_with_a_data_folder_that_had_one(tmp_path: Path) -> None:
    file, keys = tmp_path / "exchanges.json", []
    for count in ("1", "3", "1"):
        words = ("--port", str(free_port()), "--json", str(file), "--only", "kraken", "--accounts", count)
        async with exchanges(tmp_path, *words) as (process, _):
            settings = json.loads(file.read_text())["kraken"]
            assert len(settings.get("other_accounts", [])) == int(count) - 1
            keys.append(settings["apiKey"])
            client = ccxt.async_support.kraken(settings)
            try:
                await client.create_order("BTC/USD", "limit", "buy", 0.01, 1_000)
                assert len(await client.fetch_open_orders("BTC/USD")) == len(keys)
            finally:
                await client.close()
            process.send_signal(signal.SIGINT)
            await process.wait()
    assert len(set(keys)) == 1


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
    session = Session(
        "s", "paper", tmp_path, Services("k:1", "mongodb://m", "d"), markets, "USD", simulated=SimulatedTerms(url=url)
    )
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
        (("--accounts", "0"), "0 is not a number between 1 and 50"),
        (("--port-per-exchange", "--port", "65533"), "leaves too few ports"),
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


def test_the_exchanges_alone_listen_on_loopback_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(["exchanges", "--bind", "0.0.0.0"]) == 2
    assert "--bind goes with --session" in capsys.readouterr().err


async def test_a_sessions_exchanges_listen_where_they_are_told_to(tmp_path: Path) -> None:
    port, is_open = free_port(), asyncio.Event()
    options = ExchangesOptions(port, only=("kraken",), host="127.0.0.2")
    serving = asyncio.create_task(run_exchanges(tmp_path, options, is_open.set))
    try:
        await asyncio.wait((serving, asyncio.create_task(is_open.wait())), return_when=asyncio.FIRST_COMPLETED)
        _, writer = await asyncio.open_connection("127.0.0.2", port)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_dislocations_wait_for_a_detection_that_can_be_seen_here(tmp_path: Path) -> None:
    here, elsewhere = detection_seen(tmp_path, "127.0.0.1"), detection_seen(tmp_path, "0.0.0.0")
    assert (here(), elsewhere()) == (False, True)
    ready_file(tmp_path, "cep").parent.mkdir()
    ready_file(tmp_path, "cep").touch()
    assert (here(), elsewhere()) == (True, True)
