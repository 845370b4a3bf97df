"""Networks of regions without root's rights: a command that runs again in a user namespace."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from launch.regions.layout import LAYOUT_FILE
from launch.regions.network.user_network import enter_network_of, user_network_fault
from launch.setup.data_dir import RUN_FILE
from streams.broker.embedded_broker import free_ports
from tests.cep.logs import session
from tests.no_rights import WITHOUT_RIGHTS


@pytest.fixture(scope="module", autouse=True)
def _user_namespaces() -> None:
    fault = user_network_fault()
    if fault is not None:
        pytest.skip(f"no user namespaces here: {fault}")


COMMAND = """
import asyncio, json, os, sys
from pathlib import Path
from launch.regions.network.namespaces import region_networks
from launch.regions.network.user_network import forwarded, run_in_own_network

home, page, inside = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
listeners = run_in_own_network((page,))

async def answer(reader, writer):
    writer.write(await reader.readline() + b"from inside")
    writer.close()

async def serve():
    async with await asyncio.start_server(answer, "127.0.0.1", inside), forwarded(listeners, [("127.0.0.1", inside)]):
        names = [place.name for place in layout.places]
        print(json.dumps(names), os.environ.get("ARBITRAGE_PAGE_DESCRIPTORS"), flush=True)
        await asyncio.to_thread(sys.stdin.readline)

with region_networks(home, ("us", "eu"), 1) as layout:
    asyncio.run(serve())
"""
"""A page of a region, as the command serves it: only the listener reaches it from outside."""

ENTERING = """
import os, sys
from pathlib import Path
from launch.regions.network.user_network import enter_network_of

enter_network_of(Path(sys.argv[1]))
print(os.readlink("/proc/self/ns/user"), os.readlink("/proc/self/ns/net"))
"""


@contextmanager
def networks(home: Path, page: int, inside: int) -> Iterator[subprocess.Popen[str]]:
    """Yield a command that has made the networks and serves."""
    words = [*WITHOUT_RIGHTS, sys.executable, "-c", COMMAND, str(home), str(page), str(inside)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as command:
        try:
            assert command.stdout is not None
            assert command.stdout.readline() == f"{json.dumps(['observer', 'us', 'eu'])} None\n"
            yield command
        finally:
            command.kill()


def entered(home: Path) -> str:
    words = [*WITHOUT_RIGHTS, sys.executable, "-c", ENTERING, str(home)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def spaces_of(process: str | int) -> str:
    return " ".join(os.readlink(f"/proc/{process}/ns/{one}") for one in ("user", "net"))


def test_commands_enter_the_network_of_the_session(tmp_path: Path) -> None:
    page, inside = free_ports(2)
    made = session(tmp_path)
    (tmp_path / RUN_FILE).write_bytes(replace(made, place=replace(made.place, carrier_home=tmp_path)).to_json())
    with networks(tmp_path, page, inside) as command:
        assert spaces_of(command.pid) != spaces_of("self")
        assert entered(tmp_path) == spaces_of(command.pid)
        layout = (tmp_path / LAYOUT_FILE).read_text()
        # as after a kill, if another process has got the number since
        held = f"/proc/{command.pid}/fd/0"
        (tmp_path / LAYOUT_FILE).write_text(json.dumps(pointing_to(json.loads(layout), held)))
        assert entered(tmp_path) == spaces_of("self")
    (tmp_path / LAYOUT_FILE).write_text(layout)
    assert entered(tmp_path) == spaces_of("self")


def pointing_to(layout: dict[str, list[dict[str, object]]], held: str) -> dict[str, list[dict[str, object]]]:
    places = [one if one["namespace"] is None else {**one, "namespace": held} for one in layout["places"]]
    return {**layout, "places": places}


def test_networks_are_made_and_pages_reached_without_root(tmp_path: Path) -> None:
    page, inside = free_ports(2)
    with networks(tmp_path, page, inside) as command:
        assert command.stdin is not None
        with socket.create_connection(("127.0.0.1", page)) as connection:
            connection.sendall(b"hello\n")
            assert connection.makefile("rb").read() == b"hello\nfrom inside"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", inside))
        command.stdin.write("\n")
        command.stdin.close()
        assert command.wait(timeout=60) == 0


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = [*WITHOUT_RIGHTS, sys.executable, "-c", COMMAND, str(tmp_path), str(port), "1"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert f"port {port} on 127.0.0.1 cannot be used" in done.stderr


def test_where_no_session_runs_commands_stay_where_they_are(tmp_path: Path) -> None:
    enter_network_of(tmp_path)
