"""Who may read and write which topics of an embedded Kafka, on a real broker."""

import asyncio
import socket
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its public names, which it does not mark as such
    AdminClient,
    ScramMechanism,
)

from runtime.logins import Address, Login
from streams.broker.embedded_broker import wait_ready
from streams.broker.kafka_users import TopicUser, ensure_users, jaas_of
from streams.errors import StreamError, StreamUnavailableError
from streams.topic_admin import check_reachable, client_settings, ensure_input_log
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from tests.service_process import ServiceProcess
from tests.services import START_SECONDS
from tests.streams.conftest import NewTopicName

WRITER, READER = Login("writer", "w" * 20), Login("reader", "r" * 20)


async def written(address: str, topic: str) -> None:
    writer = TopicWriter(address)
    writer.write(topic, b"row", None, 0)
    await writer.flush()
    await writer.close()


async def read(address: str, topic: str) -> list[bytes]:
    async with TopicReader(address, (topic,), "earliest") as reader:
        return [record.value async for record in reader.records_to_end()]


async def test_each_user_reads_and_writes_what_it_may_and_nothing_else(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    shared, other = await new_topic(1), await new_topic(1)
    # twice, as at each start
    for _ in range(2):
        await ensure_users(broker.address, [TopicUser(WRITER, (), (shared,)), TopicUser(READER, (shared,), ())])
    as_writer, as_reader = Address(broker.address, WRITER), Address(broker.address, READER)
    await written(as_writer, shared)
    assert await read(as_reader, shared) == await read(as_writer, shared) == [b"row"]
    for address, topic in ((as_reader, shared), (as_writer, other)):
        with pytest.raises(StreamError):
            await written(address, topic)
    with pytest.raises(StreamError):
        await read(as_reader, other)
    assert await read(broker.address, other) == []


async def test_who_has_topics_of_its_own_creates_them_and_no_others(broker: ServiceProcess) -> None:
    owner = Login("owner", "o" * 20)
    await ensure_users(broker.address, [TopicUser(owner, (), (), "app-input-own-"), TopicUser(READER, (), ())])
    as_owner = Address(broker.address, owner)
    for _ in range(2):
        await ensure_input_log(as_owner, "app-input-own-1", 2)
    await written(as_owner, "app-input-own-1")
    assert await read(as_owner, "app-input-own-1") == [b"row"]
    for address, topic in ((as_owner, "app-input-1"), (Address(broker.address, READER), "app-input-own-2")):
        with pytest.raises(StreamError):
            await ensure_input_log(address, topic, 1)
    with pytest.raises(StreamError):
        await read(Address(broker.address, READER), "app-input-own-1")


async def test_who_is_no_longer_named_is_let_in_no_more_and_rights_that_are_gone_are_taken(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    kept, taken = await new_topic(1), await new_topic(1)
    former = Login("former", "f" * 20)
    await ensure_users(broker.address, [TopicUser(WRITER, (), (kept, taken)), TopicUser(former, (kept,), ())])
    await check_reachable(Address(broker.address, former))
    await written(Address(broker.address, WRITER), taken)
    await ensure_users(broker.address, [TopicUser(WRITER, (), (kept,))])
    await written(Address(broker.address, WRITER), kept)
    with pytest.raises(StreamError):
        await written(Address(broker.address, WRITER), taken)
    with pytest.raises(StreamError):
        await check_reachable(Address(broker.address, former), 2.0)
    await check_reachable(broker.address)


async def test_killed_and_started_again_it_knows_its_users_whoever_was_locked_out(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    topic = await new_topic(1)
    # many: which user a starting Kafka looks at first depends on their names
    former = [TopicUser(Login(f"former-{number}", "f" * 20), (topic,), ()) for number in range(20)]
    await ensure_users(broker.address, former)
    await ensure_users(broker.address, [TopicUser(WRITER, (), (topic,))])
    broker.kill()
    broker.start()
    await wait_ready(broker.address, START_SECONDS)
    await written(Address(broker.address, WRITER), topic)
    with pytest.raises(StreamError):
        await check_reachable(Address(broker.address, former[0].login), 2.0)


async def test_in_a_kafka_of_others_their_users_and_rights_stay(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    theirs, taken = await new_topic(1), await new_topic(1)
    other = Login("other", "o" * 20)
    await ensure_users(broker.address, [TopicUser(WRITER, (), (taken,)), TopicUser(other, (), (theirs,))])
    await ensure_users(broker.address, [TopicUser(WRITER, (), ())], is_shared=True)
    await written(Address(broker.address, other), theirs)
    with pytest.raises(StreamError):
        await written(Address(broker.address, WRITER), taken)


async def test_a_user_is_made_for_the_mechanism_that_it_logs_in_by(broker: ServiceProcess) -> None:
    longer = replace(READER, mechanism="SCRAM-SHA-512")
    await ensure_users(broker.address, [TopicUser(longer, (), ())])
    client = AdminClient(client_settings(broker.address))
    asked: Any = client.describe_user_scram_credentials([longer.user])
    made = await asyncio.wrap_future(asked[longer.user])
    assert ScramMechanism.SCRAM_SHA_512 in {each.mechanism for each in made.scram_credential_infos}


@pytest.mark.parametrize("login", [None, Login("writer", "guessed"), Login("nobody", "guessed")])
async def test_a_stranger_gets_no_answer(broker: ServiceProcess, login: Login | None) -> None:
    with pytest.raises(StreamError):
        await check_reachable(Address(broker.address, login), 2.0)


async def test_a_kafka_that_does_not_answer_in_time_is_one_sentence() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StreamUnavailableError, match=r"^Kafka at \S+ did not accept its users \(.+\)\.$"):
            await ensure_users(address, [TopicUser(WRITER, (), ("ticks",))], 0.2)


def test_a_password_is_in_no_text_of_an_address_or_a_login() -> None:
    address = Address("127.0.0.1:9092", WRITER)
    assert WRITER.password not in f"{address} {address!r} {WRITER} {WRITER!r} {str(address)!r}"


def test_java_gets_quotes_as_they_are() -> None:
    text = jaas_of(Login('a"b', "c\\d", "PLAIN"))
    assert text.endswith('PlainLoginModule required username="a\\"b" password="c\\\\d";')
