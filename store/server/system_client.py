"""A client with the rights of the node itself, for what is done before there are users."""

from motor.motor_asyncio import AsyncIOMotorClient

from store.server.mongo_client import Document

SELECTION_MS = 500
NOT_YET_INITIALIZED = 94
"""The answer of a node that is in no replica set yet."""


def system_client(address: str, options: str, key: str) -> AsyncIOMotorClient[Document]:
    """As the node itself; `options` of the URI."""
    return AsyncIOMotorClient(
        f"mongodb://{address}/?{options}",
        serverSelectionTimeoutMS=SELECTION_MS,
        username="__system",
        password=key,
        authSource="local",
        authMechanism="SCRAM-SHA-256",
    )
