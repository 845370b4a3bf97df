"""`arbitrage apart`: a session whose parts are started one by one, each with its own data folder, without a
supervisor."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from exchanges.addresses import address_fault
from exchanges.credentials import credentials_path
from exchanges.errors import AccountRejectedError
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.regions.apart import mirror_file, regional_kafkas, sessions_apart, store_of
from launch.sessions.paper import check_paper, paper_session, paper_settings
from launch.setup.data_dir import RUN_FILE, make_private, write_atomically
from launch.setup.login_files import EVERYTHING, FOLDER, OWN, OwnLogins, own_logins, with_logins, write_logins
from launch.setup.login_rights import MIRROR, MIRROR_READER, ROLES, SUPERVISOR, LoginRights
from launch.setup.service_logins import with_authority, without_login
from market.decide.settings import Settings
from runtime.logins import Login, Mechanism, Protocol, login_of
from session.session import Session
from simulators.catalogue import EXCHANGES
from simulators.web.account_keys import ensure_credentials
from store.errors import StoreError
from store.mongo.database_setup import prepare_database
from store.server.database_users import ensure_users_at
from store.server.member_start import prepare_member
from streams.broker.kafka_users import SCRAM, TopicUser, ensure_users
from streams.errors import StreamError
from streams.topic_admin import ensure_topics
from streams.topics import session_topics

MIRROR_FILE = "mirrormaker.properties"
STORE = "store"
"""In the first region's folder: the logins of the MongoDB that regions share."""
MEMBERS_SECONDS = 120.0
"""How long the first region waits for the MongoDB of each; MongoDB asks all of them when a set is made."""
KAFKA_ALONE = LoginRights(None)
PASSWORDS = "passwords"
"""The folder of the plain passwords, a file per role: for whoever creates the users in Kafka and MongoDB."""

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApartOptions:
    """Options of `make`. `kafka_ca` and `mongodb_ca` are paths where the parts run, not here."""

    folder: Path
    exchanges_url: str
    kafka_protocol: Protocol = "SASL_SSL"
    kafka_mechanism: Mechanism = "SCRAM-SHA-512"
    owner_mechanism: Mechanism = "SCRAM-SHA-512"
    """Login of the supervisor, who owns topics and database."""
    kafka_ca: str = ""
    mongodb_ca: str = ""
    regions: tuple[str, ...] = ()
    """REGION=HOST:PORT, the Kafka of each; empty: one for all, which the configuration names."""


def make_apart(options: ApartOptions, config: Configuration, echo: Echo) -> int:
    """Write `run.json`, the keys of the simulated accounts, and for each role its login and its password; with regions
    into a folder for each.

    Existing passwords and keys stay as they are; the session is a new one. Raises CannotStartError.
    """
    folder = options.folder.resolve()
    try:
        if options.regions:
            session = _make_regions(folder, options, config, echo)
        else:
            session = apart_session(options, config)
            own = _own_logins(folder)
            _write_parts(folder, session, own, own, options)
    except AccountRejectedError as error:
        raise CannotStartError(f"{error}.") from error
    except OSError as error:
        raise CannotStartError(f"{folder}: cannot be written ({error.strerror}); name another folder.") from error
    echo(f"session {session.session_id} is described in {folder}; keep logins, passwords and accounts there secret")
    return 0


def _make_regions(folder: Path, options: ApartOptions, config: Configuration, echo: Echo) -> Session:
    """Make a folder for each region that has exchanges: its parts', and MirrorMaker's file. Returns the first
    session."""
    kafkas = regional_kafkas(options.regions)
    if config.kafka is not None:
        raise CannotStartError(f"{config.file}: kafka is set, but --region names that of each region; remove one.")
    first = next(iter(kafkas.values()))
    base = apart_session(options, config.model_copy(update={"kafka": first}))
    sessions = sessions_apart(base, kafkas, config, echo)
    own = {str(one.place.region): _own_logins(folder / str(one.place.region), has_regions=True) for one in sessions}
    # other regions have its logins, so none of them may be one to the first region's Kafka too
    store = _own_logins(folder / str(sessions[0].place.region) / STORE)
    accounts = credentials_path(folder / str(sessions[0].place.region))
    for one in sessions:
        mine = folder / str(one.place.region)
        write_atomically(mine / "mongodb.key", store.mongodb_key.encode())
        if not one.exchanges_here:
            echo(f"{one.place.region}: only votes; its MongoDB needs mongodb.key, and nothing else is started there")
            continue
        if accounts.exists():
            write_atomically(credentials_path(mine), accounts.read_bytes())
        _write_parts(mine, one, own[str(one.place.region)], store, options)
        sources = {
            str(other.place.region): (
                str(other.services.kafka),
                _in_kafka(own[str(other.place.region)].login(MIRROR_READER), options),
            )
            for other in sessions
            if other.exchanges_here and other.place.region != one.place.region
        }
        writer = _in_kafka(own[str(one.place.region)].login(MIRROR), options)
        write_atomically(mine / MIRROR_FILE, mirror_file(one, writer, sources).encode())
    return sessions[0]


def _own_logins(folder: Path, *, has_regions: bool = False) -> OwnLogins:
    """Return the logins of our own services, made if missing. Raises CannotStartError, OSError."""
    if (folder / "lock").exists():
        raise CannotStartError(f"{folder}: is the data folder of sessions on this machine; name another folder.")
    make_private(folder)
    return own_logins(folder, has_regions=has_regions)


def _write_parts(folder: Path, session: Session, own: OwnLogins, store: OwnLogins, options: ApartOptions) -> None:
    """Write the parts' files. `store`: the logins of MongoDB, which regions share. Raises AccountRejectedError,
    OSError."""
    for role in (SUPERVISOR, *ROLES, *((MIRROR, MIRROR_READER) if session.place.regions else ())):
        _write_role(folder, role, own, store, options)
    named = {name: exchange for exchange, names in session.accounts_at.items() for name in names}
    ensure_credentials(folder, {name: name for name in EXCHANGES} | named)
    write_atomically(folder / RUN_FILE, session.to_json())


def apart_session(options: ApartOptions, config: Configuration) -> Session:
    """Return the session. Raises CannotStartError for what a session without a supervisor does not have."""
    check_paper(config)
    _check_apart(config)
    # readers of the description find everything beside it
    made = paper_session(Path(), PaperOptions(), config)
    if without_login(made.services.mongodb)[1] is not None:
        raise CannotStartError("mongodb: holds a password; each part has its own here, so name the address alone.")
    mongodb = with_authority(made.services.mongodb, options.mongodb_ca) if options.mongodb_ca else made.services.mongodb
    return replace(
        made,
        services=replace(made.services, mongodb=mongodb),
        simulated=replace(made.simulated, url=_checked_url(options.exchanges_url)),
    )


def _check_apart(config: Configuration) -> None:
    for name, address in (("kafka", config.kafka), ("mongodb", config.mongodb)):
        if address is None:
            raise CannotStartError(f"{config.file}: {name} is missing; parts that run apart share one, so name it.")
    supervised = {"record = true": config.record, "[[notices]]": config.notices, "[apps] publish": config.apps.publish}
    what = next((name for name, is_asked in supervised.items() if is_asked), None)
    if what is not None:
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


def _write_role(folder: Path, role: str, own: OwnLogins, store: OwnLogins, options: ApartOptions) -> None:
    rights = EVERYTHING if role == SUPERVISOR else ROLES.get(role, KAFKA_ALONE)
    mechanism = options.owner_mechanism if role == SUPERVISOR else options.kafka_mechanism
    write_logins(
        folder,
        role,
        None if rights.topics_read is None else replace(_in_kafka(own.login(role), options), mechanism=mechanism),
        None if rights.collections is None else Login(role, store.passwords[role]),
    )
    write_atomically(folder / PASSWORDS / role, own.passwords[role].encode())


def _in_kafka(login: Login, options: ApartOptions) -> Login:
    return replace(login, mechanism=options.kafka_mechanism, protocol=options.kafka_protocol, ca=options.kafka_ca)


async def prepare_apart(session: Session, config: Configuration, with_users: bool, echo: Echo) -> int:
    """Make topics, collections, indexes and first settings; `with_users` also the users of all parts, with their
    passwords from `logins/own.json`.

    A second run changes nothing, and users of others stay. `session` is the owner's. Raises CannotStartError.
    """
    settings = paper_settings(config)
    users = _made_logins(session.home, has_regions=bool(session.place.regions)) if with_users else None
    if users is not None and _makes_the_store(session):
        # before anything is made in Kafka
        _made_logins(session.home / STORE)
    try:
        await prepare_log(session, users)
        echo(f"Kafka at {session.services.kafka}: topics are there")
        await prepare_store(session, settings, users)
        echo(f"MongoDB: database {session.services.database} is there")
    except (StreamError, StoreError) as error:
        raise CannotStartError(str(error)) from error
    return 0


def _made_logins(folder: Path, *, has_regions: bool = False) -> OwnLogins:
    """Return the logins that `make` made. Raises CannotStartError if they are missing: no part would know new ones."""
    path = folder / FOLDER / OWN
    try:
        is_there = path.exists()
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror}); give it to this user.") from error
    if not is_there:
        raise CannotStartError(
            f"{path} is missing, which has the passwords of all parts; copy it from where `arbitrage apart make` wrote "
            "it, or leave out --users."
        )
    return own_logins(folder, has_regions=has_regions)


async def prepare_log(session: Session, users: OwnLogins | None) -> None:
    """Make topics and users in Kafka. Raises StreamError, CannotStartError."""
    has_regions = bool(session.place.regions)
    made = () if users is None else users.topic_users(has_regions=has_regions)
    parts = tuple(_with_login(session, each) for each in made)
    topics = session_topics(has_regions=has_regions, has_cycles=session.cycles is not None)
    await ensure_topics(session.services.kafka, session.services.partitions, topics)
    if parts:
        await ensure_users(session.services.kafka, parts, is_shared=True)


def _with_login(session: Session, user: TopicUser) -> TopicUser:
    """Return the user with the password by which it logs in. Raises CannotStartError if its login is not there, or
    Kafka has no users for its mechanism."""
    login = login_of(with_logins(session, user.login.user).services.kafka)
    if login is None or login.mechanism not in SCRAM:
        raise CannotStartError(
            f"{session.home}: the parts do not log in to Kafka by SCRAM, so --users cannot make their users; name a "
            "--kafka-mechanism of SCRAM in `arbitrage apart make`, or create the users in Kafka's configuration."
        )
    return replace(user, login=login)


async def prepare_store(session: Session, settings: Settings, users: OwnLogins | None) -> None:
    """Prepare MongoDB. With regions, the first makes the replica set and its users, and the others wait for it. Raises
    StoreError, CannotStartError."""
    if users is not None and session.place.region is not None:
        if _makes_the_store(session):
            await _prepare_members(session, _made_logins(session.home / STORE))
        users = None
    await prepare_database(session, settings)
    if users is not None:
        parts = [each for each in users.database_users(session.services.database) if each.login.user != SUPERVISOR]
        # the owner stays as the server was set up with it
        await ensure_users_at(session.services.mongodb, parts)


def _makes_the_store(session: Session) -> bool:
    return session.place.region is not None and session.place.region == session.place.regions[0]


async def _prepare_members(session: Session, store: OwnLogins) -> None:
    """Make the set and its users, and no others. Raises StoreError."""
    wanted = store_of(session)
    first = wanted.members[0].address
    options = [each for each in urlsplit(session.services.mongodb).query.split("&") if each.startswith("tls")]
    users = store.database_users(session.services.database)
    await prepare_member(wanted, first, store.mongodb_key, users, MEMBERS_SECONDS, options)
