"""The immutable description of one run, written by the supervisor and read by each of its processes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, TypeAdapter, WrapSerializer

from market.accounting.transfer_planning import OFF, TransferRules
from market.accounting.transfer_terms import TransferTerms
from market.decide.settings import Settings
from market.instruments.cycles import Cycle, CycleTerms, session_cycles
from market.instruments.markets import Market
from market.money import BoundedDecimal
from runtime.clock import Clock, ReplayClock, SystemClock
from session.access_terms import AccessTerms
from session.disk_bounds import DiskBounds
from session.exchange_entries import ExchangeEntry
from session.notice_destinations import Destination
from session.simulated_market import SimulatedMarket

Mode = Literal["paper", "public", "replay", "sandbox", "live"]
"""On simulated exchanges; on local accounts, at the public prices of real exchanges or at recorded ones; on real
exchanges with play money, or with money."""


@dataclass(frozen=True, slots=True)
class ReplayTime:
    """Recording start and wall start in microseconds, and how many times faster than recorded."""

    recording_start: int
    wall_start: int
    speed: float


@dataclass(frozen=True, slots=True)
class Services:
    """Kafka and MongoDB: where they are, and what is the session's there. Each address has its login with it."""

    kafka: str
    mongodb: str
    database: str
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class Placement:
    """In which region a process runs; raises ValueError for one that is not the session's."""

    region: str | None = None
    """One of `regions`, if there are any; an exchange's own stands with its markets."""
    regions: tuple[str, ...] = ()
    """Regions with a Kafka each, the session's being that of `region`; empty: there is one for all."""
    carrier_home: Path | None = None
    """Where the carrier of links between regions takes commands; None: links are as they are."""

    def __post_init__(self) -> None:
        if self.region not in (self.regions or (None,)):
            raise ValueError(f"region is {self.region!r}, and the session's regions are {self.regions}.")

    def chosen(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the regions of these names in the session's order; none if all are named, or none is. Raises
        ValueError in one sentence for a name that is no region's."""
        wanted = set(names)
        unknown = sorted(wanted - set(self.regions))
        if unknown:
            known = ", ".join(self.regions) or "none"
            raise ValueError(f"this session has no region {unknown[0][:40]!r}; its regions: {known}.")
        return () if len(wanted) == len(self.regions) else tuple(one for one in self.regions if one in wanted)


@dataclass(frozen=True, slots=True)
class ExchangeReach:
    """How exchanges are reached, and what it costs to send from one to another."""

    entries: dict[str, ExchangeEntry] = field(default_factory=dict)
    """Exchanges that are reached otherwise than by ccxt's exchange of their name, with our own reader and orders."""
    gateways: dict[str, str] = field(default_factory=dict)
    """At real exchanges: exchange → root of a gateway that stands before it, if not its own addresses are used."""
    transfers: tuple[TransferTerms, ...] = ()
    """What sending a currency from one exchange to another costs; of those not listed it is unknown."""
    transfer_rules: TransferRules = OFF
    """Whether currencies are sent, and when."""


@dataclass(frozen=True, slots=True)
class PageTerms:
    """REST and the pages: where they are served, and who may do what."""

    host: str = "127.0.0.1"
    port: int = 8000
    outer_host: str | None = None
    """Where this machine reaches the page, if not at `host`."""
    access: AccessTerms = field(default_factory=AccessTerms)
    """Who may read and change over REST and the pages."""

    @property
    def url(self) -> str:
        """As users reach it."""
        return f"http://{self.outer_host or self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class SimulatedNetworks:
    """How money travels between the simulated exchanges, by the terms of transfers."""

    speed: float = 1.0
    """How many times faster than the terms say."""
    returned_share: float = 0.0
    """Of withdrawals, those that the exchange takes and then gives back."""
    closed_share: float = 0.0
    """Of the time, in which a currency cannot be withdrawn from an exchange."""


@dataclass(frozen=True, slots=True)
class SimulatedTerms:
    """The simulated exchanges of a session, if it has any."""

    url: str | None = None
    """Root of the simulated exchanges; None if there are none."""
    rate_limits: bool = True
    """Whether the simulated exchanges keep the real ones' rate limits, and we within them; lifted to load them."""
    market: SimulatedMarket = field(default_factory=SimulatedMarket)
    networks: SimulatedNetworks = field(default_factory=SimulatedNetworks)


@dataclass(frozen=True, slots=True)
class LocalAccounts:
    """The local paper accounts of a session at recorded or public prices."""

    balances: dict[str, dict[str, BoundedDecimal]] = field(default_factory=dict)
    """Opening balances of local paper accounts: exchange → currency → amount."""
    latency_ms: int = 50
    """Local paper accounts: from decision to match, the median."""
    latency_spread: float = 0.0
    """Standard deviation of its logarithm; each order's is drawn by `seed` and the order's own id."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is kept, for how long, and where notices go."""

    recordings_mb: int | None = None
    """The feeds are recorded until all recordings take so many megabytes; None if they are not."""
    keep_trades_days: int = 0
    """Ended arbitrages older than that are removed but for their sums; 0: none are."""
    disk: DiskBounds = field(default_factory=DiskBounds)
    """How much room the data folder's disk must have."""
    notices: tuple[Destination, ...] = ()
    """Where notices go."""


@dataclass(frozen=True, slots=True)
class Session:
    """What one run trades, where and since when. Holds no secret: keys lie in files named here."""

    session_id: str
    mode: Mode
    home: Path
    """The data folder; in a description for other machines relative to where it is read."""
    services: Services
    markets: tuple[Market, ...]
    settlement_currency: str
    cycles: CycleTerms | None = None
    """Which cycles are looked for; None: none."""
    standby_assets: tuple[str, ...] = ()
    """Assets among the markets that have no feed until an operator enables them."""
    seed: int = 1
    replay: ReplayTime | None = None
    stale_after_ms: int = 3_000
    """How long a quote stays valid without confirmation before its feed withdraws it."""
    started_at: int = 0
    """By the wall clock, microseconds UTC; 0 if unknown. The log and the store also hold earlier data."""

    place: Placement = field(default_factory=Placement)
    reach: ExchangeReach = field(default_factory=ExchangeReach)
    page: PageTerms = field(default_factory=PageTerms)
    simulated: SimulatedTerms = field(default_factory=SimulatedTerms)
    local_accounts: LocalAccounts = field(default_factory=LocalAccounts)
    upkeep: Upkeep = field(default_factory=Upkeep)

    def clock(self) -> Clock:
        if self.replay is None:
            return SystemClock()
        return ReplayClock(self.replay.recording_start, self.replay.wall_start, self.replay.speed)

    @property
    def data_home(self) -> Path:
        """Return the data folder with the tick sets: sessions at real prices, and each region, have their own folder
        within it."""
        if self.place.region is not None:
            return self.home.parents[1]
        return self.home if self.mode == "paper" else self.home.parent

    @property
    def began_at(self) -> int | None:
        """By the session's own clock, microseconds UTC: of a replay the recording's start. None if unknown."""
        return (self.started_at if self.replay is None else self.replay.recording_start) or None

    @property
    def exchanges(self) -> tuple[str, ...]:
        """Exchanges in the order of the markets, each once."""
        return tuple(dict.fromkeys(market.exchange for market in self.markets))

    @property
    def exchanges_here(self) -> tuple[str, ...]:
        """Those that are fed and traded at from this region; without regions all."""
        here = {market.exchange for market in self.markets if self.place.region in (None, market.region)}
        return tuple(name for name in self.exchanges if name in here)

    @property
    def traded(self) -> tuple[Market, ...]:
        return tuple(market for market in self.markets if not market.is_fx)

    @property
    def bases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(market.base for market in self.traded))

    def watched_cycles(self) -> tuple[Cycle, ...]:
        return _watched_cycles(self.markets, self.cycles, self.settlement_currency)

    @property
    def trades_cycles(self) -> bool:
        """Whether bots trade the cycles that are found: not with money until long chaos runs were clean."""
        return self.cycles is not None and self.mode != "live"

    @property
    def ordered_markets(self) -> tuple[Market, ...]:
        """Return those in which orders may be sent: what is traded, and the FX markets of cycles."""
        watched = self.watched_cycles() if self.trades_cycles else ()
        of_cycles = (leg.market for cycle in watched for leg in cycle.legs)
        return tuple(dict.fromkeys((*self.traded, *of_cycles)))

    def is_on_standby(self, base: str, settings: Settings | None) -> bool:
        """Whether the asset has no feeds under these settings; None: there are none yet."""
        return base in self.standby_assets and (settings is None or base not in settings.enabled_assets)

    def fed_markets(self, settings: Settings | None) -> tuple[Market, ...]:
        """Those that have a feed under these settings."""
        return tuple(one for one in self.markets if one.is_fx or not self.is_on_standby(one.base, settings))

    def markets_of(self, exchange: str) -> tuple[Market, ...]:
        return tuple(market for market in self.markets if market.exchange == exchange)

    def entry_of(self, exchange: str) -> ExchangeEntry:
        entry = self._own_entry(exchange)
        return replace(entry, at_one_address=max(1, len(self.accounts_at.get(entry.ccxt, ()))))

    @property
    def accounts_at(self) -> dict[str, tuple[str, ...]]:
        """ccxt's name of an exchange → the names under which the session trades there."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self.exchanges:
            ccxt = self._own_entry(name).ccxt
            found[ccxt] = (*found.get(ccxt, ()), name)
        return found

    def _own_entry(self, exchange: str) -> ExchangeEntry:
        return self.reach.entries.get(exchange) or ExchangeEntry(exchange)

    def to_json(self) -> bytes:
        return _ADAPTER.dump_json(self, indent=2)

    @classmethod
    def from_json(cls, text: bytes | str) -> "Session":
        """Raise pydantic.ValidationError if the text is no session."""
        return _ADAPTER.validate_json(text)


_STORED_AS: dict[str, dict[str, str]] = {
    "services": {name: name for name in ("kafka", "mongodb", "database", "partitions")},
    "place": {name: name for name in ("region", "regions", "carrier_home")},
    "reach": {name: name for name in ("entries", "gateways", "transfers", "transfer_rules")},
    "page": {"host": "web_host", "port": "web_port", "outer_host": "page_host", "access": "access"},
    "simulated": {
        "url": "exchanges_url",
        "rate_limits": "rate_limits",
        "market": "market",
        "networks": "simulated_networks",
    },
    "local_accounts": {
        "balances": "paper_balances",
        "latency_ms": "paper_latency_ms",
        "latency_spread": "paper_latency_spread",
    },
    "upkeep": {name: name for name in ("recordings_mb", "keep_trades_days", "disk", "notices")},
}
"""Part → its field → the name in the file. The file is flat, so that data folders of other versions can be read."""


def _in_parts(stored: object) -> object:
    if not isinstance(stored, dict):
        return stored
    parts = {
        part: {field_name: stored[name] for field_name, name in names.items() if name in stored}
        for part, names in _STORED_AS.items()
    }
    return stored | parts


def _flat(session: Session, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
    stored: dict[str, object] = handler(session)
    for part, names in _STORED_AS.items():
        values = cast(dict[str, object], stored.pop(part))
        stored |= {name: values[field_name] for field_name, name in names.items()}
    return stored


_ADAPTER: TypeAdapter[Session] = TypeAdapter(Annotated[Session, BeforeValidator(_in_parts), WrapSerializer(_flat)])


@lru_cache(maxsize=1)
def _watched_cycles(markets: tuple[Market, ...], terms: CycleTerms | None, currency: str) -> tuple[Cycle, ...]:
    """Return them from the second time on without searching: a bot asks for them at several places."""
    return session_cycles(markets, terms, currency)
