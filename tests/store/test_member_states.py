"""What is known of the members of a replica set, from the driver's own descriptions of them."""

from datetime import UTC, datetime

import pytest
from pymongo.errors import AutoReconnect
from pymongo.hello import Hello
from pymongo.server_description import ServerDescription
from pymongo.topology_description import TOPOLOGY_TYPE, TopologyDescription

from store.server.deciding_region import PrimaryWatch
from store.server.member_states import MemberState, member_states

ADDRESS = ("10.0.0.1", 27_017)
NAME = "10.0.0.1:27017"
WRITTEN = datetime(2025, 11, 21, 16, 20, 34, tzinfo=UTC).replace(tzinfo=None)  # as the driver gives it
ANSWER = {"ok": 1, "setName": "rs0", "hosts": [NAME], "tags": {"region": "us"}}


class _NoSettings:
    """The driver asks them for nothing that is asked for here."""

    heartbeat_frequency = 10


def described(*servers: ServerDescription) -> TopologyDescription:
    known = {one.address: one for one in servers}
    return TopologyDescription(TOPOLOGY_TYPE.ReplicaSetNoPrimary, known, "rs0", None, None, _NoSettings())


@pytest.mark.parametrize(
    ("server", "state"),
    [
        (
            ServerDescription(
                ADDRESS, Hello({**ANSWER, "isWritablePrimary": True, "lastWrite": {"lastWriteDate": WRITTEN}})
            ),
            MemberState(NAME, "primary", "us", 1_763_742_034_000_000),
        ),
        (ServerDescription(ADDRESS, Hello({**ANSWER, "secondary": True})), MemberState(NAME, "secondary", "us")),
        (ServerDescription(ADDRESS, Hello(ANSWER)), MemberState(NAME, "other", "us")),
        (ServerDescription(ADDRESS), MemberState(NAME, "unheard")),
        (ServerDescription(ADDRESS, error=AutoReconnect("timed out")), MemberState(NAME, "unreachable")),
    ],
)
def test_a_member_is_what_it_last_said_or_did_not_say(server: ServerDescription, state: MemberState) -> None:
    assert member_states(described(server)) == (state,)


def test_a_watch_gives_the_members_by_address_and_none_after_its_end() -> None:
    watch = PrimaryWatch()
    assert list(watch.members) == []
    servers = [ServerDescription((host, 1)) for host in ("b", "a")]
    watch.describe = lambda: described(*servers)
    assert [member.address for member in watch.members] == ["a:1", "b:1"]
