"""Which region has the primary, from the driver's own descriptions of a replica set."""

import pytest
from bson import ObjectId
from pymongo.hello import Hello
from pymongo.monitoring import TopologyClosedEvent, TopologyDescriptionChangedEvent
from pymongo.server_description import ServerDescription
from pymongo.topology_description import TOPOLOGY_TYPE, TopologyDescription

from store.server.deciding_region import PrimaryWatch, Standpoint, primary_region

TOPOLOGY = ObjectId()
REGIONS = ("us", "eu", "jp")


def described(primary: str | None, *, tagged: bool = True) -> TopologyDescription:
    """Return a set of three; None: all of them are secondaries."""
    servers: dict[tuple[str, int | None], ServerDescription] = {}
    for number, region in enumerate(REGIONS):
        tags = {"region": region} if tagged else {}
        role = {"isWritablePrimary": region == primary, "secondary": region != primary}
        address = (f"10.0.{number}.1", 27_017)
        hello = Hello({"ok": 1, "setName": "rs0", "hosts": [f"{address[0]}:27017"], "tags": tags, **role})
        servers[address] = ServerDescription(address, hello)
    return TopologyDescription(TOPOLOGY_TYPE.ReplicaSetWithPrimary, servers, "rs0", None, None, _NoSettings())


class _NoSettings:
    """The driver asks them for nothing that is asked for here."""

    heartbeat_frequency = 10


def tell(watch: PrimaryWatch, primary: str | None) -> None:
    """Also with an event of before, which comes late."""
    watch.describe = lambda: described(primary)
    watch.description_changed(TopologyDescriptionChangedEvent(described(None), described("jp"), TOPOLOGY))


@pytest.mark.parametrize(("primary", "tagged", "region"), [("eu", True, "eu"), (None, True, None), ("eu", False, None)])
def test_the_region_is_the_tag_of_the_primary(primary: str | None, tagged: bool, region: str | None) -> None:
    assert primary_region(described(primary, tagged=tagged)) == region


def test_a_place_is_beside_the_last_primary_until_another_one_is_known() -> None:
    watch = PrimaryWatch()
    us, eu = Standpoint("us", watch), Standpoint("eu", watch)
    seen = []
    for primary in (None, "us", None, "eu"):
        tell(watch, primary)
        seen.append((watch.region, us.is_beside_primary(), eu.is_beside_primary()))
    assert seen == [(None, False, False), ("us", True, False), (None, True, False), ("eu", False, True)]


def test_the_last_primary_is_known_after_the_clients_end() -> None:
    watch = PrimaryWatch()
    tell(watch, "us")
    watch.closed(TopologyClosedEvent(TOPOLOGY))
    assert (watch.region, watch.newest, watch.members) == (None, "us", ())
