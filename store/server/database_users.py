"""Users and rights of an embedded MongoDB: one user per role, which reads a database and writes some collections."""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass

from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.errors import OperationFailure

from runtime.logins import Login
from store.server.client import Document, connect, translated_errors

ADMIN = "admin"
MECHANISMS = ("SCRAM-SHA-256",)
READING = ("find", "listCollections", "listIndexes", "changeStream")
"""`listIndexes`: every part sees at its start that the indexes are there, which the owner made."""
WRITING = ("insert", "update", "remove")
OWNING = ("readWrite", "dbAdmin")
ALREADY_THERE = (51_002, 51_003)
"""A role of that name, a user of that name."""


@dataclass(frozen=True, slots=True)
class DatabaseUser:
    """`writes`: collections; None: whatever can be done in that database."""

    login: Login
    database: str
    writes: tuple[str, ...] | None


async def ensure_users(client: AsyncIOMotorClient[Document], users: Iterable[DatabaseUser]) -> None:
    """Each with the password and the rights named here, whatever it had before. Raises the driver's errors."""
    admin = client[ADMIN]
    for user in users:
        name = user.login.user
        privileges = [] if user.writes is None else _privileges(user.database, user.writes)
        roles = [] if user.writes is not None else [{"role": each, "db": user.database} for each in OWNING]
        await _made_or_changed(admin.command, "Role", name, {"privileges": privileges, "roles": roles})
        options: Document = {"pwd": user.login.password, "roles": [name], "mechanisms": list(MECHANISMS)}
        await _made_or_changed(admin.command, "User", name, options)


async def ensure_users_at(uri: str, users: Iterable[DatabaseUser]) -> None:
    """As `ensure_users`, with the login of `uri`, which must be allowed to. Raises StoreError."""
    client = connect(uri)
    try:
        with translated_errors():
            await ensure_users(client, users)
    finally:
        client.close()


async def set_users(client: AsyncIOMotorClient[Document], users: Collection[DatabaseUser]) -> None:
    """Have these users and no others; if none are named, those that are there stay. Raises the driver's errors."""
    await ensure_users(client, users)
    if users:
        await drop_all_but(client, [user.login.user for user in users])


async def drop_all_but(client: AsyncIOMotorClient[Document], names: Collection[str]) -> None:
    """Drop all other users, including connected ones. Raises the driver's errors."""
    admin = client[ADMIN]
    for kind in ("user", "role"):
        for known in (await admin.command(f"{kind}sInfo", 1))[f"{kind}s"]:
            if known[kind] not in names:
                await admin.command(f"drop{kind.capitalize()}", known[kind])


async def _made_or_changed(command: Callable[..., Awaitable[object]], kind: str, name: str, options: Document) -> None:
    try:
        await command(f"create{kind}", name, **options)
    except OperationFailure as error:
        if error.code not in ALREADY_THERE:
            raise
        await command(f"update{kind}", name, **options)


def _privileges(database: str, writes: tuple[str, ...]) -> list[Document]:
    rights: list[Document] = [{"resource": {"db": database, "collection": ""}, "actions": list(READING)}]
    for name in writes:
        rights.append({"resource": {"db": database, "collection": name}, "actions": list(WRITING)})
    return rights
