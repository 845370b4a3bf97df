"""`arbitrage apart`: a session whose parts are started one by one, each with its own data folder, by no supervisor."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from exchanges.errors import AccountRejectedError
from exchanges.exchange_addresses import address_fault
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.sessions.paper import PaperOptions, check_paper, paper_session, paper_settings
from launch.setup.data_dir import RUN_FILE, make_private, write_atomically
from launch.setup.login_files import EVERYTHING, OwnLogins, own_logins, with_logins, write_logins
from launch.setup.login_rights import ROLES, SUPERVISOR
from launch.setup.service_logins import without_login
from market.decide.settings import Settings
from session.logins import Login, Mechanism, Protocol, login_of
from session.session import Session
from simulators.simulator_server import EXCHANGES
from simulators.web.account_keys import ensure_credentials
from store.errors import StoreError
from store.mongo.database_setup import prepare_database
from store.server.database_users import ensure_users_at
from streams.broker.topic_access import SCRAM, TopicUser, ensure_users
from streams.errors import StreamError
from streams.topic_admin import ensure_topics

PASSWORDS = "passwords"
"""The folder of the plain passwords, a file a role: for whoever makes the users in Kafka and MongoDB."""

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ApartOptions:
    """Options of `make`. `home` and `kafka_ca` are paths where the parts run, not here."""

    folder: Path
    home: Path
    exchanges_url: str
    kafka_protocol: Protocol = "SASL_SSL"
    kafka_mechanism: Mechanism = "SCRAM-SHA-512"
    owner_mechanism: Mechanism = "SCRAM-SHA-512"
    """Of the supervisor, who owns topics and database."""
    kafka_ca: str = ""


def make_apart(options: ApartOptions, config: Configuration, echo: Echo) -> int:
    """Write `run.json`, the keys of the simulated accounts, and for each role its login and its password. Passwords and
    keys that are there stay as they are; the session is a new one.

    Raises CannotStartError.
    """
    session = apart_session(options, config)
    folder = options.folder.resolve()
    try:
        if (folder / "lock").exists():
            raise CannotStartError(f"{folder}: is the data folder of sessions on this machine; name another folder.")
        make_private(folder)
        own = own_logins(folder)
        for role in (SUPERVISOR, *ROLES):
            _write_role(folder, role, own, options)
        ensure_credentials(folder, {name: name for name in EXCHANGES})
        write_atomically(folder / RUN_FILE, session.to_json())
    except AccountRejectedError as error:
        raise CannotStartError(f"{error}.") from error
    except OSError as error:
        raise CannotStartError(f"{folder}: cannot be written ({error.strerror}); name another folder.") from error
    echo(f"session {session.session_id} is described in {folder}; keep logins, passwords and accounts there secret")
    return 0


def apart_session(options: ApartOptions, config: Configuration) -> Session:
    """Raises CannotStartError for what a session without a supervisor does not have."""
    check_paper(config)
    _check_apart(config)
    made = paper_session(options.home, PaperOptions(None, None, None, None), config)
    if without_login(made.mongodb)[1] is not None:
        raise CannotStartError("mongodb: holds a password; each part has its own here, so name the address alone.")
    return replace(made, exchanges_url=_checked_url(options.exchanges_url))


def _check_apart(config: Configuration) -> None:
    for name, address in (("kafka", config.kafka), ("mongodb", config.mongodb)):
        if address is None:
            raise CannotStartError(f"{config.file}: {name} is missing; parts that run apart share one, so name it.")
    if config.record or config.notices:
        what = "record = true" if config.record else "[[notices]]"
        raise CannotStartError(f"{config.file}: {what} needs the supervisor of `arbitrage paper`; leave it out here.")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    try:
        is_root = parts.scheme == "http" and parts.hostname and parts.port and not parts.path.strip("/")
    except ValueError:
        is_root = False
    if not is_root:
        raise CannotStartError(f"--exchanges: {url!r} is not the root of a server; write http://HOST:PORT.")
    fault = address_fault("simulated", url)
    if fault is not None:
        raise CannotStartError(f"--exchanges: {url!r} {fault}; name the host of the simulated exchanges there.")
    return url.rstrip("/")


def _write_role(folder: Path, role: str, own: OwnLogins, options: ApartOptions) -> None:
    rights = ROLES.get(role, EVERYTHING)
    mechanism = options.owner_mechanism if role == SUPERVISOR else options.kafka_mechanism
    login = own.login(role)
    kafka = replace(login, mechanism=mechanism, protocol=options.kafka_protocol, ca=options.kafka_ca)
    write_logins(
        folder,
        role,
        None if rights.topics_read is None else kafka,
        None if rights.collections is None else Login(login.user, login.password),
    )
    write_atomically(folder / PASSWORDS / role, login.password.encode())


async def prepare_apart(session: Session, config: Configuration, with_users: bool, echo: Echo) -> int:
    """Topics, collections, indexes and first settings; `with_users` the users of all parts too, with their passwords
    from `logins/own.json`. A second run changes nothing, and users of others stay. `session` is the owner's.

    Raises CannotStartError.
    """
    settings = paper_settings(config)
    users = own_logins(session.home) if with_users else None
    try:
        await prepare_log(session, users)
        echo(f"Kafka at {session.kafka}: topics are there")
        await prepare_store(session, settings, users)
        echo(f"MongoDB: database {session.database} is there")
    except (StreamError, StoreError) as error:
        raise CannotStartError(str(error)) from error
    return 0


async def prepare_log(session: Session, users: OwnLogins | None) -> None:
    """Raises StreamError, CannotStartError."""
    parts = () if users is None else tuple(_as_it_logs_in(session, each) for each in users.topic_users())
    await ensure_topics(session.kafka, session.partitions)
    if parts:
        await ensure_users(session.kafka, parts, is_shared=True)


def _as_it_logs_in(session: Session, user: TopicUser) -> TopicUser:
    """Raises CannotStartError where its login is not there, or Kafka has no users for the mechanism of it."""
    login = login_of(with_logins(session, user.login.user).kafka)
    if login is None or login.mechanism not in SCRAM:
        raise CannotStartError(
            f"{session.home}: the parts do not log in to Kafka by SCRAM, so --users cannot make their users; name a "
            "--kafka-mechanism of SCRAM in `arbitrage apart make`, or create the users in Kafka's configuration."
        )
    return replace(user, login=login)


async def prepare_store(session: Session, settings: Settings, users: OwnLogins | None) -> None:
    """Raises StoreError."""
    await prepare_database(session, settings)
    if users is not None:
        parts = [each for each in users.database_users(session.database) if each.login.user != SUPERVISOR]
        # the owner stays as whoever started the server has made it
        await ensure_users_at(session.mongodb, parts)
