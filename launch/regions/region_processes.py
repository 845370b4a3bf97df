"""The processes of a session with regions: those of each region, and those outside them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from launch.config.configuration import Configuration
from launch.regions.layout import RegionLayout
from launch.regions.network.namespaces import carrier_process, command_prefix
from launch.regions.sessions import RegionSession
from launch.setup.login_files import OwnLogins
from launch.supervisor.process_groups import NOTIFIER, ProcessSpec
from launch.supervisor.process_plan import (
    exchanges_process,
    kafka_process,
    mongodb_process,
    own_processes,
)
from market.decide.settings import Settings
from store.server.embedded_mongod import EmbeddedMongod

NO_PROXIES = {"no_proxy": "*", "NO_PROXY": "*"}


def outside_parts(home: Path, sessions: Sequence[RegionSession], layout: RegionLayout | None) -> list[ProcessSpec]:
    """Return the simulated exchanges, and with delays what carries packets between the regions."""
    host = urlsplit(sessions[0].session.simulated.url or "").hostname or ""
    exchanges = exchanges_process(home, host)
    if layout is None:
        return [exchanges]
    return [carrier_process(home), replace(exchanges, after=("carrier",))]


def region_parts(
    one: RegionSession,
    config: Configuration,
    settings: Settings,
    store: OwnLogins,
    echo: Callable[[str], None],
) -> list[ProcessSpec]:
    """Return all parts of one region except its mirror. `store`: the logins of MongoDB, which all regions share. Raises
    CannotStartError."""
    session = one.session
    host, _, port = one.member.rpartition(":")
    users = store.database_users(session.services.database)
    mongod = EmbeddedMongod(
        session.home, int(port), key=store.mongodb_key, users=users, host=host, replica_set=one.replica_set
    )
    mongodb = mongodb_process(session, settings, mongod)
    if one.only_votes:
        return [mongodb]
    services = (kafka_process(session, echo), mongodb)
    names = tuple(part.name for part in services)
    return [*services, *own_processes(session, names, fed=True, bots=config.bots_per_exchange, config=config)]


def in_region(part: ProcessSpec, layout: RegionLayout | None, region: str) -> ProcessSpec:
    """Return the part as it is started in the network of its region, from which nothing else can be reached: therefore
    no proxy is used, and the notifier stays outside if root makes the networks."""
    if layout is None or part.name == NOTIFIER:
        return part
    command = (*command_prefix(layout.place(region)), *part.command)
    return replace(part, command=command, environment=part.environment | NO_PROXIES)
