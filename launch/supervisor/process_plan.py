"""The processes of a session: their commands, and their start order."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.setup.data_dir import bot_name
from launch.setup.jars import broker_classpath
from launch.setup.login_files import own_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import checked_java
from launch.supervisor.process_groups import NOTIFIER, OWN_COMMAND, ProcessSpec
from market.decide.settings import Settings
from session.session import Session
from store.errors import StoreError
from store.mongo.database_setup import prepare_database
from store.server.embedded_mongod import EmbeddedMongod
from streams.broker.embedded_broker import LOOPBACK, EmbeddedBroker, free_ports, wait_ready
from streams.broker.kafka_users import ensure_users
from streams.errors import StreamError
from streams.topic_admin import ensure_topics
from streams.topics import session_topics

ATTEMPT_SECONDS = 10.0
"""Time limit of one attempt to reach Kafka or mongod; others follow while they work."""


async def service_processes(
    session: Session, config: Configuration, settings: Settings, echo: Callable[[str], None] = lambda _: None
) -> tuple[ProcessSpec, ...]:
    """Return our own Kafka and mongod, unless others are configured, which are prepared at once. `session` is the
    supervisor's. Raises CannotStartError if a configured one cannot be reached."""
    parts: list[ProcessSpec] = []
    if config.kafka is None:
        parts.append(kafka_process(session, echo))
    else:
        await _prepare_configured_kafka(session)
    if config.mongodb is None:
        own = own_logins(session.home)
        port, users = urlsplit(session.services.mongodb).port or 0, own.database_users(session.services.database)
        mongod = EmbeddedMongod(session.home, port, key=own.mongodb_key, users=users)
        parts.append(mongodb_process(session, settings, mongod))
    else:
        await _prepare_configured_mongodb(session, settings)
    return tuple(parts)


def kafka_process(session: Session, echo: Callable[[str], None]) -> ProcessSpec:
    """Return the embedded broker; ready once its topics and users exist."""
    own = own_logins(session.home, has_regions=bool(session.place.regions))
    (controller_port, loopback_port) = free_ports(2)
    host, _, port = session.services.kafka.rpartition(":")
    jars, java = broker_classpath(session.home), checked_java()
    owner = own.login(SUPERVISOR)
    broker = EmbeddedBroker(session.home, jars, int(port), controller_port, owner, own.controller, java)
    if host != LOOPBACK:
        broker = replace(broker, port=loopback_port, region_address=str(session.services.kafka))
    try:
        aside = broker.prepare()
    except StreamError as error:
        raise CannotStartError(str(error)) from error
    if aside is not None:
        echo(f"Kafka's log has no login of this data folder and was moved to {aside}")

    async def probe() -> None:
        await wait_ready(session.services.kafka, ATTEMPT_SECONDS)
        await ensure_topics(session.services.kafka, session.services.partitions, _topics(session))
        await ensure_users(session.services.kafka, own.topic_users(has_regions=bool(session.place.regions)))

    return ProcessSpec("kafka", broker.command(), probe=probe)


def mongodb_process(session: Session, settings: Settings, mongod: EmbeddedMongod) -> ProcessSpec:
    """Return the embedded mongod; ready once it has or follows a primary, and there are indexes and settings."""
    try:
        mongod.prepare()
        command = mongod.command()
    except StoreError as error:
        raise CannotStartError(str(error)) from error

    async def probe() -> None:
        await mongod.wait_ready(ATTEMPT_SECONDS)
        await prepare_database(session, settings)

    return ProcessSpec("mongodb", command, probe=probe)


def _topics(session: Session) -> tuple[str, ...]:
    return session_topics(has_regions=bool(session.place.regions), has_cycles=session.cycles is not None)


async def _prepare_configured_kafka(session: Session) -> None:
    try:
        await ensure_topics(session.services.kafka, session.services.partitions, _topics(session))
    except StreamError as error:
        raise CannotStartError(f"kafka = {session.services.kafka!r}: {error}") from error


async def _prepare_configured_mongodb(session: Session, settings: Settings) -> None:
    try:
        await prepare_database(session, settings)
    except StoreError as error:
        raise CannotStartError(f"mongodb: {error}") from error


APPS = "apps"
"""The part that runs published stream apps."""
ACCOUNTS = "accounts"
"""Ready, without a process of its own, once the supervisor has seen that nobody else trades on our accounts."""


def own_processes(
    session: Session, services: tuple[str, ...], fed: bool, bots: int = 1, config: Configuration | None = None
) -> list[ProcessSpec]:
    """Return all of our own processes, in the order of the data flow; `fed` False if a replayer writes the log instead.
    `bots` per exchange: one trades, the others are on standby. `config`: whose file says what apps may use, for who
    runs them and for who checks their texts."""
    kafka = tuple(name for name in services if name == "kafka")
    # those of a session with regions stand outside them
    outside = ("exchanges",) if session.simulated.url and not session.place.regions else ()
    # a bot may trade as soon as it runs, if the database says so
    before_bots = services + outside + ((ACCOUNTS,) if session.mode in ("sandbox", "live") else ())
    parts: list[ProcessSpec] = []
    if outside:
        parts.append(exchanges_process(session.home))
    # Spark takes longest to start: its JVM does so beside Kafka's, and only then waits for the log
    awaited = [word for name in kafka for word in ("--after", name)]
    spark = _part(session, "cep", "cep", *awaited, environment={"PYSPARK_PYTHON": sys.executable})
    parts.append(replace(spark, awaits=kafka))
    parts.append(_part(session, "publisher", "publisher", after=services))
    if session.upkeep.recordings_mb is not None:
        parts.append(_part(session, "logrecorder", "logrecorder", after=kafka))
    if fed:
        parts += [
            _part(session, f"feed-{name}", "feed", name, after=services + outside, exchange=name)
            for name in session.exchanges_here
        ]
    parts += [
        replace(
            _part(session, name, "bot", exchange, "--number", str(number), after=before_bots, exchange=exchange),
            stop_seconds=None,
        )
        for name, exchange, number in bot_processes(session, bots)
    ]
    for name in (APPS, "ui"):
        parts.append(_part(session, name, name, *_config_words(config), after=services))
    if session.upkeep.notices:
        mongodb = tuple(name for name in services if name == "mongodb")
        parts.append(_part(session, NOTIFIER, NOTIFIER, after=mongodb))
    return parts


def _config_words(config: Configuration | None) -> tuple[str, ...]:
    """Return the option that names the file, if there is one; the part has the supervisor's folder, and not its
    environment."""
    path = None if config is None else Path(config.file)
    return ("--config", str(path.resolve())) if path is not None and path.exists() else ()


def exchanges_process(home: Path, host: str = LOOPBACK) -> ProcessSpec:
    """Return the simulated exchanges of the session in this data folder, listening at `host`."""
    words = ("exchanges", "--session", "--bind", host)
    return ProcessSpec("exchanges", (*OWN_COMMAND, *words), environment={"ARBITRAGE_HOME": str(home)})


def bot_processes(session: Session, bots: int) -> list[tuple[str, str, int]]:
    """Return (process name, exchange, number among the bots of that exchange)."""
    traded = {market.exchange for market in session.traded}
    here = [exchange for exchange in session.exchanges_here if exchange in traded]
    return [(bot_name(exchange, number), exchange, number) for exchange in here for number in range(1, bots + 1)]


def _part(
    session: Session,
    name: str,
    *words: str,
    after: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    exchange: str | None = None,
) -> ProcessSpec:
    variables = {"ARBITRAGE_HOME": str(session.home)} | (environment or {})
    return ProcessSpec(name, (*OWN_COMMAND, *words), after, variables, exchange=exchange)
