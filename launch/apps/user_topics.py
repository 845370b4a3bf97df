"""Kafka topics of the user's own, for the apps of a running session: where they are, and who reads and writes them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from cep.apps.functions.operator_terms import BrokerTerms
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import InputPlace
from cep.apps.hosts.input_merger import InputSource, OpenSource
from cep.apps.hosts.kafka_addresses import SESSION, kafka_brokers
from cep.apps.hosts.kafka_source import ForeignTopic, ReadTopic
from launch.errors import CannotStartError
from launch.setup.service_logins import hosts_needing_tls
from runtime.logins import Address, Login, Mechanism, Protocol
from runtime.secret_files import PrivateFileError, private_toml
from session.session import Session
from streams.records import Start
from streams.topic_admin import ensure_app_topic
from streams.topic_reader import TopicReader

_TEXTS = ("user", "password", "mechanism", "protocol", "ca")
_KNOWN: Mapping[str, tuple[str, ...]] = {"mechanism": get_args(Mechanism), "protocol": get_args(Protocol)}


async def user_brokers(session: Session, source: AppSource) -> Mapping[str, str]:
    """Return addresses by the servers in the app's text, each with its login; topics in the session's own Kafka exist
    afterwards. Raises AppTextError for a topic that the operator does not allow, CannotStartError for a login that
    cannot be used, StreamError."""
    brokers = kafka_brokers(source.outside, source.terms.brokers)
    for end in source.outside.kafka_ends:
        if brokers[end.servers].address == SESSION:
            for topic in end.topics:
                await ensure_app_topic(session.services.kafka, topic, session.services.partitions)
    return {servers: _address(session, broker) for servers, broker in brokers.items()}


def topic_openers(
    session: Session, source: AppSource, brokers: Mapping[str, str], market_time: Callable[[int], int]
) -> Mapping[str, OpenSource]:
    """Return the readers of the user's own topics, by their names in the app's input log."""
    partitions = session.services.partitions if source.is_keyed else 1
    return {
        name: _opener(
            ReadTopic(name, sources, partitions=partitions), brokers[sources[0].servers], session, market_time
        )
        for name, sources in source.outside.topics.items()
    }


def _opener(read: ReadTopic, address: str, session: Session, market_time: Callable[[int], int]) -> OpenSource:
    def reader(start: Start) -> TopicReader:
        return TopicReader(address, (read.topic,), start)

    async def opened(partition: int, place: InputPlace) -> InputSource:
        source = ForeignTopic(replace(read, partition=partition), place, reader, session.started_at, market_time)
        await source.open()
        return source

    return opened


def _address(session: Session, broker: BrokerTerms) -> str:
    if broker.address == SESSION:
        return session.services.kafka
    if broker.login_file is None:
        return Address(broker.address, None)
    login = login_in(broker.login_file)
    seen_by = next(hosts_needing_tls(broker.address, broker.plain_text_hosts), None)
    if login.protocol == "SASL_PLAINTEXT" and seen_by is not None:
        raise CannotStartError(
            f"[apps.brokers] {broker.servers}: the login would go to {seen_by} without TLS; set protocol to SASL_SSL "
            f"in {broker.login_file}, or, if nobody else can read that network, add {seen_by!r} to plain_text_hosts."
        )
    return Address(broker.address, login)


def login_in(path: Path) -> Login:
    """Return the login in the file, with TLS and SCRAM-SHA-512 if it names no other. Raises CannotStartError, which
    names no value."""
    try:
        found: dict[str, Any] = private_toml(path)
    except PrivateFileError as error:
        raise CannotStartError(f"[apps.brokers] login_file: {error}.") from None
    strange = next((name for name in found if name not in _TEXTS), None)
    if strange is not None:
        raise CannotStartError(f"[apps.brokers] login_file: {path}: {strange} is none of {', '.join(_TEXTS)}.")
    lacking = next((name for name in ("user", "password") if not found.get(name)), None)
    if lacking is not None or not all(isinstance(value, str) for value in found.values()):
        raise CannotStartError(f"[apps.brokers] login_file: {path} needs user and password, and every value as a text.")
    chosen = {"mechanism": "SCRAM-SHA-512", "protocol": "SASL_SSL"} | found
    for name, known in _KNOWN.items():
        if chosen[name] not in known:
            raise CannotStartError(f"[apps.brokers] login_file: {path}: {name} is one of {', '.join(known)}.")
    if found.get("ca"):
        certificates = (path.expanduser().parent / found["ca"]).resolve()
        if not certificates.is_file():
            raise CannotStartError(f"[apps.brokers] login_file: {path}: ca is {found['ca']!r}, which is no file.")
        chosen["ca"] = str(certificates)
    return Login(**chosen)
