"""What stream apps may use and take: `[apps]` and its tables."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cep.apps.ends.server_names import is_server
from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms, ReceivingTerms, ServerTerms
from cep.apps.hosts.call_addresses import SIMULATED
from cep.apps.hosts.kafka_addresses import SESSION
from cep.apps.hosts.kafka_ends import is_topic, normal_servers
from cep.apps.parts.app_limits import AppLimits
from exchanges.catalogue import EXCHANGES
from launch.errors import CannotStartError
from market.decide.settings import Bps
from runtime.loopback import LOOPBACK_HOSTS
from session.app_actions import AppActionTerms

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Bytes = Annotated[int, Field(ge=1_000_000, le=2**40)]
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*[^/])?")
_DEFAULT = AppLimits()


class AppLimitConfiguration(BaseModel):
    """Limits of each app and partition; an app's own `@App:limits` may be lower."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window_rows: Count = _DEFAULT.window_rows
    partial_matches: Count = _DEFAULT.partial_matches
    keys: Count = _DEFAULT.keys
    table_rows: Count = _DEFAULT.table_rows
    event_seconds: Seconds = _DEFAULT.event_seconds
    state_bytes: Bytes = _DEFAULT.state_bytes
    script_seconds: Seconds = _DEFAULT.script_seconds
    script_bytes: Bytes = _DEFAULT.script_bytes
    worker_bytes: Bytes = _DEFAULT.worker_bytes


class BrokerConfiguration(BaseModel):
    """A Kafka that apps may name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    """host:port, several with commas; or `session`."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    login_file: Path | None = None

    @model_validator(mode="after")
    def _is_a_broker(self) -> "BrokerConfiguration":
        if self.address != SESSION and normal_servers(self.address) != self.address:
            raise ValueError(f"{self.address!r} is no address; write host:port, several with commas, or {SESSION!r}")
        if self.address == SESSION and self.login_file is not None:
            raise ValueError("the session's Kafka has its own login; leave login_file out")
        odd = next((one for one in (*self.reads, *self.writes) if not is_topic(one)), None)
        if odd is not None:
            raise ValueError(f"{odd!r} is no name of a topic; write each whole, without wildcards")
        return self


class ServerConfiguration(BaseModel):
    """A server of others that apps may name: a broker of MQTT, a MongoDB, a host of HTTP with a login."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    login_file: Path | None = None

    @field_validator("address")
    @classmethod
    def _is_server(cls, address: str) -> str:
        if not is_server(address):
            raise ValueError(f"{address!r} is no address; write scheme://host:port in small letters")
        return address


class ReceivingConfiguration(BaseModel):
    """Where apps take rows by HTTP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listen: str = Field(pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$")
    keys_file: Path
    certificate: Path | None = None

    @model_validator(mode="after")
    def _is_safe(self) -> "ReceivingConfiguration":
        host, _, port = self.listen.rpartition(":")
        if int(port) >= 1 << 16:
            raise ValueError(f"listen = {self.listen!r}: no port is above 65535")
        if self.certificate is None and host not in LOOPBACK_HOSTS:
            raise ValueError(f"listen = {self.listen!r} without a certificate shows keys and rows to the network")
        return self


class ActionConfiguration(BaseModel):
    """What one app may do to a session."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pause: bool = False
    asset_thresholds: tuple[Bps, Bps] | None = None
    pair_thresholds: tuple[Bps, Bps] | None = None
    notices: bool = False
    per_minute: int = Field(default=6, ge=1, le=60)

    @field_validator("asset_thresholds", "pair_thresholds")
    @classmethod
    def _are_in_order(cls, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        if bounds is not None and bounds[0] > bounds[1]:
            raise ValueError(f"{list(bounds)}: write the lowest value first")
        return bounds


class AppsConfiguration(BaseModel):
    """Folders are relative to the current one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    functions: Path | None = None
    """Python files whose functions apps may name."""
    models: Path | None = None
    """ONNX files that apps may name."""
    schemas: Path | None = None
    """Avro and Protobuf schemas of messages that apps may name."""
    addresses: dict[str, str] = Field(default_factory=dict)
    """`[apps.addresses]`: where the requests of apps go, by the origin in their texts; others are not sent."""
    publish: tuple[Path, ...] = ()
    """Files of apps that are published when a session starts."""
    may_halt: tuple[str, ...] = ()
    """Names of apps whose rows in `Halts` halt an exchange; read when a session starts."""
    actions: dict[str, ActionConfiguration] = Field(default_factory=dict)
    """`[apps.actions]`: what else the rows of apps may do, by name; read when a session starts."""
    brokers: dict[str, BrokerConfiguration] = Field(default_factory=dict)
    """`[apps.brokers]`: which topics of a Kafka apps may read and write, by its servers in their texts; no others."""
    servers: dict[str, ServerConfiguration] = Field(default_factory=dict)
    """`[apps.servers]`: which topics and collections of other servers apps may read and write, by the server in their
    texts."""
    folders: dict[str, Path] = Field(default_factory=dict)
    """`[apps.folders]`: folders whose files apps may read, by the name that stands first in their texts."""
    receive: ReceivingConfiguration | None = None
    """`[apps.receive]`: where sources `http` take rows."""
    limits: AppLimitConfiguration = AppLimitConfiguration()

    @field_validator("servers")
    @classmethod
    def _are_names(cls, servers: dict[str, ServerConfiguration]) -> dict[str, ServerConfiguration]:
        for name, server in servers.items():
            if not is_server(name):
                raise ValueError(f"{name!r}: write scheme://host:port in small letters, without a path")
            kinds = [one.partition("://")[0].removesuffix("s") for one in (name, server.address)]
            # the server of a bucket or a project is one of HTTP
            if kinds[1] != ("http" if name.startswith(("s3://", "pubsub://")) else kinds[0]):
                raise ValueError(f"{name!r}: {server.address!r} is of another kind")
        return servers

    @field_validator("folders")
    @classmethod
    def _are_folders(cls, folders: dict[str, Path]) -> dict[str, Path]:
        odd = next((name for name in folders if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)), None)
        if odd is not None:
            raise ValueError(f"{odd!r}: name a folder with letters, digits, '_' and '-'")
        return folders

    @field_validator("addresses")
    @classmethod
    def _are_addresses(cls, addresses: dict[str, str]) -> dict[str, str]:
        for origin, address in addresses.items():
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r}: write scheme and host alone, without a path or a slash at the end")
            _check_address(origin, address)
        return addresses

    @field_validator("brokers")
    @classmethod
    def _are_servers(cls, brokers: dict[str, BrokerConfiguration]) -> dict[str, BrokerConfiguration]:
        for servers in brokers:
            if normal_servers(servers) != servers:
                raise ValueError(f"{servers!r}: write host:port in small letters, several with commas and no spaces")
        return brokers


def acting_apps(apps: AppsConfiguration) -> tuple[AppActionTerms, ...]:
    """Return what each app that the configuration names may do."""
    return tuple(AppActionTerms(name, **one.model_dump()) for name, one in sorted(apps.actions.items()))


def _check_address(origin: str, address: str) -> None:
    """Check that `address` may be asked for `origin`. Raises ValueError."""
    if address.startswith(SIMULATED):
        name = address.removeprefix(SIMULATED)
        if name not in EXCHANGES:
            names = ", ".join(sorted(EXCHANGES))
            raise ValueError(f"{origin!r}: no exchange {name!r} is simulated; there are {names}")
    elif not _ADDRESS.fullmatch(address):
        raise ValueError(
            f"{origin!r}: {address!r} is no address; write {SIMULATED} and an exchange, or scheme, host and path, "
            "without a slash at the end"
        )


def operator_terms(apps: AppsConfiguration, plain_text_hosts: tuple[str, ...] = ()) -> OperatorTerms:
    """Return the operator's terms; `plain_text_hosts`: of the configuration. Raises CannotStartError if a folder is
    missing."""
    for name, folder in (("functions", apps.functions), ("models", apps.models), ("schemas", apps.schemas)):
        if folder is not None:
            _check_folder(f"[apps] {name}", folder)
    folders = (None if one is None else one.resolve() for one in (apps.functions, apps.models, apps.schemas))
    functions, models, schemas = folders
    limits = AppLimits(**apps.limits.model_dump())
    brokers = tuple(
        BrokerTerms(servers, **dict(one), plain_text_hosts=plain_text_hosts)
        for servers, one in sorted(apps.brokers.items())
    )
    servers = tuple(
        ServerTerms(name, **dict(one), plain_text_hosts=plain_text_hosts) for name, one in sorted(apps.servers.items())
    )
    receiving = None if apps.receive is None else ReceivingTerms(**dict(apps.receive))
    return OperatorTerms(
        functions,
        models,
        limits,
        tuple(sorted(apps.addresses.items())),
        brokers,
        schemas,
        servers,
        _folders(apps.folders),
        receiving,
    )


def _check_folder(where: str, folder: Path) -> None:
    if not folder.is_dir():
        raise CannotStartError(f"{where}: {folder} is no folder; create it, or name another.")


def _folders(folders: Mapping[str, Path]) -> tuple[tuple[str, Path], ...]:
    """Return the folders whole, so that no link on the way counts. Raises CannotStartError if one is missing."""
    for name, folder in folders.items():
        _check_folder(f"[apps.folders] {name}", folder)
    return tuple((name, folder.resolve()) for name, folder in sorted(folders.items()))
