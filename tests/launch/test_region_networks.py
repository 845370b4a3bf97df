"""Regions on this machine, for real: namespaces, a carrier as a process, sockets on both sides of its links."""

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from launch.commands.main import run
from launch.errors import CannotStartError, LaunchError
from launch.regions.layout import RegionLayout, RegionPlace, read_layout, write_layout
from launch.regions.network.carrier import run_carrier
from launch.regions.network.control_socket import command_carrier
from launch.regions.network.link_commands import parsed_change
from launch.regions.network.links import OBSERVER, LinkRule
from launch.regions.network.namespaces import (
    IMPATIENT,
    SETTINGS,
    carrier_process,
    command_prefix,
    observer_device,
    region_networks,
    regions_fault,
    routed_networks,
)
from launch.regions.network.tun_device import enter_namespace, in_own_thread
from launch.setup.data_dir import ready_file
from launch.supervisor.process_groups import spawn
from runtime.carrier_socket import SOCKET
from runtime.clock import steady_now, wall_now
from runtime.link_states import CarrierState

FAULT = regions_fault()
needs_namespaces = pytest.mark.skipif(FAULT is not None, reason=f"regions cannot run here: {FAULT}")
REGIONS = ("us", "eu")
ROUND_TRIP_MS = 40
PORT = 7_000
SECONDS = 30
IP_TRANSPARENT = 19  # linux/in.h: a socket that may use addresses which are not its own

ANOTHER_SESSION = """
import sys
from pathlib import Path
from launch.regions.network.namespaces import carrier_process, region_networks
from launch.supervisor.process_groups import spawn

home = Path(sys.argv[1])
with region_networks(home, ("us", "eu"), 1):
    print(spawn(carrier_process(home), home / "log").pid, flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True)
class Regions:
    home: Path
    layout: RegionLayout

    def address(self, name: str) -> tuple[str, int]:
        return self.layout.place(name).address, PORT

    def inside(self, name: str, made: Callable[[], socket.socket]) -> socket.socket:
        """Make the socket in a thread of its own: it belongs to the namespace of that thread, for good."""
        namespace = self.layout.place(name).namespace

        def work() -> socket.socket:
            if namespace is not None:
                enter_namespace(namespace)
            return made()

        found = in_own_thread(work)
        found.settimeout(SECONDS)
        return found

    def udp(self, name: str, address: str | None = None) -> socket.socket:
        """Return a UDP socket; `address`: in place of the region's own, under which it would get no answer."""
        made = self.inside(name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        made.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        made.bind((address or self.address(name)[0], PORT))
        return made

    def until(self, holds: Callable[[CarrierState], bool]) -> CarrierState:
        deadline = wall_now() + SECONDS * 1_000_000
        while not holds(state := command_carrier(self.home, "state")):
            assert wall_now() < deadline, state
        return state


@contextmanager
def carried(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    ready_file(home, "carrier").unlink(missing_ok=True)
    child = spawn(carrier_process(home), home / "log")
    try:
        deadline = wall_now() + SECONDS * 1_000_000
        while not ready_file(home, "carrier").exists():
            assert wall_now() < deadline, (home / "log").read_text()
            assert child.poll() is None, (home / "log").read_text()
        yield child
    finally:
        child.kill()
        child.wait()


@contextmanager
def running(home: Path) -> Iterator[Regions]:
    with region_networks(home, REGIONS, 1, {frozenset(REGIONS): ROUND_TRIP_MS}) as layout, carried(home):
        yield Regions(home, layout)


@pytest.fixture(scope="module")
def shared_regions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regions]:
    """Return regions for tests that send only datagrams: a connection would go on sending after its end."""
    with running(tmp_path_factory.mktemp("regions")) as regions:
        yield regions


@pytest.fixture
def regions(shared_regions: Regions) -> Regions:
    command_carrier(shared_regions.home, "heal")
    return shared_regions


@contextmanager
def connection(regions: Regions, patience_ms: int = 1_000 * SECONDS) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a connection from us to eu. What the first sends is sent again for so long; 0: as the
    region's network has it."""
    with (
        regions.inside("eu", lambda: socket.create_server(regions.address("eu"))) as server,
        regions.inside("us", lambda: socket.create_connection(regions.address("eu"), SECONDS)) as client,
    ):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience_ms)
        accepted = server.accept()[0]
        accepted.settimeout(SECONDS)
        with accepted:
            yield client, accepted


def has_nothing(end: socket.socket) -> bool:
    end.setblocking(False)
    try:
        end.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        end.settimeout(SECONDS)
    return False


@needs_namespaces
def test_a_round_trip_takes_as_long_as_said_and_a_cut_stops_it_until_it_is_healed(tmp_path: Path) -> None:
    with running(tmp_path) as regions, connection(regions) as (client, server):
        begun = steady_now()
        client.sendall(b"ping")
        assert server.recv(4) == b"ping"
        server.sendall(b"pong")
        assert client.recv(4) == b"pong"
        assert steady_now() - begun >= ROUND_TRIP_MS * 1_000
        before = command_carrier(regions.home, "cut us eu")
        assert before.link("us", "eu").is_cut
        assert before.link("eu", "us").is_cut
        client.sendall(b"late")
        dropped = before.link("us", "eu").dropped
        regions.until(lambda state: state.link("us", "eu").dropped > dropped)
        assert has_nothing(server)
        command_carrier(regions.home, "heal")
        assert server.recv(4) == b"late"


def skip_where_settings_are_fixed(regions: Regions) -> None:
    """Skip the test if the settings are fixed, as in some containers."""
    namespace = regions.layout.place("eu").namespace
    assert namespace is not None

    def change() -> None:
        enter_namespace(namespace)
        for name in IMPATIENT:
            (SETTINGS / name).write_text("5")

    try:
        in_own_thread(change)
    except OSError as error:
        pytest.skip(f"the settings of a network cannot be changed here ({error.strerror})")


@needs_namespaces
@pytest.mark.slow
def test_a_connection_over_a_cut_link_is_given_up(tmp_path: Path) -> None:
    """The kernel gives it up, without the quarter of an hour that it waits elsewhere."""
    with running(tmp_path) as regions, connection(regions, patience_ms=0) as (client, _):
        skip_where_settings_are_fixed(regions)
        command_carrier(regions.home, "cut us eu")
        client.sendall(b"lost")
        with pytest.raises(TimeoutError) as given_up:
            client.recv(1)
        # one of Python's own, after SECONDS, has no number
        assert given_up.value.errno == errno.ETIMEDOUT


@needs_namespaces
def test_a_cut_of_one_way_leaves_the_other(regions: Regions) -> None:
    with regions.udp("us") as american, regions.udp("eu") as european:
        before = command_carrier(regions.home, "cut us>eu")
        american.sendto(b"lost", regions.address("eu"))
        regions.until(lambda state: state.link("us", "eu").dropped == before.link("us", "eu").dropped + 1)
        european.sendto(b"carried", regions.address("us"))
        assert american.recv(100) == b"carried"
        command_carrier(regions.home, "heal us to eu")
        american.sendto(b"after", regions.address("eu"))
        assert european.recv(100) == b"after"
        assert command_carrier(regions.home, "state").link("eu", "us").dropped == before.link("eu", "us").dropped


@needs_namespaces
def test_a_cut_loses_what_is_under_way(regions: Regions) -> None:
    with regions.udp("us") as american, regions.udp("eu") as european:
        before = command_carrier(regions.home, "delay us eu 60000").link("us", "eu")
        american.sendto(b"lost", regions.address("eu"))
        regions.until(lambda state: state.link("us", "eu").under_way == 1)
        link = command_carrier(regions.home, "cut eu").link("us", "eu")
        assert (link.under_way, link.dropped, link.delay_ms) == (0, before.dropped + 1, 30_000)
        assert command_carrier(regions.home, "heal").link("us", "eu").delay_ms == ROUND_TRIP_MS / 2
        american.sendto(b"after", regions.address("eu"))
        assert european.recv(100) == b"after"


@needs_namespaces
def test_packets_under_another_address_are_not_carried(regions: Regions) -> None:
    number = regions.address("us")[0].rpartition(".")[0]
    with regions.udp("us") as american, regions.udp("eu") as european, regions.udp("us", f"{number}.99") as strange:
        strange.sendto(b"strange", regions.address("eu"))
        american.sendto(b"own", regions.address("eu"))
        assert european.recv(100) == b"own"
        assert has_nothing(european)


@needs_namespaces
def test_the_observer_reaches_a_region_that_is_cut_off(regions: Regions) -> None:
    command_carrier(regions.home, "cut eu")
    with regions.udp("eu") as european, regions.udp(OBSERVER) as outside:
        outside.sendto(b"are you there", regions.address("eu"))
        assert european.recv(100) == b"are you there"
        european.sendto(b"yes", regions.address(OBSERVER))
        assert outside.recv(100) == b"yes"


@needs_namespaces
def test_a_connection_and_a_cut_survive_the_carrier(tmp_path: Path) -> None:
    with region_networks(tmp_path, REGIONS, 1) as layout:
        regions = Regions(tmp_path, layout)
        with carried(tmp_path) as carrier, connection(regions) as (client, server):
            command_carrier(tmp_path, "cut us>eu")
            carrier.kill()
            carrier.wait()
            with carried(tmp_path):
                state = command_carrier(tmp_path, "state")
                assert (state.link("us", "eu").is_cut, state.link("eu", "us").is_cut) == (True, False)
                client.sendall(b"ping")
                regions.until(lambda state: state.link("us", "eu").dropped > 0)
                command_carrier(tmp_path, "heal")
                assert server.recv(4) == b"ping"


@needs_namespaces
def test_a_command_runs_in_a_region_as_the_same_process_with_its_environment(regions: Regions) -> None:
    script = "import os, socket; print(os.getpid(), os.environ['KEPT'], [name for _, name in socket.if_nameindex()])"
    command = (*command_prefix(regions.layout.place("us")), sys.executable, "-c", script)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "KEPT": "yes"}) as child:
        said = child.communicate()[0]
    assert said.split(maxsplit=2) == [str(child.pid), "yes", "['lo', 'wan0']\n"]
    assert command_prefix(regions.layout.place(OBSERVER)) == ()


@needs_namespaces
def test_nothing_is_left_of_a_session_that_is_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        (sys.executable, "-c", ANOTHER_SESSION, str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=root,
    ) as maker:
        assert maker.stdout is not None
        carrier = psutil.Process(int(maker.stdout.readline()))
        deadline = wall_now() + SECONDS * 1_000_000
        while not ready_file(tmp_path, "carrier").exists():
            assert wall_now() < deadline
        layout = read_layout(tmp_path)
        device = observer_device(layout)
        assert device in [name for _, name in socket.if_nameindex()]
        maker.send_signal(signal.SIGKILL)
    psutil.wait_procs([carrier], SECONDS)
    assert not carrier.is_running()
    deadline = wall_now() + SECONDS * 1_000_000
    while device in [name for _, name in socket.if_nameindex()]:
        assert wall_now() < deadline
    with pytest.raises(LaunchError, match="the carrier of the regions is not there"):
        command_carrier(tmp_path, "state")
    with pytest.raises(CannotStartError, match="restart the session with regions"):
        run_carrier(tmp_path, lambda: None)


@needs_namespaces
def test_two_sessions_do_not_meet(regions: Regions, tmp_path: Path) -> None:
    other_home = tmp_path / "other"
    with region_networks(other_home, REGIONS, 1) as layout, carried(other_home):
        assert layout.subnet != regions.layout.subnet
        command_carrier(other_home, "cut us eu")
        assert not command_carrier(regions.home, "state").link("us", "eu").is_cut
    assert not (other_home / "regions.json").exists()


@needs_namespaces
def test_the_command_line(
    regions: Regions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(regions.home))
    assert run(["region", "loss", "us", "to", "eu", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert f"us: {regions.layout.place('us').address}" in said
    link = command_carrier(regions.home, "state").link("us", "eu")
    assert f"us>eu: 20 ms, 2 % lost; {link.carried} carried, {link.dropped} dropped, 0 under way" in said
    assert any(line.startswith("eu>us: 20 ms; ") for line in said)
    assert run(["region", "--json", "state"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert {(link["source"], link["loss_percent"]) for link in links if link["target"] == "eu"} == {
        ("us", 2.0),
        (OBSERVER, 0.0),
    }
    assert run(["region", "cut", "jp"]) == 2
    assert "region 'cut jp': column 5: there is no region 'jp'" in capsys.readouterr().err
    assert stat.S_IMODE((regions.home / SOCKET).stat().st_mode) == 0o600


def test_without_regions_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(["region", "cut", "jp"]) == 2
    said = capsys.readouterr().err
    assert said == f"arbitrage: {tmp_path}: no session with regions runs here, so there is nothing to change.\n"
    with pytest.raises(CannotStartError, match="no session with regions runs here; start one first"):
        run_carrier(tmp_path, lambda: None)


@pytest.mark.parametrize("content", [b"{", b"{}", b'{"places": [{"name": 1}]}', b"[]"])
def test_a_damaged_description_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "regions.json").write_bytes(content)
    with pytest.raises(CannotStartError, match=r"regions\.json is damaged .*; restart the session with regions\."):
        read_layout(tmp_path)


def test_the_description_is_read_as_it_was_written(tmp_path: Path) -> None:
    places = (RegionPlace(OBSERVER, "198.18.0.1", None), RegionPlace("us", "198.18.0.11", "/proc/1/fd/3"))
    layout = RegionLayout(0, 7, places, {"eu us": 80}, {"us>eu": LinkRule(1, 0.5, is_cut=True)})
    write_layout(tmp_path, layout)
    assert read_layout(tmp_path) == layout


def test_what_commands_changed_is_kept_and_healing_goes_back_to_the_start() -> None:
    places = tuple(RegionPlace(name, f"198.18.0.{number}", None) for number, name in enumerate(REGIONS, 11))
    layout = RegionLayout(0, 7, places, {"eu us": 80})
    cut = layout.links().changed(parsed_change("cut us>eu", REGIONS))
    kept = layout.with_links(cut)
    assert kept.rules == {"us>eu": LinkRule(40_000, is_cut=True)}
    assert kept.links() == cut
    healed = kept.links().changed(parsed_change("heal", REGIONS))
    assert kept.with_links(healed) == layout


def test_the_table_of_routes_gives_the_networks_but_the_default_one() -> None:
    table = (
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    if sys.byteorder == "big":
        table = table.replace("000200C0", "C0000200").replace("00FFFFFF", "FFFFFF00")
    assert [str(network) for network in routed_networks(table)] == ["192.0.2.0/24"]
