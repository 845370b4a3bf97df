"""The state of the carrier, taken from its schedule, and as lines for people. Pure."""

from collections.abc import Iterator

from launch.regions.clocks import Clocks, clock_lines, in_milliseconds
from launch.regions.layout import RegionLayout
from launch.regions.network.links import MILLISECOND, OBSERVER
from launch.regions.network.packet_schedule import PacketSchedule
from runtime.link_states import CarrierState, LinkState


def carrier_state(
    layout: RegionLayout, schedule: PacketSchedule, refused: int, cpu_seconds: float, clocks: Clocks
) -> CarrierState:
    addresses = {place.name: place.address for place in layout.places}
    ways = [(source, target) for source in addresses for target in addresses if source != target]
    links = tuple(_link_state(schedule, source, target) for source, target in ways)
    return CarrierState(addresses, links, refused, round(cpu_seconds, 2), in_milliseconds(clocks))


def state_lines(state: CarrierState) -> Iterator[str]:
    """Return one line for each place and each direction between regions, then the carrier's own."""
    for name, address in state.addresses.items():
        yield f"{name}: {address}"
    for link in state.links:
        if OBSERVER not in (link.source, link.target):
            yield f"{link.source}>{link.target}: {link.condition}; {_packets(link)}"
    yield from clock_lines(state.clocks_ms)
    yield f"carrier: {state.cpu_seconds:.2f} s of CPU, {state.refused:,} packets that a device did not take"


def _link_state(schedule: PacketSchedule, source: str, target: str) -> LinkState:
    way = (source, target)
    rule, counts = schedule.links.rule(way), schedule.counts(way)
    delay_ms, loss_percent = rule.delay / MILLISECOND, round(rule.loss * 100, 3)
    return LinkState(*way, delay_ms, loss_percent, rule.is_cut, counts.carried, counts.dropped, counts.under_way)


def _packets(link: LinkState) -> str:
    return f"{link.carried:,} carried, {link.dropped:,} dropped, {link.under_way:,} under way"
