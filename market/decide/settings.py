"""The tunable settings: one validated document with a version, changed through REST, read by CEP and bots."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from market.decide.kill_switch import TradingState
from market.decide.thresholds import (
    cycle_threshold,
    exchanges_of_cycle,
    exchanges_of_pair,
    net_threshold,
    of_cycle,
    own_threshold,
)
from market.instruments.cycles import Cycle
from market.instruments.orders import Side
from market.money import BoundedDecimal, decimal_of


def _summed_as_decimal(number: float) -> float:
    """Raise ValueError if that would need more digits than any number of ours has."""
    return float(decimal_of(number))


def _checked_pair(name: str) -> str:
    exchanges_of_pair(name)
    return name


def _checked_cycle(name: str) -> str:
    exchanges_of_cycle(name)
    return name


PairName = Annotated[str, AfterValidator(_checked_pair)]
CycleName = Annotated[str, Field(max_length=400), AfterValidator(_checked_cycle)]
Bps = Annotated[float, Field(ge=-1_000, le=10_000, allow_inf_nan=False), AfterValidator(_summed_as_decimal)]
Rate = Annotated[BoundedDecimal, Field(ge=0, le=Decimal("0.1"))]
Money = Annotated[BoundedDecimal, Field(gt=0, le=Decimal(10_000_000))]


class MarketRules(BaseModel):
    """What an exchange says of one market: its steps and minima, and why it takes no orders now, if it does not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tick_size: Annotated[BoundedDecimal, Field(gt=0)]
    lot_step: Annotated[BoundedDecimal, Field(gt=0)]
    minimum_amount: Annotated[BoundedDecimal, Field(ge=0)]
    minimum_notional: Annotated[BoundedDecimal, Field(ge=0)]
    closed: str = Field(default="", max_length=200)


MOST_CLOSE_ORDERS = 20
"""At a time."""


class CloseOrder(BaseModel):
    """An operator's order to close what an arbitrage holds on one side alone: the best price on its market then, and
    when, by the server's clock (microseconds). `side` of the order that it asks for, and the most that it may be for
    (base); None in what earlier versions stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    price: Annotated[BoundedDecimal, Field(gt=0)]
    asked_at: int = Field(ge=0, lt=2**53)
    side: Side | None = None
    amount: Annotated[BoundedDecimal, Field(gt=0)] | None = None


class Settings(BaseModel):
    """Settings that can be changed at run time. Money is in the settlement currency; rates are fractions of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(default=1, ge=1)
    trading_state: TradingState = "running"
    """The kill switch (`market/decide/kill_switch.py`)."""
    enabled_exchanges: tuple[str, ...]
    disabled_assets: tuple[str, ...] = ()
    """Assets of the session that were taken off it: nothing new begins, what is open is finished."""
    enabled_assets: tuple[str, ...] = ()
    """Assets on standby that were added. One of them that is taken off again keeps its feeds, which what is open in it
    needs; they end with the session."""
    min_net_bps: Bps = 5.0
    """Bots trade at or above it; below, they reject as `below_threshold`."""
    asset_thresholds: dict[str, Bps] = Field(default_factory=dict)
    """By base asset, in place of `min_net_bps`; the highest of all that apply counts."""
    pair_thresholds: dict[PairName, Bps] = Field(default_factory=dict)
    """By pair of exchanges, as `market.decide.thresholds` names them, in place of `min_net_bps`; likewise."""
    cycle_thresholds: dict[CycleName, Bps] = Field(default_factory=dict)
    """By cycle, as `market.decide.thresholds` names them, in place of `min_net_bps` and of its assets' thresholds; the
    most specific counts."""
    rebalancing_bps: float = Field(default=0.0, ge=0, le=10_000)
    """How far below its threshold a trade may be that brings inventory back (`market.decide.thresholds`); 0: off."""
    emit_net_bps: Bps = 0.0
    """CEP emits at or above it, so that the dashboard can say what another threshold would have done."""
    min_share_above_10s: float = Field(default=0.0, ge=0, le=1)
    """Minimum share of the last 10 s window at or over the threshold in force; 0 switches the rule off."""
    quarantine_deviations: float = Field(default=8.0, ge=0, le=100)
    """A spread this many standard deviations above its recent mean is `quarantined`; 0: off."""
    quarantine_floor_bps: Bps = 150.0
    """Quarantine floor: up to this net spread the rule above never rejects."""
    quarantine_ceiling_bps: float = Field(default=500.0, ge=0, le=10_000)
    """Quarantine ceiling: above this net spread everything is `quarantined`; 0: off."""
    max_quote_age_ms: int = Field(default=2_000, ge=1, le=86_400_000)
    opportunity_lifetime_ms: int = Field(default=1_000, ge=1, le=86_400_000)
    max_notional: Money = Decimal(1_000)
    """Per arbitrage."""
    cycle_notionals: dict[CycleName, Money] = Field(default_factory=dict)
    """By cycle, in place of `max_notional`, of what its first leg gives; the most specific counts."""
    max_open_arbitrages: int = Field(default=4, ge=1, le=1_000)
    max_total_notional: Money = Decimal(10_000)
    """The most of all open arbitrages together."""
    max_exchange_notional: Money = Decimal(5_000)
    """The most of the open arbitrages with a leg on one exchange."""
    exchange_limits: dict[str, Money] = Field(default_factory=dict)
    """By exchange, in place of `max_exchange_notional`."""
    max_asset_notional: Money = Decimal(10_000)
    """The most of the open arbitrages in one base asset."""
    asset_limits: dict[str, Money] = Field(default_factory=dict)
    """By base asset, in place of `max_asset_notional`."""
    max_daily_loss: Money = Decimal(1_000)
    """A day, UTC by the server's clock, that lost so much begins no further arbitrage."""
    max_exposure: Money = Decimal(5_000)
    """How far the base held on all exchanges together may be from the opening, valued."""
    max_currency_drift: Money = Decimal(100_000)
    """How far one quote currency on all exchanges together may be from the opening, valued."""
    breaker_failures: int = Field(default=5, ge=0, le=1_000)
    """So many failures of one exchange within `breaker_window_ms` pause it; 0: never."""
    breaker_window_ms: int = Field(default=60_000, ge=1, le=86_400_000)
    breaker_pause_ms: int = Field(default=30_000, ge=1, le=86_400_000)
    reconcile_ms: int = Field(default=15_000, ge=1_000, le=3_600_000)
    """Between two comparisons of the books with what the exchange says."""
    order_final_ms: int = Field(default=10_000, ge=1_000, le=3_600_000)
    """An acknowledged order that is not final by then is cancelled: ours end at once."""
    cool_down_ms: int = Field(default=1_000, ge=0, le=3_600_000)
    """Between two reservations of one pair of exchanges, by the server's clock."""
    place_value_share: float = Field(default=1.0, ge=0, le=10)
    """A trade must bring this share of what its places within the exchanges' rate limits are worth
    (`market.decide.place_values`); 0: the first gets the place."""
    max_slippage_bps: Bps = 5.0
    """How far past the worst level walked a leg's limit price may stand."""
    single_leg_policy: Literal["complete", "reverse", "hold"] = "complete"
    single_leg_limit_bps: Bps = 50.0
    """How far from the quoted price completing or reversing a single leg may go."""
    flatten_limit_bps: Bps = 200.0
    """How far from the quoted price flattening the residual base of a late fill may go."""
    close_now: dict[Annotated[str, Field(max_length=200)], CloseOrder] = Field(
        default_factory=dict, max_length=MOST_CLOSE_ORDERS
    )
    """By arbitrage: what an operator closes now (`market.trade.closing`). Orders that are over stay until the next."""
    ma_trading: Literal["off", "signals", "orders"] = "signals"
    """The moving average strategy: not at all, its signals alone, or with orders of `ma_notional`."""
    ma_notional: Money = Decimal(100)
    ma_interval_ms: int = Field(default=5_000, ge=100, le=3_600_000)
    """Between two closes of an exchange."""
    taker_fees: dict[str, Rate]
    """Per exchange, as a fraction of the notional."""
    market_rules: dict[str, MarketRules] = Field(default_factory=dict)
    """By `exchange|symbol`: what real exchanges said last, in place of what the session began with."""

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> "Settings":
        if self.min_net_bps < self.emit_net_bps:
            raise ValueError("min_net_bps must not be below emit_net_bps")
        for name, value in (
            *self.asset_thresholds.items(),
            *self.pair_thresholds.items(),
            *self.cycle_thresholds.items(),
        ):
            if value < self.emit_net_bps:
                raise ValueError(f"the threshold of {name} must not be below emit_net_bps")
        unknown = set(self.enabled_exchanges) - set(self.taker_fees)
        if unknown:
            raise ValueError(f"enabled_exchanges names {', '.join(sorted(unknown))}, which has no taker fee")
        return self

    def threshold(self, base: str, buy: str, sell: str) -> float:
        """Return the net spread, bps, from which `base` is bought on the exchange `buy` and sold on `sell`."""
        return net_threshold(self.min_net_bps, self.asset_thresholds, self.pair_thresholds, base, buy, sell)

    def own_threshold(self, base: str, buy: str, sell: str) -> float | None:
        """Return the threshold that stands in place of `min_net_bps` there; None if that one counts."""
        return own_threshold(self.asset_thresholds, self.pair_thresholds, base, buy, sell)

    def cycle_threshold(self, cycle: Cycle) -> tuple[float, str]:
        """Return the net spread, bps, from which a cycle is traded, and whose it is."""
        return cycle_threshold(self.min_net_bps, self.cycle_thresholds, self.asset_thresholds, cycle)

    def cycle_notional(self, cycle: Cycle) -> tuple[Decimal, str]:
        """Return what the first leg of a cycle may give at most, and whose limit it is."""
        return of_cycle(self.cycle_notionals, cycle) or (self.max_notional, "general")

    def exchange_limit(self, exchange: str) -> Decimal:
        return self.exchange_limits.get(exchange, self.max_exchange_notional)

    def asset_limit(self, base: str) -> Decimal:
        return self.asset_limits.get(base, self.max_asset_notional)


def of_next_session(stored: Settings, first: Settings, *, is_asked: bool = False) -> Settings | None:
    """Return `stored` with the exchanges of `first` that it does not know: enabled, at their fees. An asset on standby
    that was taken off again needs no feeds any more. None if nothing of it changes `stored`.

    What people chose stays: an exchange that was switched off has a fee in `stored`, so it is not new. `is_asked`: the
    fees and market rules of `first` are what the exchanges just said, and replace those stored.
    """
    new = tuple(name for name in first.enabled_exchanges if name not in stored.taker_fees)
    fees = {name: first.taker_fees[name] for name in (first.taker_fees if is_asked else new)}
    enabled = tuple(name for name in stored.enabled_assets if name not in stored.disabled_assets)
    changed = stored.model_copy(
        update={
            "enabled_exchanges": (*stored.enabled_exchanges, *new),
            "taker_fees": {**stored.taker_fees, **fees},
            "enabled_assets": enabled,
            "market_rules": {**stored.market_rules, **(first.market_rules if is_asked else {})},
        }
    )
    return None if changed == stored else changed
