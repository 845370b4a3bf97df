"""Who may read and write which topics of an embedded Kafka, and how Java's clients are told a login."""

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its public names, which it does not mark as such
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from market.logins import Login, login_of
from streams.admin import client_settings, reason_of
from streams.errors import StreamUnavailableError

ROUNDS = 4_096
"""Kafka takes no fewer; passwords are random, so that more would only slow each connection."""
ANSWER_SECONDS = 15.0
ANY = "*"
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class TopicUser:
    """Writes to `writes`, reads those and `reads`, and knows of no other topic."""

    login: Login
    reads: tuple[str, ...]
    writes: tuple[str, ...]


async def ensure_users(address: str, users: Iterable[TopicUser], seconds: float = ANSWER_SECONDS) -> None:
    """Each with its password and at least the rights named here; the owner asks. Raises StreamUnavailableError, also
    where one of the answers takes longer than `seconds`."""
    users = tuple(users)
    client = AdminClient(client_settings(address))
    changes: list[UserScramCredentialAlteration] = [_credential(user.login) for user in users]
    rights = [right for user in users for right in _rights(user)]
    try:
        changed = client.alter_user_scram_credentials(changes, request_timeout=seconds)
        granted = client.create_acls(rights, request_timeout=seconds)
        await asyncio.to_thread(_await_all, changed, seconds)
        await asyncio.to_thread(_await_all, granted, seconds)
    except (KafkaException, TimeoutError) as error:
        reason = reason_of(error) if isinstance(error, KafkaException) else f"no answer within {seconds:g} s"
        raise StreamUnavailableError(f"Kafka at {address} did not take its users ({reason}).") from None


def spark_options(address: str) -> dict[str, str]:
    """Options of Spark's Kafka source and sink. Spark keeps a login out of logs and reports ("[hidden]")."""
    options = {"kafka.bootstrap.servers": str(address)}
    login = login_of(address)
    if login is not None:
        options |= {
            "kafka.security.protocol": login.protocol,
            "kafka.sasl.mechanism": login.mechanism,
            "kafka.sasl.jaas.config": jaas_of(login),
        }
        if login.ca:
            options |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": login.ca}
    return options


def jaas_of(login: Login) -> str:
    """As Java's clients and brokers want a login."""
    module = "plain.PlainLoginModule" if login.mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f"{_MODULES}.{module} required username={_quoted(login.user)} password={_quoted(login.password)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _credential(login: Login) -> UserScramCredentialUpsertion:
    kind = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, ROUNDS)
    return UserScramCredentialUpsertion(login.user, kind, login.password.encode())


def _rights(user: TopicUser) -> list[AclBinding]:
    wanted = {(ResourceType.TOPIC, topic, AclOperation.READ) for topic in (*user.reads, *user.writes)}
    wanted |= {(ResourceType.TOPIC, topic, AclOperation.WRITE) for topic in user.writes}
    # nothing is kept in a group, but clients ask for its coordinator before they read
    wanted.add((ResourceType.GROUP, ANY, AclOperation.READ))
    principal = f"User:{user.login.user}"
    return [
        AclBinding(kind, name, ResourcePatternType.LITERAL, principal, ANY, operation, AclPermissionType.ALLOW)
        for kind, name, operation in wanted
    ]


def _await_all(futures: "Mapping[Any, Future[Any]]", seconds: float) -> None:
    for future in futures.values():
        future.result(seconds)
