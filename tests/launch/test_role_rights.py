"""Each login against the table of rights: the servers grant exactly these."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]  # which it does not mark so
from pymongo.errors import OperationFailure

from launch.setup.login_files import OwnLogins, own_logins
from launch.setup.login_rights import MIRROR, MIRROR_READER, ROLES, SUPERVISOR
from runtime.logins import Address, Login
from store.server.client import Client, Document, connect
from store.server.database_users import ensure_users_at
from store.server.documents import COLLECTIONS
from streams.broker.kafka_users import ensure_users
from streams.topic_admin import client_settings, ensure_input_log, ensure_topics
from streams.topics import APP_INPUT, QUOTES, SHARED, SHARED_IN, TICKS, session_topics
from tests.service_process import ServiceProcess
from tests.services import embedded_kafka

UNAUTHORIZED = 13
READING = {AclOperation.DESCRIBE, AclOperation.READ}
WRITING = READING | {AclOperation.WRITE}
OWN_TOPIC = f"{APP_INPUT}rights"
ROLES_IN_MONGODB = [role for role, rights in ROLES.items() if rights.collections is not None]
ROLES_IN_KAFKA = [role for role, rights in ROLES.items() if rights.topics_read is not None]

FIND: Document = {"find": "trades"}
Operations = set[AclOperation]


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> OwnLogins:
    return own_logins(tmp_path_factory.mktemp("logins"), has_regions=True)


@pytest.fixture
async def database(mongodb_uri: str, logins: OwnLogins) -> AsyncIterator[str]:
    """Return one with a row in each collection, and another beside it; their users are those of all roles."""
    owner, name = connect(mongodb_uri), f"rights_{uuid4().hex}"
    users = logins.database_users(name)
    try:
        for collection in COLLECTIONS:
            await owner[name][collection].insert_one({"_id": "first"})
        await owner[f"{name}_other"]["trades"].insert_one({"_id": "first"})
        await ensure_users_at(mongodb_uri, users)
        yield name
    finally:
        for user in users:
            await owner.admin.command("dropUser", user.login.user)
            await owner.admin.command("dropRole", user.login.user)
        await owner.drop_database(name)
        await owner.drop_database(f"{name}_other")
        owner.close()


async def test_a_part_changes_rows_of_its_collections_and_nothing_else(
    mongodb_uri: str, database: str, logins: OwnLogins
) -> None:
    written, allowed = {}, {}
    for role in ROLES_IN_MONGODB:
        client = connect(Address(mongodb_uri, logins.login(role)))
        written[role] = {name for name in COLLECTIONS if await is_allowed(client, database, row_for(name, role))}
        # a role that reads at all reads all of a session
        assert await client[database][COLLECTIONS[0]].find_one({"_id": "first"}) == {"_id": "first"}
        refused = [(database, words) for name in COLLECTIONS for words in changes_of(name)]
        refused += [(database, words) for words in changes_of_all()]
        refused += [(f"{database}_other", FIND), (f"{database}_other", row_for("trades", role))]
        refused += [("admin", words) for words in administration(role)]
        allowed[role] = [(place, words) for place, words in refused if await is_allowed(client, place, words)]
        client.close()
    assert written == {role: set(ROLES[role].collections or ()) for role in ROLES_IN_MONGODB}
    assert allowed == {role: [] for role in ROLES_IN_MONGODB}


def row_for(collection: str, role: str) -> Document:
    return {"insert": collection, "documents": [{"_id": role}]}


async def test_the_owner_has_its_database_and_no_other(mongodb_uri: str, database: str, logins: OwnLogins) -> None:
    client = connect(Address(mongodb_uri, logins.login(SUPERVISOR)))
    refused = [("admin", words) for words in administration(SUPERVISOR)]
    refused += [(f"{database}_other", FIND)]
    allowed = [words for place, words in refused if await is_allowed(client, place, words)]
    assert await is_allowed(client, database, {"drop": COLLECTIONS[0]})
    client.close()
    assert allowed == []


def changes_of(collection: str) -> Iterator[Document]:
    yield {"drop": collection}
    yield {"createIndexes": collection, "indexes": [{"key": {"a": 1}, "name": "a"}]}
    yield {"dropIndexes": collection, "index": "*"}
    yield {"collMod": collection, "validationLevel": "off"}


def administration(role: str) -> Iterator[Document]:
    yield {"createUser": "more", "pwd": "more", "roles": ["root"]}
    yield {"grantRolesToUser": role, "roles": ["root"]}
    yield {"updateUser": role, "pwd": "another"}
    yield {"usersInfo": 1}
    yield {"replSetStepDown": 1}
    yield {"shutdown": 1}


def changes_of_all() -> Iterator[Document]:
    yield {"dropDatabase": 1}
    yield {"create": "another"}
    # a reading command that would write
    yield {"aggregate": COLLECTIONS[0], "pipeline": [{"$out": "another"}], "cursor": {}}


async def is_allowed(client: Client, database: str, words: Document) -> bool:
    try:
        await client[database].command(words)
    except OperationFailure as error:
        if error.code != UNAUTHORIZED:
            raise
        return False
    return True


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        yield process


@pytest.mark.slow
async def test_kafka_lets_each_login_do_what_the_table_says_and_nothing_else(
    broker: ServiceProcess, logins: OwnLogins
) -> None:
    of_session = session_topics(has_regions=True, has_cycles=True)
    await ensure_topics(broker.address, 1, of_session)
    await ensure_users(broker.address, logins.topic_users(has_regions=True))
    await ensure_input_log(Address(broker.address, logins.login("apps")), OWN_TOPIC, 1)
    expected: dict[str, dict[str, Operations]] = {
        MIRROR_READER: dict.fromkeys((QUOTES, SHARED), READING),
        MIRROR: dict.fromkeys((QUOTES, SHARED), READING) | dict.fromkeys((TICKS, SHARED_IN), WRITING),
    }
    for role in ROLES_IN_KAFKA:
        rights = ROLES[role]
        expected[role] = dict.fromkeys((*(rights.topics_read or ()), *rights.topics_read_in_regions), READING)
        expected[role] |= dict.fromkeys((*rights.topics, *rights.topics_in_regions), WRITING)
    expected["apps"] |= {OWN_TOPIC: WRITING | {AclOperation.CREATE}}
    topics = (*of_session, OWN_TOPIC)
    found = {role: rights_found(broker.address, logins.login(role), topics) for role in expected}
    assert found == {role: ({}, operations) for role, operations in expected.items()}


def rights_found(
    address: str, login: Login, topics: tuple[str, ...]
) -> tuple[dict[str, Operations], dict[str, Operations]]:
    """Return what the broker says that the login may do: on the cluster, and on the topics that it may see."""
    client = AdminClient(client_settings(Address(address, login)))
    cluster = client.describe_cluster(include_authorized_operations=True).result(30).authorized_operations
    of_topics: dict[str, Operations] = {}
    asked = client.describe_topics(TopicCollection(list(topics)), include_authorized_operations=True)
    for topic, answer in asked.items():
        try:
            of_topics[topic] = set(answer.result(30).authorized_operations)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise
    return ({"cluster": set(cluster)} if cluster else {}), of_topics
