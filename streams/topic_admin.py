"""Is Kafka there, and does it have our topics?"""

import asyncio
import os
import struct
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from market.time_units import MICROSECONDS
from session.clock import steady_now
from session.logins import login_of
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.topics import ALL_TOPICS, HEALTH, OPPORTUNITIES, REJECTS, SPREADS, TICKS, UNORDERED_TOPICS

REACH_SECONDS = 4.0
SLICE_SECONDS = 1.0
CREATE_SECONDS = 15.0
DAY_MS = 86_400_000
GIGABYTE = 1024**3
RETAINED_BYTES = {
    TICKS: 2 * GIGABYTE,
    OPPORTUNITIES: GIGABYTE // 2,
    SPREADS: GIGABYTE // 4,
    REJECTS: GIGABYTE // 4,
    HEALTH: GIGABYTE // 8,
}
"""Of a whole topic, all its partitions together."""
SEGMENT_BYTES = 64 * 1024**2
PASSING = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_CONTROLLER,
)
"""Of a Kafka that is slow or starting. The library marks no answer to an administrator as one to ask for again."""
ASK_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""Which requests a broker knows (ApiVersions 0, of nobody by name): the one question that it answers before a login."""


async def check_reachable(address: str, seconds: float = REACH_SECONDS) -> None:
    """Return once Kafka at `address` (host:port, several with commas) has answered for its metadata.

    Raises StreamUnavailableError within `seconds`, StreamRejectedError where the address is none.
    """
    deadline = steady_now() + int(seconds * MICROSECONDS)
    await _connect(address, seconds)
    client = _client(address)
    while True:
        try:
            # in slices: a thread cannot be cancelled, and the process must be able to end within 2 s
            await asyncio.to_thread(client.list_topics, timeout=min(seconds, SLICE_SECONDS))
            return
        except KafkaException as error:
            if steady_now() >= deadline:
                raise StreamUnavailableError(
                    f"what listens at {address} did not answer as Kafka within {seconds:.0f} s ({reason_of(error)})."
                ) from None


async def is_answering(address: str, seconds: float, patience: float) -> bool:
    """Whether a host at `address` takes a connection within `seconds`, which the system does even for a busy one, and
    answers within `patience`, which a frozen one does not.

    Behind TLS only the connection is looked at. Raises StreamRejectedError where the address is none.
    """
    login = login_of(address)
    question = b"" if login is not None and login.protocol == "SASL_SSL" else ASK_VERSIONS
    try:
        await _connect(address, seconds, question, patience)
    except StreamUnavailableError:
        return False
    return True


async def ensure_topics(address: str, partitions: int) -> None:
    """Create those of our topics that are not there. `ticks` gets `partitions`, and so do the topics keyed like it.

    Raises StreamUnavailableError, or StreamRejectedError where a topic is there with another number of partitions.
    """
    await check_reachable(address)
    client = _client(address)
    there = await _partition_counts(client, address)
    for topic in ALL_TOPICS:
        wanted = partitions_of(topic, partitions)
        if topic in there and there[topic] != wanted:
            raise StreamRejectedError(
                f"topic {topic} at {address} has {there[topic]} partitions and the configuration says {wanted}; "
                "configure that number, or delete the topic (embedded: remove the data folder's kafka)."
            )
    missing = [_new_topic(topic, partitions_of(topic, partitions)) for topic in ALL_TOPICS if topic not in there]
    if missing:
        await asyncio.to_thread(_create, client, missing, address)


def partitions_of(topic: str, partitions: int) -> int:
    """Rejected quotes and signs of life need no order; one partition is enough."""
    return 1 if topic in UNORDERED_TOPICS else partitions


def client_settings(address: str) -> dict[str, str | int | float | bool]:
    """What every client of ours has in common: quick to come back after an outage, silent on standard error."""
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
    """The library's words, without its codes."""
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


async def _connect(address: str, seconds: float, question: bytes = b"", patience: float = 0) -> None:
    """One of the hosts accepts a connection, and answers the question where there is one; the library itself would keep
    silent about why none does."""
    fault = "no host named"
    for host_port in address.split(","):
        host, _, port = host_port.strip().rpartition(":")
        if not host or not port.isdecimal():
            raise StreamRejectedError(f"{address} is no Kafka address; write host:port.")
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(host, int(port))
            try:
                if not question or await _is_answered(reader, writer, question, patience):
                    return
            finally:
                writer.close()
            fault = "it hung up"
        except TimeoutError:
            fault = "no answer in time"
        except OSError as error:
            fault = os.strerror(error.errno) if error.errno else str(error)
    raise StreamUnavailableError(f"Kafka at {address} was not reached ({fault.lower()}); is it running there?")


async def _is_answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: bytes, patience: float
) -> bool:
    """Raises TimeoutError, OSError."""
    writer.write(question)
    async with asyncio.timeout(patience):
        return await reader.read(1) != b""


def _client(address: str) -> AdminClient:
    return AdminClient(client_settings(address))


async def _partition_counts(client: AdminClient, address: str) -> dict[str, int]:
    try:
        metadata = await asyncio.to_thread(client.list_topics, timeout=REACH_SECONDS)
    except KafkaException as error:
        raise StreamUnavailableError(f"Kafka at {address} did not list its topics ({reason_of(error)}).") from None
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def _new_topic(topic: str, partitions: int) -> NewTopic:
    config = {
        "retention.ms": str(DAY_MS),
        "retention.bytes": str(RETAINED_BYTES[topic] // partitions),
        "segment.bytes": str(SEGMENT_BYTES),
    }
    return NewTopic(topic, num_partitions=partitions, config=config)


def _create(client: AdminClient, topics: list[NewTopic], address: str) -> None:
    created: dict[str, Future[None]] = client.create_topics(topics, operation_timeout=CREATE_SECONDS)
    for topic, future in created.items():
        try:
            future.result()
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:  # somebody was quicker
                continue
            raise creation_error(topic, address, cause) from None


def creation_error(topic: str, address: str, cause: KafkaError) -> StreamError:
    """What it means to us that a topic was not created."""
    kind = StreamUnavailableError if cause.code() in PASSING else StreamRejectedError
    return kind(f"topic {topic} could not be created at {address} ({cause.str()}).")
