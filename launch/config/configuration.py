"""The configuration of a session: an optional TOML file, read once and frozen."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from ssl import create_default_context
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from launch.config.access import LimitConfiguration, OidcConfiguration, access_terms
from launch.config.apps import AppsConfiguration, acting_apps
from launch.config.configuration_sources import DEFAULT_FILE, ENVIRONMENT, overrides_in
from launch.config.cycles import CyclesConfiguration
from launch.config.disk import DiskConfiguration
from launch.config.notice_destinations import NoticesConfiguration
from launch.config.transfers import TransfersConfiguration
from launch.errors import CannotStartError
from market.decide.settings import Settings
from market.money import BoundedDecimal
from market.validation_messages import error_text, fault_text, sentence_of
from session.access_terms import AccessTerms
from session.exchange_entries import Adapter, OrderTransport
from session.simulated_market import DEFAULT_MARKET, MarketName

_KAFKA_PLACE = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*\.?:(\d{1,5})", re.ASCII)
"""A host with its port, without any sign that a client of Kafka may take for the end of one."""
LAST_PORT = 65_535
FEWEST_KEPT_DAYS = 30


class FeedConfiguration(BaseModel):
    """Limits of the price feeds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stale_after_ms: int = Field(default=3_000, ge=500, le=60_000)
    """Maximum age of a quote's last confirmation before it is withdrawn. Below half a second a busy machine would
    withdraw valid quotes; above a minute quotes would be withdrawn too late."""


class ExchangeConfiguration(BaseModel):
    """How one exchange is traded on: `[exchange.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["simulated", "public", "sandbox", "live"] = "simulated"
    """Simulated exchange; public prices with a paper account; the exchange's sandbox; real money."""
    url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
    """Root URL of a gateway in front of a real exchange, laid out as `arbitrage exchanges` is; default: its own."""
    ccxt: str | None = Field(default=None, pattern=r"^[a-z0-9]{1,40}$")
    """ccxt's name of the exchange, if ours is another one, for example for a second account."""
    adapter: Adapter | None = None
    """Our own reader and orders, or the generic ones on ccxt; default: our own if there are some."""
    order_transport: OrderTransport | None = None
    """How orders are sent; default: what was measured to be quicker, if the account's key allows it."""
    region: str | None = Field(default=None, pattern=r"^[a-z]{2,10}$")
    """Where the exchange is; default: as the exchange of that name in ccxt."""

    @field_validator("url")
    @classmethod
    def _is_an_address_alone(cls, url: str | None) -> str | None:
        """Check that the URL has no login: errors and logs name addresses."""
        parts = urlsplit(url or "")
        if parts.username is not None or parts.port == 0:  # asking for an invalid port raises ValueError, too
            raise ValueError("must hold no name, password or port 0")
        return url


class MarketsConfiguration(BaseModel):
    """What is traded on one exchange: `[markets.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    symbols: tuple[str, ...]
    """As in "ETH/USD"."""


class AssetConfiguration(BaseModel):
    """Exchanges on which a code is one asset, although no list of ours knows it: `[asset.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    compare: tuple[str, ...]
    """The exchanges on which ccxt's code NAME is one asset, as the user says."""

    @field_validator("compare")
    @classmethod
    def _compares(cls, compare: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(compare)) < 2:
            raise ValueError("must name two exchanges or more")
        return compare


class PaperConfiguration(BaseModel):
    """Local paper accounts, at live or at recorded prices: `[paper]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    latency_ms: int = Field(default=50, ge=0, le=60_000)
    """Median from the decision to the match."""
    latency_spread: float = Field(default=0.0, ge=0, le=2)
    """Standard deviation of its logarithm, drawn by `seed`; 0: always the median."""
    balances: dict[str, dict[str, Annotated[BoundedDecimal, Field(ge=0, le=1_000_000_000_000)]]] = Field(
        default_factory=dict
    )
    """`[paper.balances.NAME]`: opening balances of a new account at live prices, by currency, in place of the
    default."""


class Configuration(BaseModel):
    """Addresses, exchanges and the first settings. Empty addresses mean: start our own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka: str | None = None
    """host:port of a Kafka to use instead of the embedded one."""
    mongodb: str | None = Field(default=None, pattern=r"^mongodb(\+srv)?://\S+$")
    """URI of a MongoDB replica set to use instead of the embedded one."""
    kafka_ca: str | None = None
    """File of the authority that signed the certificate of `kafka`; default: those of the system."""
    mongodb_ca: str | None = None
    """File of the authority that signed the certificate of `mongodb`, which is reached with TLS then."""
    plain_text_hosts: tuple[str, ...] = ()
    """Hosts of `kafka`, `mongodb` and `[apps.brokers]` that logins may be sent to without TLS."""
    exchanges: tuple[str, ...] = ()
    """The exchanges that take part; none named means all."""
    assets: tuple[str, ...] = ("BTC",)
    """The assets that are compared and traded."""
    standby_assets: tuple[str, ...] = ()
    """Assets that can be added while the session runs; until then nothing is asked about them."""
    markets: dict[str, MarketsConfiguration] = Field(default_factory=dict)
    """`[markets.NAME]`: the only symbols of an exchange; if it is not named, all of the assets. Needed for exchanges
    that are not simulated."""
    asset: dict[str, AssetConfiguration] = Field(default_factory=dict)
    """By ccxt's code: codes that no list of ours knows, or knows as more than one asset."""
    exchange: dict[str, ExchangeConfiguration] = Field(default_factory=dict)
    """By name; all exchanges of a session have one mode."""
    generic_live: tuple[str, ...] = ()
    """Exchanges that may be traded on with money although they are reached through ccxt alone."""
    unsimulated_live: tuple[str, ...] = ()
    """Those of `generic_live` that no simulator stands behind."""
    port: int = Field(default=8000, ge=1, le=65_535)
    bind: str = "127.0.0.1"
    """The address the dashboard listens on; beyond loopback only if configured."""
    require_key: bool = False
    """Whether reading needs a key too; beyond loopback it does in any case."""
    limits: LimitConfiguration = LimitConfiguration()
    oidc: OidcConfiguration | None = None
    seed: int = 1
    market: MarketName = DEFAULT_MARKET
    """How the prices of the simulated exchanges move."""
    partitions: int = Field(default=1, ge=1, le=64)
    bots_per_exchange: int = Field(default=1, ge=1, le=4)
    """One of them trades; the others are on standby and take over once its lease has expired."""
    rate_limits: bool = True
    """Whether simulated exchanges enforce the rate limits of the real ones; off for load tests."""
    feeds: FeedConfiguration = FeedConfiguration()
    paper: PaperConfiguration = PaperConfiguration()
    record: bool = False
    """Whether frames in and ticks out are recorded below `recordings` of the data folder."""
    recordings_mb: int = Field(default=1_000, ge=1)
    """Limit of all recordings in the data folder, megabytes. Nothing is deleted: at the limit, recording stops."""
    cycles: CyclesConfiguration | None = None
    """`[cycles]`: which cycles of several markets are looked for; None: none."""
    transfers: TransfersConfiguration = TransfersConfiguration()
    """`[transfers]`: whether currencies are sent between exchanges, and what that costs."""
    keep_trades_days: int = Field(default=0, ge=0, le=36_500)
    """Ended arbitrages older than that are removed, except their sums by month; 0: none are."""
    disk: DiskConfiguration = DiskConfiguration()
    apps: AppsConfiguration = AppsConfiguration()
    """`[apps]`: what stream apps may use and take."""
    notices: tuple[NoticesConfiguration, ...] = ()
    """`[[notices]]`: notification destinations."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """First values of the tunable settings; later ones are changed through REST."""

    @field_validator("keep_trades_days")
    @classmethod
    def _keeps_a_month(cls, days: int) -> int:
        """Check the days: late fills, signals and opportunities refer to what is younger."""
        if 0 < days < FEWEST_KEPT_DAYS:
            raise ValueError(f"must be 0, which keeps all, or at least {FEWEST_KEPT_DAYS}")
        return days

    @field_validator("kafka")
    @classmethod
    def _names_hosts(cls, kafka: str | None) -> str | None:
        for place in [] if kafka is None else kafka.split(","):
            found = _KAFKA_PLACE.fullmatch(place)
            if found is None or not 0 < int(found[2]) <= LAST_PORT:
                raise ValueError("must have the form HOST:PORT, several of them with commas and without spaces")
        return kafka

    @field_validator("kafka_ca", "mongodb_ca")
    @classmethod
    def _has_certificates(cls, path: str | None) -> str | None:
        """Return the whole path, because parts may work in other folders."""
        if path is None:
            return None
        try:
            create_default_context(cafile=path)
        except OSError:  # of which SSLError is one
            raise ValueError(f"{path!r} is not a readable file of certificates; name one in PEM") from None
        return str(Path(path).resolve())

    @field_validator("plain_text_hosts", mode="before")
    @classmethod
    def _are_separated(cls, hosts: object) -> object:
        """Return the hosts; a variable of the environment has them with commas."""
        return [host for host in hosts.replace(" ", "").split(",") if host] if isinstance(hosts, str) else hosts

    _file: str = PrivateAttr(default=DEFAULT_FILE)

    @property
    def file(self) -> str:
        """Return the file that it was read from, for later error messages."""
        return self._file

    @property
    def known_assets(self) -> tuple[str, ...]:
        """Return the assets that are traded, and those on standby."""
        return tuple(dict.fromkeys((*self.assets, *self.standby_assets)))

    @property
    def access(self) -> AccessTerms:
        """Return who may read and change."""
        terms = access_terms(self.require_key, self.limits, self.oidc)
        return replace(terms, halting_apps=self.apps.may_halt, acting_apps=acting_apps(self.apps))

    @property
    def session_exchanges(self) -> tuple[str, ...]:
        """Return the named exchanges, else the real ones; with none, all simulated ones take part."""
        return self.exchanges or tuple(name for name, one in self.exchange.items() if one.mode != "simulated")

    @property
    def is_public(self) -> bool:
        """Return whether `arbitrage paper` is to trade at the live prices of real exchanges."""
        return any(exchange.mode == "public" for exchange in self.exchange.values())


def read_configuration(path: Path | None, environment: Mapping[str, str]) -> Configuration:
    """Return the file's configuration under the environment's; defaults if no file is named and `arbitrage.toml` is
    absent. Raises CannotStartError in one sentence."""
    document = _document(path)
    overrides = overrides_in(environment)
    file = str(path or DEFAULT_FILE)
    try:
        configuration = Configuration.model_validate(document | overrides)
    except ValidationError as error:
        raise CannotStartError(f"{_where_and_why(error, file, overrides)}.") from error
    configuration._file = file
    return configuration


def first_settings(config: Configuration, before: Mapping[str, Any]) -> Settings:
    """Return the settings of a new database: `[settings]` over `before`. Raises CannotStartError in one sentence."""
    try:
        return Settings.model_validate({**before, **config.settings})
    except ValidationError as error:
        raise CannotStartError(f"{config.file}: [settings]: {error_text(error, 'the table')}.") from error


def _where_and_why(error: ValidationError, file: str, overrides: Mapping[str, str]) -> str:
    """Return each fault with the file or the variable that it came from."""
    variables = {field: variable for variable, field in ENVIRONMENT.items() if field in overrides}
    faults = error.errors()
    in_file = [fault for fault in faults if fault["loc"][:1] == () or fault["loc"][0] not in variables]
    sentences = [f"{file}: {sentence_of(in_file, 'the document')}"] if in_file else []
    sentences += [f"{variables[str(fault['loc'][0])]}: {fault_text(fault)}" for fault in faults if fault not in in_file]
    return "; ".join(sentences)


def _document(path: Path | None) -> dict[str, Any]:
    if path is None:
        path = Path(DEFAULT_FILE)
        if not path.exists():
            return {}
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror}); name a readable TOML file.") from error
    except (ValueError, RecursionError) as error:
        raise CannotStartError(f"{path}: is not valid TOML ({error}); correct that place.") from error
