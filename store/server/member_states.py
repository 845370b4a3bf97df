"""What the driver knows of each member of the replica set; it asks them twice a second anyway."""

from dataclasses import dataclass
from typing import Literal

from pymongo.server_description import ServerDescription
from pymongo.topology_description import TopologyDescription

from market.time_units import MICROSECONDS
from store.server.client import REGION

MemberRole = Literal["primary", "secondary", "other", "unreachable", "unheard"]
"""`other`: it answers, but has no data to read, as while it starts; `unheard`: it was not asked yet."""
ROLES: dict[str, MemberRole] = {"RSPrimary": "primary", "RSSecondary": "secondary"}


@dataclass(frozen=True, slots=True)
class MemberState:
    """`region` is its tag, None while it does not answer; `last_write`: microseconds UTC by the clock of whoever was
    the primary then, to the second, None if it did not say."""

    address: str
    role: MemberRole
    region: str | None = None
    last_write: int | None = None


def member_states(topology: TopologyDescription) -> tuple[MemberState, ...]:
    """By address. A primary that others have replaced is none, as far as the driver knows of it."""
    return tuple(sorted((_state(one) for one in topology.server_descriptions().values()), key=lambda one: one.address))


def _state(server: ServerDescription) -> MemberState:
    host, port = server.address
    written = server.last_write_date
    return MemberState(
        f"{host}:{port}",
        _role(server),
        server.tags.get(REGION),
        None if written is None else int(written) * MICROSECONDS,
    )


def _role(server: ServerDescription) -> MemberRole:
    if server.is_server_type_known:
        return ROLES.get(server.server_type_name, "other")
    return "unheard" if server.error is None else "unreachable"
