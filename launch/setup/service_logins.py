"""How to reach the Kafka and the MongoDB that the user configured: their logins, their TLS, and what is refused."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from socket import create_connection
from ssl import cert_time_to_seconds, create_default_context
from typing import Any, get_args
from urllib.parse import quote, unquote, unquote_plus

from launch.config.configuration import LAST_PORT, Configuration
from launch.errors import CannotStartError
from runtime.logins import Login, Mechanism, Protocol
from runtime.loopback import is_loopback

LOGIN_VARIABLES = (
    "ARBITRAGE_KAFKA_USER",
    "ARBITRAGE_KAFKA_PASSWORD",
    "ARBITRAGE_KAFKA_MECHANISM",
    "ARBITRAGE_KAFKA_PROTOCOL",
    "ARBITRAGE_MONGODB_USER",
    "ARBITRAGE_MONGODB_PASSWORD",
)
"""Read by the command that starts a session."""
_IN_DNS = "mongodb+srv:"
"""An address whose hosts are in the name service; it asks for TLS unless it says otherwise."""
_SWITCHES = ("tls", "ssl")
_ACCEPTS_ANYBODY = ("tlsinsecure", "tlsallowinvalidcertificates", "tlsallowinvalidhostnames")
"""Options of MongoDB's addresses, whose names may have capitals (mongodb.com, "Connection String Options")."""
_SOCKET = re.compile(r"%2f[^:]*\.sock")
_PLACE = re.compile(rf"([\w-]{{1,63}}(\.[\w-]{{1,63}})*\.?|\[[\da-f:.%]+\])(:\d{{1,5}})?|{_SOCKET.pattern}", re.ASCII)
"""One host of an address of MongoDB, in small letters. Anything else may be read differently by its driver."""


@dataclass(frozen=True, slots=True)
class TlsServer:
    """One server, and the file of the authority that its certificate must be of (None: the system's)."""

    service: str
    host: str
    port: int
    ca: str | None

    def certificate_until(self, seconds: float) -> datetime:
        """Return when the certificate ends that it shows. Raises ssl.SSLCertVerificationError if it cannot be trusted,
        OSError if nobody answers."""
        context = create_default_context(cafile=self.ca)
        with (
            create_connection((self.host, self.port), seconds) as connection,
            context.wrap_socket(connection, server_hostname=self.host) as secured,
        ):
            shown: Mapping[str, Any] = secured.getpeercert() or {}
        return datetime.fromtimestamp(cert_time_to_seconds(shown["notAfter"]), UTC)


def configured_kafka_login(config: Configuration, environment: Mapping[str, str]) -> Login | None:
    """Return the login with the mechanism and the protocol named in the environment, over TLS if none is. Raises
    CannotStartError if it is only half named, or would be sent over a network without TLS."""
    if config.kafka is None:
        return None
    login = _named_login("KAFKA", environment)
    if login is None:
        if config.kafka_ca is not None:
            raise CannotStartError(
                "kafka_ca is set without a login; set ARBITRAGE_KAFKA_USER and ARBITRAGE_KAFKA_PASSWORD, or remove it."
            )
        return None
    chosen: dict[str, Any] = {
        "mechanism": environment.get("ARBITRAGE_KAFKA_MECHANISM") or "SCRAM-SHA-512",
        "protocol": environment.get("ARBITRAGE_KAFKA_PROTOCOL") or "SASL_SSL",
    }
    for name, known in (("mechanism", get_args(Mechanism)), ("protocol", get_args(Protocol))):
        if chosen[name] not in known:
            raise CannotStartError(f"ARBITRAGE_KAFKA_{name.upper()} is {chosen[name]!r}; known are {', '.join(known)}.")
    if chosen["protocol"] == "SASL_PLAINTEXT":
        _check_plain_kafka(config)
    return replace(login, **chosen, ca=config.kafka_ca or "")


def configured_mongodb(config: Configuration, environment: Mapping[str, str]) -> tuple[str, Login | None]:
    """Return its address with the options of TLS and without a login, and the login. Raises CannotStartError if the
    login is only half named, or would be sent over a network without TLS, or if the address contradicts `mongodb_ca` or
    is invalid."""
    address, in_address = without_login(config.mongodb or "")
    _check_readable(address)
    login = _named_login("MONGODB", environment) or in_address
    if config.mongodb_ca is not None:
        address = with_authority(address, config.mongodb_ca)
    if login is not None or "authmechanism" in _options(address):
        # some mechanisms send a token of the machine's
        _check_sent_by_tls(address, config.plain_text_hosts)
    return address, login


def without_login(uri: str) -> tuple[str, Login | None]:
    """Return an address of MongoDB, and the name and password that stood in it."""
    scheme, mark, rest = uri.partition("://")
    place = _place_in(uri)
    named, at, hosts = place.rpartition("@")
    user, colon, password = named.partition(":")
    if not at or not colon:
        return uri, None
    return f"{scheme}{mark}{hosts}{rest[len(place) :]}", Login(unquote(user), unquote(password))


def is_encrypted(uri: str) -> bool:
    """Return whether an address of MongoDB asks for TLS."""
    options = _options(uri)
    named = [options[name].lower() == "true" for name in _SWITCHES if name in options]
    return all(named) if named else uri.startswith(_IN_DNS)


def places_of(address: str, default_port: int = 27017) -> Iterator[tuple[str, int]]:
    """Return hosts of an address of Kafka or MongoDB, in small letters, with their ports."""
    for place in _places_in(address):
        host, _, port = place.rpartition(":")
        if host and port.isdecimal():
            yield host.strip("[]"), int(port)
        else:
            yield place.strip("[]"), default_port


def hosts_needing_tls(address: str, plain_text_hosts: tuple[str, ...]) -> Iterator[str]:
    """Return hosts on networks that others may read. What the name service answers for one may be anywhere."""
    named = {host.lower() for host in plain_text_hosts}
    is_in_dns = address.startswith(_IN_DNS)
    return (host for host, _ in places_of(address) if host not in named and (is_in_dns or not _is_local(host)))


def tls_servers(config: Configuration, environment: Mapping[str, str]) -> Iterator[TlsServer]:
    """Return the servers of configured services that have certificates, as far as the addresses name them.

    Raises CannotStartError as `configured_kafka_login` and `configured_mongodb`.
    """
    login = configured_kafka_login(config, environment)
    if config.kafka is not None and login is not None and login.protocol == "SASL_SSL":
        yield from (TlsServer("Kafka", *place, login.ca or None) for place in places_of(config.kafka))
    if config.mongodb is not None:
        address, _ = configured_mongodb(config, environment)
        if is_encrypted(address) and not address.startswith(_IN_DNS):
            ca = _options(address).get("tlscafile")
            yield from (TlsServer("MongoDB", *place, ca) for place in places_of(address))


def _named_login(service: str, environment: Mapping[str, str]) -> Login | None:
    names = [f"ARBITRAGE_{service}_{part}" for part in ("USER", "PASSWORD")]
    user, password = (environment.get(name, "") for name in names)
    if bool(user) != bool(password):
        missing, there = names if not user else reversed(names)
        raise CannotStartError(f"{there} is set without {missing}; set both or neither.")
    return Login(user, password) if user else None


def _check_plain_kafka(config: Configuration) -> None:
    if config.kafka_ca is not None:
        raise CannotStartError(
            "kafka_ca is set, but ARBITRAGE_KAFKA_PROTOCOL is SASL_PLAINTEXT, which has no TLS; remove one of them."
        )
    for host in hosts_needing_tls(config.kafka or "", config.plain_text_hosts):
        raise CannotStartError(
            f"kafka: the login would go to {host} without TLS; set ARBITRAGE_KAFKA_PROTOCOL to SASL_SSL and kafka_ca "
            f"to its authority, or, if nobody else can read that network, add {host!r} to plain_text_hosts."
        )


def _check_readable(uri: str) -> None:
    """Check the address. A password that is not quoted may stand among the hosts or after them, so the sentence quotes
    nothing."""
    path = uri.partition("?")[0].partition("://")[2][len(_place_in(uri)) :]
    are_places = all(_PLACE.fullmatch(place) for place in _places_in(uri))
    if "@" in path or not are_places or any(not 0 < port <= LAST_PORT for _, port in places_of(uri)):
        raise CannotStartError(
            "mongodb: its hosts cannot be read; write it as in mongodb://HOST:PORT,HOST:PORT/?replicaSet=NAME, and the "
            "login in ARBITRAGE_MONGODB_USER and ARBITRAGE_MONGODB_PASSWORD, or with %40 for @, %2F for / and so on."
        )


def _check_sent_by_tls(uri: str, plain_text_hosts: tuple[str, ...]) -> None:
    accepts = _accepts_anybody(uri)
    for host in hosts_needing_tls(uri, plain_text_hosts):
        if not is_encrypted(uri):
            raise CannotStartError(
                f"mongodb: the login would go to {host} without TLS; set mongodb_ca to its authority (or tls=true in "
                f"the address), or, if nobody else can read that network, add {host!r} to plain_text_hosts."
            )
        if accepts is not None:
            raise CannotStartError(
                f"mongodb: with {accepts} in the address the login would go to whoever answers for {host}; remove it, "
                "and set mongodb_ca to the authority of its certificate."
            )


def _accepts_anybody(uri: str) -> str | None:
    """Return the option of an address of MongoDB by which any certificate is accepted."""
    options = _options(uri)
    return next((name for name in _ACCEPTS_ANYBODY if options.get(name, "false").lower() != "false"), None)


def _is_local(host: str) -> bool:
    """Return whether it is loopback, or a Unix socket, whose path is quoted."""
    return is_loopback(host) or _SOCKET.fullmatch(host) is not None


def _place_in(address: str) -> str:
    """Return the part with the login and the hosts, as the driver takes it: up to the first / or ?."""
    rest = address.partition("://")[2] if "://" in address else address
    return rest.partition("?")[0].partition("/")[0]


def _places_in(address: str) -> list[str]:
    """Return its hosts with their ports, in small letters."""
    return _place_in(address).rpartition("@")[2].lower().split(",")


def with_authority(uri: str, ca: str) -> str:
    """Return an address of MongoDB that is reached with TLS and knows its server by that file. Raises CannotStartError
    if the address contradicts it."""
    options = _options(uri)
    if "tlscafile" in options:
        raise CannotStartError("mongodb_ca is set, and the address of mongodb has a tlsCAFile; remove one of them.")
    if not is_encrypted(uri) and any(name in options for name in _SWITCHES):
        raise CannotStartError("mongodb_ca is set, but the address of mongodb switches TLS off; remove one of them.")
    accepts = _accepts_anybody(uri)
    if accepts is not None:
        raise CannotStartError(f"mongodb_ca is set, but the address of mongodb has {accepts}; remove one of them.")
    place, mark, named = uri.partition("?")
    slash = "" if mark or "/" in place.partition("://")[2] else "/"
    added = "" if any(name in options for name in _SWITCHES) else "tls=true&"
    text = f"{place}{slash}?{named}{'&' if named else ''}{added}tlsCAFile={quote(ca)}"
    # the driver takes one kind of separator in an address
    return text.replace("&", ";") if ";" in named and "&" not in named else text


def _options(uri: str) -> dict[str, str]:
    """Return the options by their names in small letters."""
    pairs = (pair.partition("=") for pair in uri.partition("?")[2].replace(";", "&").split("&") if pair)
    return {name.lower(): unquote_plus(value) for name, _, value in pairs}
