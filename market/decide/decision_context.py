"""What is known when it is asked whether an opportunity may be traded, and the part of it that is stored with the
decision: enough to repeat it, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from market.decide.settings import Settings
from market.decide.thresholds import Imbalance, lowered_threshold
from market.instruments.orders import Side
from market.money import ZERO, BoundedDecimal
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow


@dataclass(frozen=True, slots=True)
class RiskState:
    """What is open and counted at `now` (the server's, microseconds); money in the settlement currency."""

    now: int
    reservations_open: bool
    open_arbitrages: int
    notional: Mapping[str, BoundedDecimal]
    """`notional_keys` → of the open arbitrages."""
    paused_until: Mapping[str, int]
    """Exchange → until when it takes no part."""
    pair_busy: bool
    pair_reserved_at: int
    day_net: BoundedDecimal = ZERO
    """Known to the store alone."""
    unexplained: tuple[str, ...] = ()
    """Exchanges that are reduce-only until a person settles what differs there."""


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """An opportunity and all that is known when it is asked about; what is not known rejects nothing."""

    opportunity: Opportunity
    settings: Settings
    risk: RiskState | None = None
    """None: not known."""
    now: int | None = None
    """Market time, microseconds; None in the store's transaction, in which nothing below is known."""
    window: SpreadWindow | None = None
    """The newest 10 s window of the opportunity's pair."""
    history: tuple[SpreadWindow, ...] = ()
    """The 60 s windows of its pair over the last minutes."""
    drift: Mapping[str, Decimal] = field(default_factory=dict)
    """Currency → how much more of it lies on all exchanges together than at the session's opening."""
    legs_left: int | None = None
    """How many more legs the rate limits of both exchanges allow; None without limits."""
    place_value: Decimal | None = None
    """What its places at both exchanges have to bring, in settlement currency; None: not asked for."""
    free: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)
    """(exchange, currency) → free balance, as last seen."""
    is_used_up: bool = False
    """Whether the store had said that a quote has nothing left."""
    only_side: Side | None = None
    """What a trade of one leg alone does; None for an arbitrage."""
    imbalance: Imbalance | None = None
    """What it would bring back; None if nothing, or if its spread needs no lower threshold."""

    @property
    def threshold(self) -> float:
        """Return the net spread, bps, from which it is traded."""
        one, settings = self.opportunity, self.settings
        own = settings.threshold(one.base, one.buy.exchange, one.sell.exchange)
        return lowered_threshold(own, self.imbalance, settings.rebalancing_bps)


@dataclass(frozen=True, slots=True)
class RecordedContext:
    """A `DecisionContext` less what the opportunity has no part in."""

    offset: int
    """The offset of the row that made the opportunity: one that comes again with its id is older by then."""
    settings_version: int
    now: int | None
    window: SpreadWindow | None = None
    calmest: SpreadWindow | None = None
    """The one of the pair's 60 s windows that alone sets the limit of `market.decide.quarantine`."""
    drift: dict[str, BoundedDecimal] = field(default_factory=dict)
    risk: RiskState | None = None
    free: dict[str, BoundedDecimal] = field(default_factory=dict)
    """`exchange|currency` → what both legs could use."""
    is_used_up: bool = False
    legs_left: int | None = None
    place_value: BoundedDecimal | None = None
    imbalance: Imbalance | None = None

    def context(self, opportunity: Opportunity, settings: Settings) -> DecisionContext:
        """From which the same is decided; `settings` must be of `settings_version`."""
        places = {key: key.partition("|") for key in self.free}
        return DecisionContext(
            opportunity=opportunity,
            settings=settings,
            risk=self.risk,
            now=self.now,
            window=self.window,
            history=() if self.calmest is None else (self.calmest,),
            drift=self.drift,
            legs_left=self.legs_left,
            place_value=self.place_value,
            free={(exchange, currency): self.free[key] for key, (exchange, _, currency) in places.items()},
            is_used_up=self.is_used_up,
            imbalance=self.imbalance,
        )


def recorded_context(context: DecisionContext) -> RecordedContext:
    opportunity, settings = context.opportunity, context.settings
    buy, sell = opportunity.buy, opportunity.sell
    used = ((buy.exchange, buy.quote_currency), (sell.exchange, opportunity.base))
    deviations = settings.quarantine_deviations
    calmest = min(context.history, key=lambda one: one.mean_bps + deviations * one.deviation, default=None)
    drift = context.drift
    return RecordedContext(
        offset=opportunity.offset,
        settings_version=settings.version,
        now=context.now,
        window=context.window,
        calmest=calmest,
        drift={name: drift[name] for name in currencies_of(opportunity) if drift.get(name, ZERO) != 0},
        risk=None if context.risk is None else _recorded_risk(opportunity, context.risk),
        free={"|".join(place): context.free[place] for place in used if place in context.free},
        is_used_up=context.is_used_up,
        legs_left=context.legs_left,
        place_value=context.place_value,
        imbalance=context.imbalance,
    )


def currencies_of(opportunity: Opportunity) -> tuple[str, ...]:
    """Those that its legs move, each once."""
    return tuple(dict.fromkeys((opportunity.base, opportunity.buy.quote_currency, opportunity.sell.quote_currency)))


def notional_keys(opportunity: Opportunity) -> tuple[str, ...]:
    """Return the sums that its notional counts in; each key once."""
    exchanges = dict.fromkeys((opportunity.buy.exchange, opportunity.sell.exchange))
    return ("total", f"base|{opportunity.base}", *(f"exchange|{name}" for name in exchanges))


def _recorded_risk(opportunity: Opportunity, risk: RiskState) -> RiskState:
    """Only the sums and the pauses of the opportunity's own exchanges."""
    exchanges = {opportunity.buy.exchange, opportunity.sell.exchange}
    return replace(
        risk,
        notional={key: risk.notional[key] for key in notional_keys(opportunity) if key in risk.notional},
        paused_until={name: until for name, until in risk.paused_until.items() if name in exchanges},
        unexplained=tuple(name for name in risk.unexplained if name in exchanges),
    )
