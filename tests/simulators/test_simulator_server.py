"""The server as its own process: killed at any moment, it comes back with balances, orders and fills."""

import json
import os
import signal
import socket
import sys
from asyncio import subprocess, timeout
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from exchanges.accounts.exchange_account import open_account
from exchanges.ccxt.client import make_exchange, simulated_config
from exchanges.errors import ExchangeUnavailableError
from market.money import decimal_of, floor_to_step
from simulators.catalogue import EXCHANGES
from simulators.server import next_due
from tests.exchanges.balancing import balances_after
from tests.exchanges.served import TRADED, order_on


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def server(home: Path, port: int) -> AsyncIterator[subprocess.Process]:
    command = [
        sys.executable,
        "-m",
        "simulators.server",
        "--home",
        str(home),
        "--port",
        str(port),
        "--market",
        "storm",
    ]
    process = await subprocess.create_subprocess_exec(*command, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        async with timeout(60):
            line = await process.stderr.readline()
        assert b"open" in line, line
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_kill_9_loses_nothing(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    market = next(market for market in TRADED if market.exchange == "coinbaseexchange")
    async with server(tmp_path, port) as process:
        account = open_account(simulated_config("coinbaseexchange", url, tmp_path), [market])
        client = make_exchange(simulated_config("coinbaseexchange", url, tmp_path))
        before = await account.balances()
        price = decimal_of((await client.fetch_order_book("BTC/USD"))["asks"][0][0])
        order = order_on(market, "buy", market.minimum_amount * 200, floor_to_step(price * 2, market.tick_size))
        report = await account.place(order)
        resting = await client.create_order("BTC/USD", "limit", "buy", 0.01, float(price) // 2)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        with pytest.raises(ExchangeUnavailableError):
            await account.balances()
    async with server(tmp_path, port) as process:
        assert report.fills
        assert await account.balances() == balances_after(before, report.fills)
        assert await account.look_up(order) == report
        assert [row["id"] for row in await client.fetch_open_orders("BTC/USD")] == [resting["id"]]
        await client.cancel_order(resting["id"], "BTC/USD")
        assert await client.fetch_open_orders("BTC/USD") == []
        await account.close()
        await client.close()
        process.send_signal(signal.SIGTERM)
        async with timeout(5):
            assert await process.wait() == 0


async def test_quotes_flow_until_it_is_asked_to_end(tmp_path: Path) -> None:
    """The benchmark measures how many a second."""
    port = free_port()
    async with server(tmp_path, port) as process:
        client = make_exchange(simulated_config("coinbaseexchange", f"http://127.0.0.1:{port}", tmp_path))
        try:
            mids: set[float] = set()
            async with timeout(30):
                while len(mids) < 20:
                    book = await client.watch_order_book("BTC/USD")
                    assert book["bids"][0][0] < book["asks"][0][0]
                    mids.add((book["bids"][0][0] + book["asks"][0][0]) / 2)
            process.send_signal(signal.SIGTERM)
            async with timeout(5):
                assert await process.wait() == 0
        finally:
            await client.close()


@pytest.mark.parametrize(
    ("now", "expected"),
    [(1_001, 1_010), (1_012, 1_010), (9_000, 8_960), (500, 510)],
    ids=["in time", "a little late", "after a stall", "the clock was set back"],
)
def test_steps_keep_their_pace(now: int, expected: int) -> None:
    assert next_due(due=1_000, now=now, period=10) == expected


async def test_everything_is_on_loopback_and_keys_are_private(tmp_path: Path) -> None:
    port = free_port()
    async with server(tmp_path, port) as process:
        addresses = _listening(process.pid)
        assert addresses == {("0100007F", port)}
        keys = tmp_path / "exchange_accounts.json"
        assert os.stat(keys).st_mode & 0o777 == 0o600
        assert set(json.loads(keys.read_text())) == {*EXCHANGES, "binance.ed25519"}


def _listening(pid: int) -> set[tuple[str, int]]:
    """Return local addresses that the process listens on, as /proc spells them."""
    tables = Path(f"/proc/{pid}/net")
    if not tables.exists():
        pytest.skip("no /proc here")
    inodes = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (tables / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, _, number = fields[1].partition(":")
                found.add((address, int(number, 16)))
    return found
