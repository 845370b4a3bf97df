"""A replica set with a member in each region: its configuration, and how clients reach it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from store.errors import StoreError
from store.server.client import REGION, Document

REPLICA_SET = "rs0"
HEARTBEAT_MS = 500
"""How often a client asks each member for its state: the driver's least, so that it soon knows of a new primary."""

ELECTION_MS = 5_000


@dataclass(frozen=True, slots=True)
class Member:
    """`address`: host:port, as the other members and all clients reach it."""

    region: str
    address: str
    priority: int = 1
    """0: it votes, but is never primary."""


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """Which members there are, and how they elect. The first member initiates it."""

    members: tuple[Member, ...]
    election_ms: int = ELECTION_MS
    """How long the others wait for a silent primary before they elect one. 2,000 does if each member has a machine
    of its own. Members that share a busy machine are silent for longer without being lost, and would take the role
    from each other."""
    catch_up_ms: int = 500
    """How long a new primary waits for writes that it lacks. A majority has all that was acknowledged, and so has
    whoever it elects; only what nobody was promised is waited for."""
    is_journalled: bool = True
    """Whether a write of the majority also waits for their journals. False is about 70 ms quicker across an ocean,
    and a loss of power in two regions at once may lose the last tenth of a second that was acknowledged."""

    @property
    def uri(self) -> str:
        """Return the address of all members: a client finds the primary by any of them."""
        addresses = ",".join(member.address for member in self.members)
        return f"mongodb://{addresses}/?{urlencode({'replicaSet': REPLICA_SET, 'heartbeatFrequencyMS': HEARTBEAT_MS})}"

    def configuration(self) -> Document:
        """For `replSetInitiate`."""
        return {
            "_id": REPLICA_SET,
            "version": 1,
            "members": [
                {"_id": number, "host": one.address, "priority": one.priority, "tags": {REGION: one.region}}
                for number, one in enumerate(self.members)
            ],
            "settings": {
                "electionTimeoutMillis": self.election_ms,
                "catchUpTimeoutMillis": self.catch_up_ms,
                # who copies from another secondary believes in a lost primary for as long as that one does, and then
                # for the timeout again
                "chainingAllowed": False,
            },
            "writeConcernMajorityJournalDefault": self.is_journalled,
        }

    def updated(self, known: Mapping[str, object]) -> Document | None:
        """Return what replaces the configuration `known` to MongoDB; None if it says the same.

        Raises StoreError if it is of other regions: members that are gone have acknowledged writes.
        """
        wanted = self.configuration()
        members, settings = _rows(known["members"]), _row(known.get("settings"))
        regions = [_row(one.get("tags")).get(REGION) for one in members]
        if regions != [one.region for one in self.members]:
            raise StoreError(
                f"The data of this MongoDB belongs to the regions {', '.join(map(str, regions))}, not to "
                f"{', '.join(one.region for one in self.members)}: start it with those, or use another data folder."
            )
        changed: Document = {
            **known,
            "members": [{**one, **new} for one, new in zip(members, _rows(wanted["members"]), strict=True)],
            "settings": {**settings, **_row(wanted["settings"])},
            "writeConcernMajorityJournalDefault": self.is_journalled,
        }
        if changed == {"writeConcernMajorityJournalDefault": True, **known}:
            return None
        return changed | {"version": int(str(known["version"])) + 1}


def regional_set(addresses: Mapping[str, str], election_ms: int = ELECTION_MS) -> ReplicaSet:
    """Region → address, of one or more. The last of three or more is never primary: two candidates elect quicker than
    three, and none of them is preferred, so that a region that comes back leaves the role where it is."""
    last = len(addresses) - 1
    members = tuple(
        Member(region, address, priority=0 if number == last and last > 1 else 1)
        for number, (region, address) in enumerate(addresses.items())
    )
    return ReplicaSet(members, election_ms)


def _rows(value: object) -> list[Document]:
    return [_row(one) for one in value] if isinstance(value, list) else []


def _row(value: object) -> Document:
    return dict(value) if isinstance(value, dict) else {}
