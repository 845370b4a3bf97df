"""A client with the rights of the node itself, for what is done before there are users."""

from motor.motor_asyncio import AsyncIOMotorClient

from runtime.logins import Address, Login
from store.server.client import Document

SELECTION_MS = 500
USER, SOURCE, MECHANISM = "__system", "local", "SCRAM-SHA-256"
"""Whose password is the key of the replica set."""
NOT_YET_INITIALIZED = 94
"""The answer of a node that is in no replica set yet."""


def node_address(uri: str, key: str) -> Address:
    """`uri`, which has options, with the login of the node itself."""
    return Address(f"{uri}&authSource={SOURCE}&authMechanism={MECHANISM}", Login(USER, key))


def system_client(address: str, options: str, key: str) -> AsyncIOMotorClient[Document]:
    """As the node itself; `options` of the URI."""
    return AsyncIOMotorClient(
        f"mongodb://{address}/?{options}",
        serverSelectionTimeoutMS=SELECTION_MS,
        username=USER,
        password=key,
        authSource=SOURCE,
        authMechanism=MECHANISM,
    )
