"""Logins to Kafka and MongoDB: created at the first start for embedded services, read from the environment for others.

Each process reads its own file, so that a compromised or faulty one writes no more than its role allows. All processes
run as one system user: the files protect against other users, not against each other.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder, read_session, write_atomically
from launch.setup.login_rights import MIRROR, MIRROR_READER, ROLES, SUPERVISOR, LoginRights
from launch.setup.service_logins import configured_kafka_login, configured_mongodb
from runtime.logins import Address, Login
from session.session import Session
from store.server.database_users import DatabaseUser
from store.server.embedded_mongod import new_key
from streams.broker.kafka_users import TopicUser
from streams.broker.mirror_maker import mirror_users

FOLDER = "logins"
OWN = "own.json"
TRADES_FOR_REAL = ("sandbox", "live")
EVERYTHING = LoginRights()
BY_CERTIFICATE = "authMechanism="
"""In an address that says by itself how it logs in."""


@dataclass(frozen=True, slots=True)
class OwnLogins:
    """Logins of the services that we start ourselves."""

    mongodb_key: str = field(repr=False)
    controller: str = field(repr=False)
    """Password with which Kafka's broker logs in to its controller."""
    passwords: Mapping[str, str] = field(repr=False)
    """Role → its password, the same for both services."""

    def login(self, role: str) -> Login:
        return Login(role, self.passwords[role])

    def topic_users(self, *, has_regions: bool = False) -> tuple[TopicUser, ...]:
        """Return the users; `has_regions`: those of one region's Kafka, MirrorMakers among them."""
        users = tuple(
            TopicUser(
                self.login(role),
                (rights.topics_read or ()) + (rights.topics_read_in_regions if has_regions else ()),
                rights.topics + (rights.topics_in_regions if has_regions else ()),
                rights.topics_of_its_own,
            )
            for role, rights in ROLES.items()
            if rights.topics_read is not None
        )
        return users + (mirror_users(self.login(MIRROR_READER), self.login(MIRROR)) if has_regions else ())

    def database_users(self, database: str) -> tuple[DatabaseUser, ...]:
        parts = [
            DatabaseUser(self.login(role), database, rights.collections)
            for role, rights in ROLES.items()
            if rights.collections is not None
        ]
        return (DatabaseUser(self.login(SUPERVISOR), database, None), *parts)


def own_logins(home: Path, *, has_regions: bool = False) -> OwnLogins:
    """Return the logins of this data folder, made if they are missing; with `has_regions` MirrorMakers' as well. Raises
    CannotStartError if they cannot be kept."""
    path = home / FOLDER / OWN
    try:
        kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        roles = (SUPERVISOR, *ROLES, *((MIRROR, MIRROR_READER) if has_regions else ()))
        made = {role: secrets.token_urlsafe(32) for role in roles}
        logins = OwnLogins(
            kept.get("mongodb_key") or new_key(),
            kept.get("controller") or secrets.token_urlsafe(32),
            made | kept.get("passwords", {}),
        )
        _write(path, asdict(logins))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CannotStartError(f"{path}: cannot be used ({error}); remove it to create new logins.") from error
    return logins


def supervisors_session(
    session: Session, config: Configuration, environment: Mapping[str, str], store: OwnLogins | None = None
) -> Session:
    """Return the session with the supervisor's own logins; those of each part are put into a file, which its process
    reads.

    `store`: those to a MongoDB that other data folders share. Raises CannotStartError if a login to a configured
    service is only half named or would be sent without TLS, or real trading has none for it.
    """
    own = own_logins(session.home, has_regions=bool(session.place.regions))
    named_kafka = configured_kafka_login(config, environment)
    mongodb, named_mongodb = (
        configured_mongodb(config, environment) if config.mongodb else (str(session.services.mongodb), None)
    )
    if session.mode in TRADES_FOR_REAL and config.mongodb and named_mongodb is None and BY_CERTIFICATE not in mongodb:
        raise CannotStartError(
            "mongodb: real trading needs a MongoDB with authentication; set ARBITRAGE_MONGODB_USER and "
            "ARBITRAGE_MONGODB_PASSWORD, or remove `mongodb` to use the embedded one."
        )
    for role in (SUPERVISOR, *ROLES):
        rights = ROLES.get(role, EVERYTHING)
        kafka = named_kafka if config.kafka else own.login(role)
        mongodb_login = named_mongodb if config.mongodb else (store or own).login(role)
        write_logins(
            session.home,
            role,
            None if rights.topics_read is None else kafka,
            None if rights.collections is None else mongodb_login,
        )
    return with_logins(replace(session, services=replace(session.services, mongodb=mongodb)), SUPERVISOR)


@contextmanager
def session_logins(
    session: Session, config: Configuration, environment: Mapping[str, str], store: OwnLogins | None = None
) -> Iterator[Session]:
    """Return it as `supervisors_session`; whatever ends the session, the files of its parts go."""
    try:
        yield supervisors_session(session, config, environment, store)
    finally:
        delete_logins(session.home)


def write_logins(home: Path, role: str, kafka: Login | None, mongodb: Login | None) -> None:
    """Write the logins for a process of that role, readable by this user alone."""
    kept = {"kafka": kafka and asdict(kafka), "mongodb": mongodb and asdict(mongodb)}
    _write(home / FOLDER / f"{role}.json", kept)


def delete_logins(home: Path) -> None:
    """Delete the logins at a session's end; those to services of our own stay in the one file of them all."""
    for path in (home / FOLDER).glob("*.json"):
        if path.name != OWN:
            path.unlink(missing_ok=True)


def with_logins(session: Session, role: str) -> Session:
    """Return the session as a process of that role uses it; services without a login if none was kept for it. Raises
    CannotStartError if the file is damaged."""
    path = session.home / FOLDER / f"{role}.json"
    try:
        kept = json.loads(path.read_text()) if path.exists() else {}
        kafka, mongodb = (Login(**kept[name]) if kept.get(name) else None for name in ("kafka", "mongodb"))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CannotStartError(f"{path}: cannot be used ({error}); restart the session.") from error
    return replace(
        session,
        services=replace(
            session.services,
            kafka=Address(session.services.kafka, kafka),
            mongodb=Address(session.services.mongodb, mongodb),
        ),
    )


def running_session(role: str) -> Session:
    """Return the running session as a process of that role uses it. Raises CannotStartError if none runs."""
    return with_logins(read_session(home_folder()), role)


def _write(path: Path, document: object) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document, indent=1).encode())
