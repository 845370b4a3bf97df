"""A session of regions whose parts are started one by one, each region on machines of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from pydantic import ValidationError

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.regions.sessions import check_region_names, markets_in
from runtime.logins import Address, Login
from session.session import Placement, Session
from store.server.replica_set import REPLICA_SET, ReplicaSet, regional_set
from streams.broker.mirror_maker import RegionKafka, mirror_properties

ELECTION_MS = 2_000
"""Each member has a machine of its own."""


def regional_kafkas(words: Sequence[str]) -> dict[str, str]:
    """Return region -> host:port of its Kafka, from words such as "us=kafka.us.example:9092". Raises
    CannotStartError."""
    found = {}
    for word in words:
        region, mark, place = word.partition("=")
        if not mark or region in found or not _is_place(place):
            raise CannotStartError(f"--region: {word!r} is not REGION=HOST:PORT of a region that is named once.")
        found[region] = place
    check_region_names(tuple(found))
    return found


def _is_place(place: str) -> bool:
    try:
        Configuration(kafka=place)
    except ValidationError:
        return False
    return True


def sessions_apart(
    base: Session, kafkas: Mapping[str, str], config: Configuration, echo: Callable[[str], None]
) -> tuple[Session, ...]:
    """Return a session for each region, in their order; one without exchanges only votes, and has no parts. Raises
    CannotStartError."""
    regions = tuple(kafkas)
    markets = markets_in(base.markets, regions, config.exchanges, echo)
    made = tuple(
        replace(base, markets=markets, place=Placement(region, regions), services=replace(base.services, kafka=kafka))
        for region, kafka in kafkas.items()
    )
    store_of(made[0])
    return made


def store_of(session: Session) -> ReplicaSet:
    """Return the set whose members the session's address names, one in each of its regions. Raises CannotStartError."""
    address = urlsplit(session.services.mongodb)
    members = address.netloc.split(",")
    if len(members) != len(session.place.regions) or not all(":" in member for member in members):
        raise CannotStartError(
            f"mongodb: names {len(members)} of {len(session.place.regions)} members; name HOST:PORT of each region, "
            "in their order."
        )
    if f"replicaSet={REPLICA_SET}" not in address.query:
        raise CannotStartError(f"mongodb: end the address with ?replicaSet={REPLICA_SET}, as its members are started.")
    return regional_set(dict(zip(session.place.regions, members, strict=True)), ELECTION_MS)


def mirror_file(session: Session, writer: Login, sources: Mapping[str, tuple[str, Login]]) -> str:
    """Return MirrorMaker's configuration in this region. `sources`: the other regions that have a Kafka, each with its
    address and the login of a reader there."""
    target = RegionKafka(str(session.place.region), Address(session.services.kafka, writer))
    read = tuple(RegionKafka(region, Address(place, login)) for region, (place, login) in sources.items())
    return mirror_properties(target, read)
