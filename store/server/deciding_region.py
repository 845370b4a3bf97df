"""Which region decides: the one with the primary, from what the driver hears of each member anyway. Nothing is asked
for it (ADR 61)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from pymongo.monitoring import (
    TopologyClosedEvent,
    TopologyDescriptionChangedEvent,
    TopologyListener,
    TopologyOpenedEvent,
)
from pymongo.topology_description import TopologyDescription

from store.server.client import REGION, Client, Listener, connect
from store.server.member_states import MemberState, member_states


class PrimaryWatch(TopologyListener):
    """Follows the primary for one client. The driver's threads write to it; any thread may read."""

    def __init__(self) -> None:
        self.describe: Callable[[], TopologyDescription] | None = None
        """What the driver knows now; it hands out events once a second only."""
        self._lock = Lock()
        self._region: str | None = None
        self._newest: str | None = None

    @property
    def region(self) -> str | None:
        """Return the region of the primary now; None while there is none that this client reaches."""
        self._look()
        return self._region

    @property
    def newest(self) -> str | None:
        """Return the region of the last primary that was reached: during an outage nobody else is known to be it."""
        self._look()
        return self._newest

    @property
    def members(self) -> tuple[MemberState, ...]:
        """Return the members of the replica set, as the driver knows them now; empty after the client's end."""
        return () if self.describe is None else member_states(self.describe())

    def opened(self, event: TopologyOpenedEvent) -> None:
        """Nothing is known yet."""

    def closed(self, event: TopologyClosedEvent) -> None:
        """Forget what was known: it is the client's last event."""
        self.describe = None
        self._record(None)

    def description_changed(self, event: TopologyDescriptionChangedEvent) -> None:
        """Look again: what the event says may be old by now, and a short-lived primary would be missed."""
        self._look()

    def _look(self) -> None:
        if self.describe is not None:
            self._record(primary_region(self.describe()))

    def _record(self, region: str | None) -> None:
        with self._lock:
            self._region, self._newest = region, region or self._newest


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where a process of a session of regions stands."""

    region: str
    primary: PrimaryWatch

    def is_beside_primary(self) -> bool:
        """Also while there is none, if the last one was here: a lease ends by itself, and its renewal needs one."""
        return self.primary.newest == self.region


def connect_watched(uri: str, listeners: Sequence[Listener] = ()) -> tuple[Client, PrimaryWatch]:
    """As `connect`, with the watch of that client."""
    watch = PrimaryWatch()
    client = connect(uri, listeners=[watch, *listeners])
    own = client.delegate
    watch.describe = lambda: own.topology_description
    return client, watch


def primary_region(topology: TopologyDescription) -> str | None:
    """None if there is no primary, or it has no tag of its region."""
    for server in topology.server_descriptions().values():
        if server.server_type_name == "RSPrimary":
            return server.tags.get(REGION)
    return None
