"""The process of MirrorMaker in a region: it copies the other regions' quotes into the region's own log."""

from collections.abc import Sequence

from launch.regions.sessions import RegionSession
from launch.setup.jars import mirror_classpath
from launch.setup.login_files import own_logins
from launch.setup.login_rights import MIRROR, MIRROR_READER
from launch.setup.prerequisites import checked_java
from launch.supervisor.process_groups import ProcessSpec
from runtime.clock import wall_now
from runtime.logins import Address
from streams.broker.mirror_maker import MirrorMaker, RegionKafka

MIRROR_SECONDS = 600.0
"""How long one look waits until rows are mirrored; the supervisor looks again."""


def mirror_process(one: RegionSession, sessions: Sequence[RegionSession]) -> ProcessSpec:
    """Return the process that copies the other regions' quotes into this region's log; each Kafka is there already."""
    own = own_logins(one.session.home, has_regions=True)
    target = RegionKafka(one.name, Address(one.session.services.kafka, own.login(MIRROR)))
    sources = tuple(_read_from(other) for other in sessions if other.name != one.name and not other.only_votes)
    mirror = MirrorMaker(one.session.home, mirror_classpath(one.session.home), target, sources, checked_java())
    mirror.prepare()

    async def probe() -> None:
        await mirror.wait_ready(wall_now(), MIRROR_SECONDS)

    return ProcessSpec("mirror", mirror.command(), after=("kafka",), probe=probe)


def _read_from(other: RegionSession) -> RegionKafka:
    logins = own_logins(other.session.home, has_regions=True)
    return RegionKafka(other.name, Address(other.session.services.kafka, logins.login(MIRROR_READER)))
