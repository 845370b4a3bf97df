"""What the operator of this machine lets apps use: folders with functions, models and schemas, addresses, and how much
an app may take."""

from dataclasses import dataclass, field
from pathlib import Path

from cep.apps.parts.app_limits import AppLimits


@dataclass(frozen=True, slots=True)
class BrokerTerms:
    """What apps may do with a Kafka that is named in their texts. `servers`: so named there. `address`: where it is,
    host:port, or `session` for the session's own. `login_file`: where its login is, which is nowhere here.
    `plain_text_hosts`: those that it may be sent to without TLS."""

    servers: str
    address: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    login_file: Path | None = None
    plain_text_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """What apps may do with a server that is named in their texts. `name`: so named there, scheme://host:port.
    `address`: where it is, likewise. `reads`, `writes`: topics or collections, with all below them if they end in
    `/#`. `login_file`: where its login is, which is nowhere here."""

    name: str
    address: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    login_file: Path | None = None
    plain_text_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReceivingTerms:
    """Where sources `http` take rows. `listen`: host:port. `keys_file`: where the key of each path is. `certificate`:
    a file with certificate and key, without which it listens on this machine alone."""

    listen: str
    keys_file: Path
    certificate: Path | None = None


@dataclass(frozen=True, slots=True)
class OperatorTerms:
    """`functions`: a folder of Python files; `models`: one of ONNX files. None: there is none, and an app that names
    something of it cannot run."""

    functions: Path | None = None
    models: Path | None = None
    limits: AppLimits = field(default_factory=AppLimits)
    addresses: tuple[tuple[str, str], ...] = ()
    """Origins that requests of apps may name, each with the address that stands for it."""
    brokers: tuple[BrokerTerms, ...] = ()
    """Those that apps may name, each once."""
    schemas: Path | None = None
    """A folder of files with the schemas of messages; None: there is none."""
    servers: tuple[ServerTerms, ...] = ()
    """Those that apps may name, each once."""
    folders: tuple[tuple[str, Path], ...] = ()
    """Folders that apps may read files of, by name."""
    receiving: ReceivingTerms | None = None
    """None: no app takes rows by HTTP."""
