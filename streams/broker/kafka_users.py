"""Users of a Kafka with their rights to topics, and logins for Java's clients."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its public names, which it does not mark as such
    AclBinding,
    AclBindingFilter,
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

from runtime.logins import Login, login_of
from streams.errors import StreamUnavailableError
from streams.topic_admin import client_settings, reason_of

ROUNDS = 4_096
"""Kafka's minimum; passwords are random, so more iterations would only slow each connection."""
LOCKED_ROUNDS = ROUNDS + 1
"""Tells users who are locked out from those whose password somebody has."""
SCRAM: Mapping[str, ScramMechanism] = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
"""The mechanisms whose users are created here."""
ANSWER_SECONDS = 15.0
ANY = "*"
ANYTHING: Any = None
"""A wildcard in a filter; the library's types do not allow None."""
ANY_RIGHT = AclBindingFilter(
    ResourceType.ANY, ANYTHING, ResourcePatternType.ANY, ANYTHING, ANYTHING, AclOperation.ANY, AclPermissionType.ANY
)
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class TopicUser:
    """A user that writes to `writes`, reads those and `reads`, and has no other topic; but it creates, reads and writes
    those whose names begin with `prefix`, if it has one."""

    login: Login
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    prefix: str | None = None


async def ensure_users(
    address: str, users: Iterable[TopicUser], seconds: float = ANSWER_SECONDS, *, is_shared: bool = False
) -> None:
    """Create each user with its password and exactly its rights, and lock out all others but the owner; those of a
    Kafka that `is_shared` stay.

    Those locked out keep their names, with a password that nobody has: a Kafka that starts again from a log with
    deleted users may forget all users (4.3.1, `ScramDelta.apply`: a deletion from the users read so far, of whom there
    is none yet, drops those read after it).

    Raises StreamUnavailableError, also if one of the answers takes longer than `seconds`.
    """
    users = tuple(users)
    try:
        client = AdminClient(client_settings(address))
        await asyncio.to_thread(_ensure_users, client, login_of(address), users, seconds, is_shared)
    except (KafkaException, TimeoutError) as error:
        reason = reason_of(error) if isinstance(error, KafkaException) else f"no answer within {seconds:g} s"
        raise StreamUnavailableError(f"Kafka at {address} did not accept its users ({reason}).") from None


def _ensure_users(
    client: AdminClient, owner: Login | None, users: tuple[TopicUser, ...], seconds: float, is_shared: bool
) -> None:
    names = {user.login.user for user in users}
    wanted = names | ({owner.user} if owner is not None else set())
    principals = {_principal(name) for name in names}
    rights = {right for user in users for right in _rights(user)}
    asked_users: Any = client.describe_user_scram_credentials(request_timeout=seconds)
    asked_rights = client.describe_acls(ANY_RIGHT, request_timeout=seconds)
    known, given = asked_users.result(seconds), asked_rights.result(seconds)
    changes: list[UserScramCredentialAlteration] = [_credential(user.login) for user in users]
    changes += [
        UserScramCredentialUpsertion(
            name, ScramCredentialInfo(each.mechanism, LOCKED_ROUNDS), secrets.token_urlsafe().encode()
        )
        for name, description in known.items()
        if name not in wanted and not is_shared
        for each in description.scram_credential_infos
        if each.iterations != LOCKED_ROUNDS
    ]
    taken = [
        _exactly(right) for right in given if right not in rights and (right.principal in principals or not is_shared)
    ]
    waiting: list[Mapping[Any, Future[Any]]] = [client.alter_user_scram_credentials(changes, request_timeout=seconds)]
    waiting.append(client.create_acls(list(rights), request_timeout=seconds))
    if taken:
        waiting.append(client.delete_acls(taken, request_timeout=seconds))
    for answers in waiting:
        _await_all(answers, seconds)


def spark_options(address: str) -> dict[str, str]:
    """Options of Spark's Kafka source and sink. Spark keeps a login out of logs and reports ("[hidden]")."""
    return {f"kafka.{name}": value for name, value in java_client_settings(address).items()}


def java_client_settings(address: str) -> dict[str, str]:
    """Where and how a client in Java reaches a Kafka. They contain the password."""
    settings = {"bootstrap.servers": str(address)}
    login = login_of(address)
    if login is not None:
        settings |= {
            "security.protocol": login.protocol,
            "sasl.mechanism": login.mechanism,
            "sasl.jaas.config": jaas_of(login),
        }
        if login.ca:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": login.ca}
    return settings


def jaas_of(login: Login) -> str:
    """Return a login in the format of Java's clients and brokers."""
    module = "plain.PlainLoginModule" if login.mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f"{_MODULES}.{module} required username={_quoted(login.user)} password={_quoted(login.password)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _credential(login: Login) -> UserScramCredentialUpsertion:
    kind = ScramCredentialInfo(SCRAM[login.mechanism], ROUNDS)
    return UserScramCredentialUpsertion(login.user, kind, login.password.encode())


def _principal(name: str) -> str:
    return f"User:{name}"


def _rights(user: TopicUser) -> list[AclBinding]:
    named = ResourcePatternType.LITERAL
    wanted = {(ResourceType.TOPIC, topic, named, AclOperation.READ) for topic in (*user.reads, *user.writes)}
    wanted |= {(ResourceType.TOPIC, topic, named, AclOperation.WRITE) for topic in user.writes}
    if user.prefix is not None:
        for operation in (AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE):
            wanted.add((ResourceType.TOPIC, user.prefix, ResourcePatternType.PREFIXED, operation))
    # no offsets are stored in a group, but clients request its coordinator before they read
    wanted.add((ResourceType.GROUP, ANY, named, AclOperation.READ))
    return [
        AclBinding(kind, name, pattern, _principal(user.login.user), ANY, operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operation in wanted
    ]


def _exactly(right: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        right.restype,
        right.name,
        right.resource_pattern_type,
        right.principal,
        right.host,
        right.operation,
        right.permission_type,
    )


def _await_all(futures: "Mapping[Any, Future[Any]]", seconds: float) -> None:
    for future in futures.values():
        future.result(seconds)
