"""Makes the namespaces of a session's regions and keeps them for as long as this process lives.

They have no name in the file system: descriptors of this process and the processes inside keep them, so nothing is left
of a session that was killed, and two sessions never meet. The devices in them stay while the carrier is restarted.
"""

import errno
import ipaddress
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from launch.errors import CannotStartError
from launch.regions.layout import (
    LAYOUT_FILE,
    SUBNETS,
    RegionLayout,
    RegionPlace,
    subnet_address,
    write_layout,
)
from launch.regions.network.links import OBSERVER, ROUND_TRIPS_MS, links_of
from launch.regions.network.tun_device import (
    enter_new_namespace,
    hold_device,
    in_own_thread,
    keep_device,
    open_tun,
    set_up,
    switch_on,
)
from launch.supervisor.process_groups import ProcessSpec

DEVICE = "wan0"
"""Name of a region's device; the observer's is named after the subnet, because other sessions have one in the same
namespace."""
ROUTES = Path("/proc/net/route")
OBSERVER_NUMBER = 1
FIRST_REGION_NUMBER = 11
SETTINGS = Path("/proc/sys/net/ipv4")
"""Settings of the namespace of the process that opens it (kernel.org, "IP Sysctl")."""
IMPATIENT = {
    # a connection whose other end says nothing is given up after 3 s and the retransmission that is due then; Linux's
    # default of 15 is a quarter of an hour
    "tcp_retries2": "3",
    # one that nobody answers, after 3 s; the default of 6 is two minutes
    "tcp_syn_retries": "1",
}


@contextmanager
def region_networks(
    home: Path, regions: Sequence[str], seed: int, round_trips_ms: Mapping[frozenset[str], int] = ROUND_TRIPS_MS
) -> Iterator[RegionLayout]:
    """Return a namespace per region with its device, described in the data folder for the carrier; all gone at the end.
    Raises CannotStartError if this machine cannot, ValueError for names that regions may not have."""
    links_of(regions)
    fault = regions_fault()
    if fault is not None:
        raise CannotStartError(f"regions with real delays cannot run here: {fault}")
    with ExitStack() as stack:
        subnet = stack.enter_context(_claimed_subnet())
        places = [RegionPlace(OBSERVER, subnet_address(subnet, OBSERVER_NUMBER), None)]
        for number, name in enumerate(regions, FIRST_REGION_NUMBER):
            places.append(stack.enter_context(_region_place(name, subnet_address(subnet, number))))
        trips = {" ".join(sorted(pair)): trip for pair, trip in round_trips_ms.items() if pair <= set(regions)}
        layout = RegionLayout(subnet, seed, tuple(places), trips)
        stack.enter_context(_observers_device(layout))
        write_layout(home, layout)
        stack.callback((home / LAYOUT_FILE).unlink, missing_ok=True)
        yield layout


@contextmanager
def _observers_device(layout: RegionLayout) -> Iterator[None]:
    """Return the device in this machine's own namespace: it goes with this process, and stays while the carrier is
    restarted. Without it, what is sent to a region would leave this machine by its default route."""
    name = observer_device(layout)
    with ExitStack() as stack:
        try:
            device = open_tun(name, is_shared=True)
            stack.callback(os.close, device)
            hold_device(device)
            set_up(name, layout.place(OBSERVER).address)
        except OSError as error:
            raise CannotStartError(f"{name}: the network cannot be made ({error.strerror}); try again.") from error
        yield


def observer_device(layout: RegionLayout) -> str:
    return f"arbwan{layout.subnet}"


def command_prefix(place: RegionPlace) -> tuple[str, ...]:
    """Return the words before a command that run it in that place, as the same process, with the same user and
    environment."""
    return () if place.namespace is None else ("nsenter", f"--net={place.namespace}", "--")


def carrier_process(home: Path) -> ProcessSpec:
    command = (sys.executable, "-m", "launch.commands.main", "carrier")
    return ProcessSpec("carrier", command, environment={"ARBITRAGE_HOME": str(home)})


def regions_fault() -> str | None:
    """Return why this machine cannot have regions with real delays, and what to do; None if it can. It tries, because
    rights of containers are not seen otherwise."""
    if sys.platform != "linux":
        return "only Linux has network namespaces; use it."
    if shutil.which("nsenter") is None:
        return "nsenter is missing; install util-linux."
    return in_own_thread(_tried)


@contextmanager
def _region_place(name: str, address: str) -> Iterator[RegionPlace]:
    try:
        namespace = in_own_thread(lambda: _new_namespace(address))
    except OSError as error:
        raise CannotStartError(f"region {name}: its network cannot be made ({error.strerror}); try again.") from error
    try:
        yield RegionPlace(name, address, f"/proc/{os.getpid()}/fd/{namespace}")
    finally:
        os.close(namespace)


def _new_namespace(address: str) -> int:
    """Return a descriptor of a new namespace in which the device waits for the carrier."""
    namespace = enter_new_namespace()
    try:
        switch_on("lo")
        _make_impatient()
        device = open_tun(DEVICE)
        try:
            keep_device(device)
            set_up(DEVICE, address)
        finally:
            os.close(device)
    except OSError:
        os.close(namespace)
        raise
    return namespace


def _make_impatient() -> None:
    """Shorten the timeouts of this thread's namespace.

    Otherwise a member of MongoDB waits for a lost one: 20 s for the answer whether it can copy from it, and 30 s for
    the one to its progress report. Meanwhile a new primary's writes are committed late, or not at all.
    """
    # if the system's settings are read-only, as in some containers, another region decides some seconds later
    with suppress(OSError):
        for name, value in IMPATIENT.items():
            (SETTINGS / name).write_text(value)


def _tried() -> str | None:
    try:
        os.close(enter_new_namespace())
    except PermissionError:
        return "network namespaces need root; run as root (in a container: CAP_SYS_ADMIN and CAP_NET_ADMIN)."
    except OSError as error:
        return f"the kernel makes no network namespace ({error.strerror}); use one that does."
    try:
        os.close(open_tun(DEVICE))
    except PermissionError:
        return (
            "/dev/net/tun may not be used; run as root, or `chmod 666 /dev/net/tun` (in a container: CAP_NET_ADMIN and "
            "--device /dev/net/tun)."
        )
    except OSError as error:
        return f"/dev/net/tun cannot be opened ({error.strerror}); `modprobe tun`, or --device /dev/net/tun."
    return None


@contextmanager
def _claimed_subnet() -> Iterator[int]:
    """Return a subnet that no other session has and this machine has no route to. The claim is a name that the kernel
    frees with this process."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as claim:
        routed = routed_networks(ROUTES.read_text())
        for subnet in range(SUBNETS):
            network = ipaddress.IPv4Network(f"{subnet_address(subnet, 0)}/24")
            if any(network.overlaps(one) for one in routed):
                continue
            try:
                claim.bind(f"\0arbitrage-regions-{subnet}")
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            yield subnet
            return
    raise CannotStartError("no network of 198.18.0.0/15 is free for the regions; remove a route to it.")


def routed_networks(table: str) -> list[ipaddress.IPv4Network]:
    """Return the networks in a table as the kernel prints it, without the default route: each number there is in this
    machine's order of bytes, in hexadecimal."""
    rows = [line.split() for line in table.splitlines()[1:]]
    pairs = [(_printed(row[1]), _printed(row[7])) for row in rows if len(row) > 7]
    return [ipaddress.IPv4Network((address, mask)) for address, mask in pairs if mask != "0.0.0.0"]


def _printed(number: str) -> str:
    return socket.inet_ntoa(int(number, 16).to_bytes(4, sys.byteorder))
