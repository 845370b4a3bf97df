"""The parts of a session as processes: what is started how, and after what."""

import sys
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.setup.data_dir import bot_name
from launch.setup.jars import broker_classpath
from launch.setup.login_files import own_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import checked_java
from launch.supervisor.process_groups import NOTIFIER, ProcessSpec
from market.decide.settings import Settings
from session.session import Session
from store.errors import StoreError
from store.mongo.database_setup import prepare_database
from store.server.embedded_mongod import EmbeddedMongod
from streams.broker.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from streams.broker.topic_access import ensure_users
from streams.errors import StreamError
from streams.topic_admin import ensure_topics

ATTEMPT_SECONDS = 10.0
"""How long Kafka or mongod may take to answer one attempt; another follows while they work."""


async def service_parts(
    session: Session, told: Configuration, settings: Settings, say: Callable[[str], None] = lambda _: None
) -> tuple[ProcessSpec, ...]:
    """Kafka and mongod of our own, unless others are configured: those are made ready at once. `session` is the
    supervisor's.

    Raises CannotStartError where a configured one is not reached.
    """
    parts: list[ProcessSpec] = []
    if told.kafka is None:
        parts.append(kafka_part(session, say))
    else:
        await _prepare_configured_kafka(session)
    if told.mongodb is None:
        parts.append(_mongodb_part(session, settings))
    else:
        await _prepare_configured_mongodb(session, settings)
    return tuple(parts)


def kafka_part(session: Session, say: Callable[[str], None]) -> ProcessSpec:
    """The embedded broker; ready once all topics are there, and who may use them."""
    own = own_logins(session.home)
    (controller_port,) = free_ports(1)
    port = int(session.kafka.rpartition(":")[2])
    jars, java = broker_classpath(session.home), checked_java()
    owner = own.login(SUPERVISOR)
    broker = EmbeddedBroker(session.home, jars, port, controller_port, owner, own.controller, java)
    try:
        aside = broker.prepare()
    except StreamError as error:
        raise CannotStartError(str(error)) from error
    if aside is not None:
        say(f"Kafka's log of before knows no login of this data folder and was put aside: {aside}")

    async def probe() -> None:
        await wait_ready(session.kafka, ATTEMPT_SECONDS)
        await ensure_topics(session.kafka, session.partitions)
        await ensure_users(session.kafka, own.topic_users())

    return ProcessSpec("kafka", broker.command(), probe=probe)


def _mongodb_part(session: Session, settings: Settings) -> ProcessSpec:
    """The embedded mongod; ready once it has a primary, indexes and settings."""
    own = own_logins(session.home)
    port = urlsplit(session.mongodb).port or 0
    users = own.database_users(session.database)
    mongod = EmbeddedMongod(session.home, port, key=own.mongodb_key, users=users)
    try:
        mongod.prepare()
        command = mongod.command()
    except StoreError as error:
        raise CannotStartError(str(error)) from error

    async def probe() -> None:
        await mongod.wait_ready(ATTEMPT_SECONDS)
        await prepare_database(session, settings)

    return ProcessSpec("mongodb", command, probe=probe)


async def _prepare_configured_kafka(session: Session) -> None:
    try:
        await ensure_topics(session.kafka, session.partitions)
    except StreamError as error:
        raise CannotStartError(f"kafka = {session.kafka!r}: {error}") from error


async def _prepare_configured_mongodb(session: Session, settings: Settings) -> None:
    try:
        await prepare_database(session, settings)
    except StoreError as error:
        raise CannotStartError(f"mongodb: {error}") from error


def own_parts(session: Session, services: tuple[str, ...], fed: bool, bots: int = 1) -> list[ProcessSpec]:
    """Everything that is ours, in the order of the flow; `fed` False where a replayer writes the log instead.

    `bots` of each exchange: one trades, the others stand by.
    """
    kafka = tuple(name for name in services if name == "kafka")
    outside = ("exchanges",) if session.exchanges_url else ()
    parts: list[ProcessSpec] = []
    if session.exchanges_url:
        parts.append(_part(session, "exchanges", "exchanges", "--session"))
    # Spark needs longest to start, so it comes first and waits for nothing but the log
    parts.append(_part(session, "cep", "cep", after=kafka, environment={"PYSPARK_PYTHON": sys.executable}))
    parts.append(_part(session, "publisher", "publisher", after=services))
    if session.recordings_mb is not None:
        parts.append(_part(session, "logrecorder", "logrecorder", after=kafka))
    if fed:
        parts += [
            _part(session, f"feed-{name}", "feed", name, after=services + outside, exchange=name)
            for name in session.exchanges
        ]
    parts += [
        replace(
            _part(session, name, "bot", exchange, "--number", str(number), after=services + outside, exchange=exchange),
            stop_seconds=None,
        )
        for name, exchange, number in bot_parts(session, bots)
    ]
    parts.append(_part(session, "ui", "ui", after=services))
    if session.notices:
        mongodb = tuple(name for name in services if name == "mongodb")
        parts.append(_part(session, NOTIFIER, NOTIFIER, after=mongodb))
    return parts


def bot_parts(session: Session, bots: int) -> list[tuple[str, str, int]]:
    """(name of the part, exchange, number among the bots of that exchange)."""
    traded = dict.fromkeys(market.exchange for market in session.traded)
    return [(bot_name(exchange, number), exchange, number) for exchange in traded for number in range(1, bots + 1)]


def _part(
    session: Session,
    name: str,
    *words: str,
    after: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    exchange: str | None = None,
) -> ProcessSpec:
    told = {"ARBITRAGE_HOME": str(session.home)} | (environment or {})
    return ProcessSpec(name, (sys.executable, "-m", "launch.cli.main", *words), after, told, exchange=exchange)
