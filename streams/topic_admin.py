"""Checks that Kafka is reachable and creates our topics."""

import asyncio
import os
import struct
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from ssl import SSLCertVerificationError, SSLContext, SSLError, create_default_context
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from runtime.logins import login_of
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.topics import (
    ALL_TOPICS,
    APP_INPUT,
    APP_TOPICS,
    APPS,
    CYCLE_OPPORTUNITIES,
    HEALTH,
    OPPORTUNITIES,
    QUOTES,
    REJECTS,
    SHARED,
    SHARED_IN,
    SPREADS,
    TICKS,
    UNORDERED_TOPICS,
)

CONNECT_SECONDS = 4.0
SLICE_SECONDS = 1.0
CREATE_SECONDS = 15.0
LIST_SECONDS = 0.1
DAY_MS = 86_400_000
GIGABYTE = 1024**3
RETAINED_BYTES = {
    TICKS: 2 * GIGABYTE,
    OPPORTUNITIES: GIGABYTE // 2,
    CYCLE_OPPORTUNITIES: GIGABYTE // 2,
    SPREADS: GIGABYTE // 4,
    REJECTS: GIGABYTE // 4,
    HEALTH: GIGABYTE // 8,
    APPS: GIGABYTE // 4,
    QUOTES: GIGABYTE,
    SHARED: GIGABYTE // 4,
    SHARED_IN: GIGABYTE // 4,
    APP_INPUT: GIGABYTE // 2,
}
"""Retention of a topic, all partitions together; of each app's input log and other topics."""
SEGMENT_BYTES = 64 * 1024**2
TRANSIENT_ERRORS = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_CONTROLLER,
)
"""Errors of a Kafka that is slow or starting; the library marks no error of an admin request as retriable."""
API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""ApiVersions 0 without a client id: the only request that a broker answers before a login."""

IS_IT_THERE = "is it running there?"
ADVICE_ON_CERTIFICATES = "its certificate must be valid today, for this host, and signed by the authority in kafka_ca."
PROBE_SECONDS = 1.0
TLS_ALERT = b"\x15"
"""First byte of a TLS record that says what is wrong (RFC 8446, 5.1); Kafka's answers begin with their length."""
ADVICE_ON_TLS = "does it listen with TLS there? Without, ARBITRAGE_KAFKA_PROTOCOL is SASL_PLAINTEXT."


async def check_reachable(address: str, seconds: float = CONNECT_SECONDS) -> None:
    """Return once Kafka at `address` (host:port, several with commas) has answered a metadata request.

    Raises StreamUnavailableError within `seconds` and a second to find out why, StreamRejectedError if the address is
    invalid.
    """
    deadline = steady_now() + int(seconds * MICROSECONDS)
    await _connect(address, seconds)
    faults: list[KafkaError] = []
    client = _client(address, faults.append)
    while True:
        try:
            # in slices: a thread cannot be cancelled, and the process must be able to end within 2 s
            await asyncio.to_thread(client.list_topics, timeout=min(seconds, SLICE_SECONDS))
            return
        except KafkaException as error:
            # the library says a failed login in this call, and goes on trying
            client.poll(0)
            if steady_now() >= deadline:
                why = await _why_unanswered(address, seconds, reason_of(error), faults)
                raise StreamUnavailableError(why) from None


async def _why_unanswered(address: str, seconds: float, reason: str, faults: Iterable[KafkaError]) -> str:
    login = login_of(address)
    if login is not None and any(map(_is_refusal, faults)):
        # also while a broker is starting that has not read its users yet
        return f"Kafka at {address} refused the login of {login.user}; check its password and mechanism."
    said = f"the server at {address} did not answer as Kafka within {seconds:.0f} s ({reason})"
    if not _asks_for_tls(address) and await _hangs_up(address):
        return f"{said}; it hangs up, as one that asks for TLS does: set a login with SASL_SSL, and kafka_ca."
    return f"{said}; it listens, so it is busy, frozen, or no Kafka."


async def _hangs_up(address: str) -> bool:
    """Return whether a host ends the connection at a request without TLS, as one does that asks for it; a busy one is
    silent. The library reports both alike. Takes a second a host at most."""
    for host_port in address.split(","):
        host, _, port = host_port.strip().rpartition(":")
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(PROBE_SECONDS):
                reader, writer = await asyncio.open_connection(host, int(port))
                try:
                    writer.write(API_VERSIONS_REQUEST)
                    return await reader.read(1) in (b"", TLS_ALERT)
                except ConnectionResetError:
                    return True
                finally:
                    writer.close()
    return False


def _is_refusal(fault: KafkaError) -> bool:
    """Tell apart what the library has one code for: a broker that closed the connection before it had looked at the
    login."""
    return fault.code() == KafkaError._AUTHENTICATION and "handshake failed: Local:" not in fault.str()


async def is_answering(address: str, seconds: float, answer_seconds: float) -> bool:
    """Whether a host at `address` accepts a connection within `seconds`, which even a busy one does, and
    answers within `answer_seconds`, which a frozen one does not.

    Raises StreamRejectedError if the address is invalid.
    """
    try:
        await _connect(address, seconds, API_VERSIONS_REQUEST, answer_seconds)
    except StreamUnavailableError:
        return False
    return True


async def ensure_topics(address: str, partitions: int, topics: tuple[str, ...] = ALL_TOPICS) -> None:
    """Create those of our topics that do not exist. `ticks` gets `partitions`, and so do the topics keyed like it.

    `topics`: `session_topics` of a session with regions, each of which has the same `partitions`, or with cycles.
    Raises StreamUnavailableError, or StreamRejectedError if a topic exists with another number of partitions.
    """
    await _ensure(address, {topic: partitions_of(topic, partitions) for topic in topics})


async def ensure_input_log(address: str, topic: str, partitions: int) -> None:
    """Create an app's input log if it does not exist; a broker lists it afterwards. Raises as `ensure_topics`."""
    await _ensure(address, {topic: partitions})
    client, deadline = _client(address), steady_now() + int(CREATE_SECONDS * MICROSECONDS)
    while topic not in await _partition_counts(client, address):
        if steady_now() > deadline:
            raise StreamUnavailableError(f"Kafka at {address} created topic {topic}, and does not list it yet.")
        await SystemClock().sleep(LIST_SECONDS)


async def ensure_app_topic(address: str, topic: str, partitions: int) -> None:
    """Create a topic of an app's if it does not exist; one that does may have any number of partitions.

    Raises StreamUnavailableError, StreamRejectedError.
    """
    await check_reachable(address)
    if topic not in await _partition_counts(_client(address), address):
        await ensure_input_log(address, topic, partitions)


async def check_topic(address: str, topic: str) -> None:
    """Raise StreamRejectedError if there is no such topic, StreamUnavailableError if nobody answers."""
    await check_reachable(address)
    if topic not in await _partition_counts(_client(address), address):
        raise StreamRejectedError(f"topic {topic} does not exist at {address}; create it first.")


async def topic_mark(address: str, topic: str) -> str:
    """Return the topic's id, which another one of the name that is made later does not have (KIP-516).

    Raises StreamRejectedError if there is none, StreamUnavailableError.
    """
    await check_topic(address, topic)
    # held until it has answered
    client = _client(address)
    (asked,) = client.describe_topics(TopicCollection([topic]), request_timeout=CONNECT_SECONDS).values()
    try:
        return str((await asyncio.wrap_future(asked)).topic_id)
    except KafkaException as error:
        raise StreamUnavailableError(f"Kafka at {address} did not describe {topic} ({reason_of(error)}).") from None


async def _ensure(address: str, topics: Mapping[str, int]) -> None:
    await check_reachable(address)
    client = _client(address)
    existing = await _partition_counts(client, address)
    for topic, wanted in topics.items():
        if topic in existing and existing[topic] != wanted:
            raise StreamRejectedError(
                f"topic {topic} at {address} has {existing[topic]} partitions, but {wanted} are configured; "
                "configure that number, or delete the topic (embedded: remove the data folder's kafka)."
            )
    missing = [_new_topic(topic, wanted) for topic, wanted in topics.items() if topic not in existing]
    if missing:
        await asyncio.to_thread(_create, client, missing, address)


def partitions_of(topic: str, partitions: int) -> int:
    """Rejected quotes and heartbeats need no order; one partition is enough."""
    return 1 if topic in UNORDERED_TOPICS else partitions


def client_settings(address: str) -> dict[str, str | int | float | bool]:
    """Return the settings of all our clients: fast reconnects after an outage, no output on standard error."""
    login = login_of(address)
    named: dict[str, str | int | float | bool] = {}
    if login is not None:
        named = {
            "security.protocol": login.protocol,
            "sasl.mechanism": login.mechanism,
            "sasl.username": login.user,
            "sasl.password": login.password,
        }
        if login.ca:
            named["ssl.ca.location"] = login.ca
    return named | {
        "bootstrap.servers": str(address),
        "log_level": 0,
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1_000,
        "retry.backoff.ms": 50,
        "topic.metadata.refresh.interval.ms": 30_000,
        "allow.auto.create.topics": False,
    }


def reason_of(error: KafkaException) -> str:
    """Return the library's error text, without its codes."""
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


async def _connect(address: str, seconds: float, request: bytes = b"", answer_seconds: float = 0) -> None:
    """Return once one of the hosts accepts a connection, with the TLS that is asked for, and answers the request, if
    any. The library itself does not report why none does."""
    context = _tls_context_for(address)
    fault, advice = "no host named", IS_IT_THERE
    for host_port in address.split(","):
        host, _, port = host_port.strip().rpartition(":")
        if not host or not port.isdecimal():
            raise StreamRejectedError(f"{address} is not a Kafka address; write host:port.")
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(host, int(port))
            try:
                if context is not None:
                    # its handshake is the broker's own work, as an answer is
                    async with asyncio.timeout(answer_seconds or seconds):
                        await writer.start_tls(context, server_hostname=host)
                if not request or await _gets_answer(reader, writer, request, answer_seconds):
                    return
            finally:
                writer.close()
            fault, advice = "connection closed", IS_IT_THERE
        except OSError as error:
            fault, advice = _fault_of(error)
        except (OverflowError, UnicodeError):
            raise StreamRejectedError(f"{address} is not a Kafka address; write host:port.") from None
    raise StreamUnavailableError(f"Kafka at {address} is unreachable ({fault.lower()}); {advice}")


def _fault_of(error: OSError) -> tuple[str, str]:
    """Why a connection failed, and what to look at."""
    if isinstance(error, TimeoutError):
        return "no answer in time", IS_IT_THERE
    if isinstance(error, SSLCertVerificationError):
        return error.verify_message.rstrip("."), ADVICE_ON_CERTIFICATES
    if isinstance(error, SSLError):
        return error.reason or str(error), ADVICE_ON_TLS
    if isinstance(error, ConnectionResetError) and not error.errno:
        # by asyncio itself, if a handshake is broken off
        return "connection closed", ADVICE_ON_TLS
    return os.strerror(error.errno) if error.errno else str(error), IS_IT_THERE


def _tls_context_for(address: str) -> SSLContext | None:
    """None if it is asked without TLS. Raises StreamRejectedError, StreamUnavailableError."""
    login = login_of(address)
    if login is None or not _asks_for_tls(address):
        return None
    try:
        return _tls_context(login.ca)
    except SSLError:
        reason = f"its authority {login.ca} holds no certificate; name one in PEM."
        raise StreamRejectedError(f"Kafka at {address} is not asked: {reason}") from None
    except OSError as error:
        reason = f"its authority {login.ca} cannot be read ({error.strerror}); put the file of kafka_ca back."
        raise StreamUnavailableError(f"Kafka at {address} is not asked: {reason}") from None


def _asks_for_tls(address: str) -> bool:
    login = login_of(address)
    return login is not None and login.protocol == "SASL_SSL"


@cache
def _tls_context(ca: str) -> SSLContext:
    """Made once, since reading the system's authorities takes longer than a connection."""
    return create_default_context(cafile=ca or None)


async def _gets_answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, answer_seconds: float
) -> bool:
    """Raise TimeoutError, OSError."""
    writer.write(request)
    async with asyncio.timeout(answer_seconds):
        return await reader.read(1) != b""


def _client(address: str, on_error: Callable[[KafkaError], None] | None = None) -> AdminClient:
    """Raise StreamRejectedError if the library takes no such settings, such as certificates that are none."""
    settings: dict[str, Any] = dict(client_settings(address))
    if on_error is not None:
        settings["error_cb"] = on_error
    try:
        return AdminClient(settings)
    except KafkaException as error:
        raise StreamRejectedError(f"no client for Kafka at {address} ({reason_of(error)}).") from None


async def _partition_counts(client: AdminClient, address: str) -> dict[str, int]:
    try:
        metadata = await asyncio.to_thread(client.list_topics, timeout=CONNECT_SECONDS)
    except KafkaException as error:
        raise StreamUnavailableError(f"Kafka at {address} did not list its topics ({reason_of(error)}).") from None
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def _new_topic(topic: str, partitions: int) -> NewTopic:
    kind = APP_INPUT if topic.startswith(APP_TOPICS) else topic
    config = {
        "retention.ms": str(DAY_MS),
        "retention.bytes": str(RETAINED_BYTES[kind] // partitions),
        "segment.bytes": str(SEGMENT_BYTES),
    }
    if topic == SHARED_IN:
        # a mirror keeps the times of the original, which are minutes old after a cut
        config["message.timestamp.type"] = "LogAppendTime"
    return NewTopic(topic, num_partitions=partitions, config=config)


def _create(client: AdminClient, topics: list[NewTopic], address: str) -> None:
    created: dict[str, Future[None]] = client.create_topics(topics, operation_timeout=CREATE_SECONDS)
    for topic, future in created.items():
        try:
            future.result()
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                continue
            raise creation_error(topic, address, cause) from None


def creation_error(topic: str, address: str, cause: KafkaError) -> StreamError:
    """Map a failed creation of a topic to our errors."""
    kind = StreamUnavailableError if cause.code() in TRANSIENT_ERRORS else StreamRejectedError
    return kind(f"topic {topic} could not be created at {address} ({cause.str()}).")
