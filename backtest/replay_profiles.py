"""Replay profiles: which recorded files stand for which markets, and every assumption that makes them
comparable.

They are frozen, because a replay's report means little without the exact profile that it was made with.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Literal

from exchanges.listed_codes import listed_codes
from market.decide.settings import Settings
from market.instruments.assets import Assumption, identity_fault
from market.instruments.contracts import known_contract
from market.instruments.markets import Market
from market.money import BPS, text_of
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.hftbacktest import TickerSource
from tick_sets.rows.special_files import check_kind
from tick_sets.sets.manifest import Manifest

FEE_RATE = Decimal("0.0010")
"""10 bps a side, the order of a common taker tier."""


@dataclass(frozen=True, slots=True)
class RecordedMarket:
    """One market of a profile; its files are recognised by their folder and the end of their names."""

    market: Market
    folder: str
    name_end: str
    source: TickerSource | Literal["lean", "own"]
    utc_offset_hours: int = 0

    def matches(self, path: Path) -> bool:
        return path.resolve().parent.name == self.folder and path.name.endswith(self.name_end)


@dataclass(frozen=True, slots=True)
class ReplayProfile:
    """Markets, opening balances and settings of a replay; `assumptions` stand in its report word by word."""

    name: str
    title: str
    assumptions: tuple[str, ...]
    recorded: tuple[RecordedMarket, ...]
    settlement_currency: str
    paper_balances: dict[str, dict[str, Decimal]]
    settings: Settings
    default_speed: float
    alike: tuple[Assumption, ...] = ()
    """Unlike assets that it compares one to one all the same."""

    @property
    def markets(self) -> tuple[Market, ...]:
        return tuple(recorded.market for recorded in self.recorded)

    @property
    def is_of_bars(self) -> bool:
        return any(recorded.source == "lean" for recorded in self.recorded)

    @property
    def all_assumptions(self) -> tuple[str, ...]:
        """Return all assumptions: unlike assets compared first, then the others, the fees in force last."""
        fees = ", ".join(f"{exchange} {text_of(rate * BPS)}" for exchange, rate in self.settings.taker_fees.items())
        said = (one.said for one in self.alike)
        return (*said, *self.assumptions, f"taker fees in bps a side: {fees}")

    def with_fee_bps(self, fee_bps: Decimal) -> "ReplayProfile":
        """Return the same profile with one taker fee on every exchange. Raises ImportRejectedError outside 0 to 1,000
        bps."""
        if not 0 <= fee_bps <= 1_000:
            raise ImportRejectedError(f"a fee of {fee_bps} bps is outside 0 to 1000")
        fees = dict.fromkeys(self.settings.taker_fees, fee_bps / BPS)
        return replace(self, settings=self.settings.model_copy(update={"taker_fees": fees}))

    def recorded_market(self, path: Path) -> RecordedMarket | None:
        return next((recorded for recorded in self.recorded if recorded.matches(path)), None)


def profile_for(paths: tuple[Path, ...]) -> ReplayProfile:
    """Return the one profile that all the files belong to. Raises ImportRejectedError, naming the file that fits
    none."""
    if not paths:
        raise ImportRejectedError("name at least one recorded file")
    for path in paths:
        check_kind(path)
    profiles = [_profile_of(path) for path in paths]
    fault = identity_fault(listed_codes(), profiles[0].markets, profiles[0].alike)
    if fault is not None:
        raise ImportRejectedError(f"{profiles[0].name}: {fault}")
    for path, profile in zip(paths, profiles, strict=True):
        if profile is not profiles[0]:
            raise ImportRejectedError(
                f"{path}: belongs to {profile.name}, while {paths[0]} belongs to {profiles[0].name}; "
                "replay them one after the other"
            )
    return profiles[0]


def _profile_of(path: Path) -> ReplayProfile:
    for profile in PROFILES:
        if profile.recorded_market(path) is not None:
            return profile
    if not path.exists():
        raise ImportRejectedError(f"{path}: there is no such file")
    known = ", ".join(f"{item.folder}/…{item.name_end}" for profile in PROFILES for item in profile.recorded)
    raise ImportRejectedError(f"{path}: matches no replay profile ({known}); use `arbitrage import` for other files")


def _market(exchange: str, symbol: str, region: str, quote_currency: str, sizes: tuple[str, str, str, str]) -> Market:
    """Return a market; `sizes`: tick size, lot step, minimum amount, minimum notional; contracts are those that are
    known."""
    tick_size, lot_step, minimum_amount, minimum_notional = map(Decimal, sizes)
    return Market(
        exchange=exchange,
        region=region,
        symbol=symbol,
        base="BTC",
        quote_currency=quote_currency,
        tick_size=tick_size,
        lot_step=lot_step,
        minimum_amount=minimum_amount,
        minimum_notional=minimum_notional,
        fee_side="quote",
        contract=known_contract(exchange, symbol),
    )


BINANCE_BTC = ReplayProfile(
    name="binance-btc",
    title="BTC on Binance's spot, USD-M and COIN-M markets, every best bid and ask",
    alike=(
        Assumption(
            "BTC contract",
            "BTC",
            "perpetual ≈ spot: a BTC perpetual future counts as BTC; the basis between them is not riskless profit",
        ),
        Assumption("USDT", "USD", "USDT = USD: spot and USD-M quote in USDT, COIN-M in USD; they are compared 1:1"),
    ),
    assumptions=(
        "COIN-M amounts, contracts of 100 USD, count as base amounts at the quoted price, in steps of 0.00001 BTC",
        "no funding payments",
        "depth beyond the best bid and ask is not used: no more than their displayed amounts is traded",
        "received times are the recorder's own; its clock runs 1.27 s behind the exchange's, alike on all three",
    ),
    recorded=(
        RecordedMarket(
            _market("binance", "BTC/USDT", "jp", "USD", ("0.01", "0.00001", "0.00001", "5")),
            folder="spot",
            name_end=".gz",
            source=TickerSource("BTCUSDT"),
        ),
        RecordedMarket(
            _market("binanceusdm", "BTC/USDT:USDT", "jp", "USD", ("0.1", "0.001", "0.001", "100")),
            folder="usdm",
            name_end=".gz",
            source=TickerSource("BTCUSDT"),
        ),
        RecordedMarket(
            _market("binancecoinm", "BTC/USD:BTC", "jp", "USD", ("0.1", "0.00001", "0.00001", "100")),
            folder="cm",
            name_end=".gz",
            source=TickerSource("BTCUSD_PERP"),
        ),
    ),
    settlement_currency="USD",
    paper_balances={
        exchange: {"USD": Decimal(100_000), "BTC": Decimal(2)}
        for exchange in ("binance", "binanceusdm", "binancecoinm")
    },
    settings=Settings(
        enabled_exchanges=("binance", "binanceusdm", "binancecoinm"),
        taker_fees=dict.fromkeys(("binance", "binanceusdm", "binancecoinm"), FEE_RATE),
        max_quote_age_ms=2_000,
        opportunity_lifetime_ms=1_000,
    ),
    default_speed=1.0,
)

LEAN_BTC = ReplayProfile(
    name="lean-btc",
    title="BTC/USD and BTC/EUR on Coinbase by the minute, with FXCM's EUR/USD",
    assumptions=(
        "one exchange's two order books stand for two exchanges: coinbase (BTC/USD) and coinbase-eur (BTC/EUR)",
        "a minute's closing bid and ask are known at its end; until the next, or for 120 s, they can be traded",
        "EUR is converted at FXCM's own bid or ask of the same minute; FXCM's times are UTC-05 all year",
        "depth beyond the best bid and ask is not recorded: their amounts limit every trade",
    ),
    recorded=(
        RecordedMarket(
            _market("coinbase", "BTC/USD", "us", "USD", ("0.01", "0.00000001", "0.001", "1")),
            folder="btcusd",
            name_end="_quote.zip",
            source="lean",
        ),
        RecordedMarket(
            _market("coinbase-eur", "BTC/EUR", "eu", "EUR", ("0.01", "0.00000001", "0.001", "1")),
            folder="btceur",
            name_end="_quote.zip",
            source="lean",
        ),
        RecordedMarket(
            Market(
                exchange="fxcm",
                region="us",
                symbol="EUR/USD",
                base="EUR",
                quote_currency="USD",
                tick_size=Decimal("0.00001"),
                lot_step=Decimal(1),
                minimum_amount=Decimal(1),
                minimum_notional=Decimal(1),
                fee_side="quote",
                is_fx=True,
            ),
            folder="eurusd",
            name_end="_quote.zip",
            source="lean",
            utc_offset_hours=-5,
        ),
    ),
    settlement_currency="USD",
    paper_balances={
        "coinbase": {"USD": Decimal(1_000_000), "BTC": Decimal(100)},
        "coinbase-eur": {"EUR": Decimal(1_000_000), "BTC": Decimal(100)},
    },
    settings=Settings(
        enabled_exchanges=("coinbase", "coinbase-eur"),
        taker_fees=dict.fromkeys(("coinbase", "coinbase-eur"), FEE_RATE),
        max_quote_age_ms=120_000,
        opportunity_lifetime_ms=60_000,
        # waits measured by the wall clock would be hours of this market
        cool_down_ms=0,
    ),
    default_speed=600.0,
)

PROFILES = (BINANCE_BTC, LEAN_BTC)


def profile_of(manifest: Manifest) -> ReplayProfile | None:
    """Return the replay profile that a set was imported by; it brings settings and balances."""
    return next((profile for profile in PROFILES if profile.title == manifest.title), None)
