"""Where each region of a session is: its address and its namespace, as a file in the data folder."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from launch.errors import CannotStartError
from launch.regions.network.links import OBSERVER, LinkRule, RegionLinks, links_of
from launch.setup.data_dir import write_atomically

LAYOUT_FILE = "regions.json"
SUBNETS = 512
"""198.18.0.0/15 in networks of 256 addresses. It is set apart for tests of networks (RFC 2544), so nobody routes it."""


@dataclass(frozen=True, slots=True)
class RegionPlace:
    """One region, or the observer, whose namespace is that of this machine: None."""

    name: str
    address: str
    namespace: str | None


@dataclass(frozen=True, slots=True)
class RegionLayout:
    """Settings that the carrier starts with. `round_trips_ms`: "us eu" → milliseconds."""

    subnet: int
    seed: int
    places: tuple[RegionPlace, ...]
    round_trips_ms: Mapping[str, int]
    rules: Mapping[str, LinkRule] = field(default_factory=dict)
    """`us>eu` → its rule, if commands have changed it: a carrier that is restarted must not heal a cut."""

    def links(self) -> RegionLinks:
        trips = {frozenset(pair.split()): trip for pair, trip in self.round_trips_ms.items()}
        links = links_of([place.name for place in self.places if place.name != OBSERVER], trips)
        changed = {way: self.rules[">".join(way)] for way in links.rules if ">".join(way) in self.rules}
        return replace(links, rules={**links.rules, **changed})

    def with_links(self, links: RegionLinks) -> "RegionLayout":
        changed = {">".join(way): rule for way, rule in links.rules.items() if rule != links.at_first[way]}
        return replace(self, rules=changed)

    def place(self, name: str) -> RegionPlace:
        return next(place for place in self.places if place.name == name)


def subnet_address(subnet: int, number: int) -> str:
    """Return the address with that number, from 1 to 254, in one of the networks."""
    return f"198.{18 + subnet // 256}.{subnet % 256}.{number}"


def write_layout(home: Path, layout: RegionLayout) -> None:
    write_atomically(home / LAYOUT_FILE, json.dumps(asdict(layout)).encode())


def read_layout(home: Path) -> RegionLayout:
    """Return the layout. Raises CannotStartError if no session with regions runs here, or the file is damaged."""
    path = home / LAYOUT_FILE
    try:
        content = json.loads(path.read_bytes())
        places = tuple(RegionPlace(**place) for place in content["places"])
        rules = {way: LinkRule(**rule) for way, rule in content["rules"].items()}
        return RegionLayout(content["subnet"], content["seed"], places, content["round_trips_ms"], rules)
    except FileNotFoundError:
        raise CannotStartError(f"{path} is not there: no session with regions runs here; start one first.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotStartError(f"{path} is damaged ({error!r}); restart the session with regions.") from error
