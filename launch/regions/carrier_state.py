"""What the carrier says of itself: its links with their counts, as JSON and as lines for people. Pure."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from launch.regions.packet_schedule import PacketSchedule
from launch.regions.region_layout import RegionLayout
from launch.regions.region_links import MILLISECOND, OBSERVER


@dataclass(frozen=True, slots=True)
class LinkState:
    """One direction. Packets are counted since the carrier's start; `dropped` by cut, loss or a full queue."""

    source: str
    target: str
    delay_ms: float
    """One way."""
    loss_percent: float
    is_cut: bool
    carried: int
    dropped: int
    under_way: int


@dataclass(frozen=True, slots=True)
class CarrierState:
    """`addresses`: place → address; `refused`: packets that a device did not take; `cpu_seconds` since the start."""

    addresses: dict[str, str]
    links: tuple[LinkState, ...]
    refused: int
    cpu_seconds: float

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def link(self, source: str, target: str) -> LinkState:
        return next(one for one in self.links if (one.source, one.target) == (source, target))


def carrier_state(layout: RegionLayout, schedule: PacketSchedule, refused: int, cpu_seconds: float) -> CarrierState:
    addresses = {place.name: place.address for place in layout.places}
    ways = [(source, target) for source in addresses for target in addresses if source != target]
    links = tuple(_link_state(schedule, source, target) for source, target in ways)
    return CarrierState(addresses, links, refused, round(cpu_seconds, 2))


def state_of_json(content: bytes) -> CarrierState:
    """Raises ValueError, KeyError or TypeError for anything else than what `to_json` wrote."""
    found = json.loads(content)
    links = tuple(LinkState(**link) for link in found["links"])
    return CarrierState(found["addresses"], links, found["refused"], found["cpu_seconds"])


def state_lines(state: CarrierState) -> Iterator[str]:
    """One line for each place and each direction between regions, then the carrier's own."""
    for name, address in state.addresses.items():
        yield f"{name}: {address}"
    for link in state.links:
        if OBSERVER not in (link.source, link.target):
            yield f"{link.source}>{link.target}: {_condition(link)}; {_packets(link)}"
    yield f"carrier: {state.cpu_seconds:.2f} s of CPU, {state.refused:,} packets that a device did not take"


def _link_state(schedule: PacketSchedule, source: str, target: str) -> LinkState:
    way = (source, target)
    rule, counts = schedule.links.rule(way), schedule.counts(way)
    delay_ms, loss_percent = rule.delay / MILLISECOND, round(rule.loss * 100, 3)
    return LinkState(*way, delay_ms, loss_percent, rule.is_cut, counts.carried, counts.dropped, counts.under_way)


def _condition(link: LinkState) -> str:
    loss = f", {link.loss_percent:g} % lost" if link.loss_percent else ""
    return f"{'cut, ' if link.is_cut else ''}{link.delay_ms:g} ms{loss}"


def _packets(link: LinkState) -> str:
    return f"{link.carried:,} carried, {link.dropped:,} dropped, {link.under_way:,} under way"
