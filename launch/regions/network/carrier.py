"""Carries packets between the devices of a session's regions, as slowly as the links say, and takes commands.

One thread, one epoll: it sleeps until a packet comes, one is due, or somebody asks. Epoll counts milliseconds and
rounds up, so a packet may be a millisecond late in each direction, and never comes early.
"""

import os
import select
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from launch.errors import CannotStartError
from launch.regions.clocks import clocks_off, set_clocks
from launch.regions.layout import RegionLayout, RegionPlace, read_layout, write_layout
from launch.regions.network.carrier_state import carrier_state
from launch.regions.network.control_socket import error_answer, listening
from launch.regions.network.link_commands import LinkCommandError, parsed_change
from launch.regions.network.namespaces import DEVICE, observer_device
from launch.regions.network.packet_schedule import PacketSchedule
from launch.regions.network.tun_device import MTU, enter_namespace, in_own_thread, open_tun
from launch.supervisor.process_main import Ready
from market.time_units import MICROSECONDS
from runtime.carrier_socket import MOST_BYTES_OF_COMMAND
from runtime.clock import steady_now

PACKETS_AT_ONCE = 64
"""Most packets of one device, before the others have their turn and what is due is delivered."""
IPV4_HEADER = 20
MOST_CONNECTIONS = 64
"""Most connections that have not asked yet. More are closed, before descriptors run out."""


class RegionCarrier:
    """`devices`: place → descriptor of its device."""

    def __init__(self, home: Path, layout: RegionLayout, devices: Mapping[str, int], listener: socket.socket) -> None:
        """Take `home`: the data folder, where links and clocks after a command are kept."""
        self._home = home
        self._layout = layout
        self._devices = devices
        self._listener = listener
        self._schedule = PacketSchedule(layout.links(), layout.seed)
        self._places = {device: name for name, device in devices.items()}
        self._addresses = {place.name: socket.inet_aton(place.address) for place in layout.places}
        self._targets = {address: name for name, address in self._addresses.items()}
        self._connections: dict[int, socket.socket] = {}
        self._refused = 0
        self._poll = select.epoll()
        for descriptor in (*self._places, listener.fileno()):
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Carry packets until the process ends."""
        while True:
            due = self._schedule.next_due()
            wait = None if due is None else max(0, due - steady_now()) / MICROSECONDS
            for descriptor, _ in self._poll.poll(wait):
                self._attend(descriptor)
            self._deliver()

    def _attend(self, descriptor: int) -> None:
        if descriptor in self._places:
            self._take(descriptor)
        elif descriptor == self._listener.fileno():
            self._accept()
        else:
            self._answer(descriptor)

    def _take(self, device: int) -> None:
        source = self._places[device]
        for _ in range(PACKETS_AT_ONCE):
            try:
                packet = os.read(device, MTU)
            except BlockingIOError:
                return
            target = self._target(packet, source)
            if target is not None:
                self._schedule.take(packet, source, target, steady_now())

    def _target(self, packet: bytes, source: str) -> str | None:
        """Return the target; None for what goes to no place (the system's own IPv6 and multicast), and for what is not
        from `source`: this machine may forward packets of others to the observer's device."""
        is_ipv4 = len(packet) >= IPV4_HEADER and packet[0] >> 4 == 4
        if not is_ipv4 or packet[12:16] != self._addresses[source]:
            return None
        return self._targets.get(packet[16:20])

    def _deliver(self) -> None:
        for (_, target), packet in self._schedule.due(steady_now()):
            try:
                os.write(self._devices[target], packet)
            except OSError:
                # the device is down, or full: the packet is lost, as on any network
                self._refused += 1

    def _accept(self) -> None:
        try:
            connection = self._listener.accept()[0]
        except OSError:
            return
        if len(self._connections) >= MOST_CONNECTIONS:
            connection.close()
            return
        connection.setblocking(False)
        self._connections[connection.fileno()] = connection
        self._poll.register(connection.fileno(), select.EPOLLIN)

    def _answer(self, descriptor: int) -> None:
        """Answer one command and close the connection, so that the next reader gets its turn."""
        connection = self._connections.pop(descriptor)
        self._poll.unregister(descriptor)
        with connection:
            try:
                line = connection.recv(MOST_BYTES_OF_COMMAND)
                connection.send(self._done(line.decode(errors="replace")))
            except OSError:
                # whoever asked has gone, and the command has been done
                return

    def _done(self, line: str) -> bytes:
        links = self._schedule.links
        try:
            change = parsed_change(line, links.regions)
            set_clocks(self._home, change.clocks, change.skew)
            if change.ways:
                links = links.changed(change)
                write_layout(self._home, self._layout.with_links(links))
                self._schedule.change(links)
        except LinkCommandError as error:
            return error_answer(str(error))
        except OSError as error:
            return error_answer(f"it cannot be kept in the data folder ({error.strerror}), so nothing was changed.")
        used, clocks = os.times(), clocks_off(self._home, links.regions)
        return carrier_state(self._layout, self._schedule, self._refused, used.user + used.system, clocks).to_json()


def run_carrier(home: Path, ready: Ready) -> None:
    """Carry packets for the session of this data folder until the process ends. Raises CannotStartError if it has no
    regions, or they are gone."""
    layout = read_layout(home)
    with ExitStack() as stack:
        devices = {}
        for place in layout.places:
            devices[place.name] = _opened(place, layout)
            stack.callback(os.close, devices[place.name])
        listener = stack.enter_context(listening(home))
        carrier = RegionCarrier(home, layout, devices, listener)
        ready()
        carrier.run()


def _opened(place: RegionPlace, layout: RegionLayout) -> int:
    try:
        if place.namespace is None:
            return open_tun(observer_device(layout), is_shared=True)
        return in_own_thread(partial(_region, place.namespace))
    except OSError as error:
        raise CannotStartError(
            f"{place.name}: its network is not there ({error.strerror}); restart the session with regions."
        ) from error


def _region(namespace: str) -> int:
    enter_namespace(namespace)
    return open_tun(DEVICE)
