"""The risk checks: every reason not to open a trade, as pure functions in one order. The first that rejects is
recorded.

A bot runs them before sizing. The store repeats those that two bots could pass at the same time, inside the transaction
that reserves. A check whose facts are not known where it runs rejects nothing. docs/risk.md has the table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from market.decide.quarantine import is_absurd
from market.decide.settings import Settings
from market.instruments.orders import Side
from market.money import ZERO
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.prices.spread_statistics import SpreadWindow

Place = Literal["bot", "reservation", "second leg", "sending", "wire"]
"""Where a check runs: in the bot, in the transaction that reserves the first leg, in the one for the second leg, in the
one that allows sending, and right before the order is posted."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands open at `now` (the server's, microseconds); money in the settlement currency."""

    now: int
    settings: Settings
    reservations_open: bool
    open_arbitrages: int
    notional: Mapping[str, Decimal]
    """`notional_keys` → of the open arbitrages."""
    day_net: Decimal
    paused_until: Mapping[str, int]
    """Exchange → until when it takes no part."""
    pair_busy: bool
    pair_reserved_at: int


@dataclass(frozen=True, slots=True)
class View:
    """What a bot sees beside the opportunity, at market time `now`, microseconds."""

    now: int
    window: SpreadWindow | None = None
    """The newest 10 s window of the opportunity's pair."""
    history: tuple[SpreadWindow, ...] = ()
    """The 60 s windows of its pair over the last minutes."""
    drift: Mapping[str, Decimal] = field(default_factory=dict)
    """Currency → how much more of it lies on all exchanges together than at the session's opening."""
    legs_left: int | None = None
    """How many the rate limits of the bot's own exchange let begin; None: as many as one likes."""


@dataclass(frozen=True, slots=True)
class Case:
    """An opportunity and all that is known where it is asked about."""

    opportunity: Opportunity
    settings: Settings
    standing: Standing | None = None
    """None: not known, or a trade that is joined, which has passed these."""
    view: View | None = None
    solo: Side | None = None
    """What a trade of one leg alone does; None for an arbitrage."""

    @property
    def exchanges(self) -> tuple[str, str]:
        return self.opportunity.buy.exchange, self.opportunity.sell.exchange


@dataclass(frozen=True, slots=True)
class Check:
    """One risk check; `rejects` is True only if the facts it needs are known."""

    reason: str
    rejects: Callable[[Case], bool]
    settings: tuple[str, ...]
    asked: tuple[Place, ...]


def first_rejection(case: Case) -> str | None:
    """The reason of the first check that rejects, None where the case is allowed."""
    for check in CHECKS:  # a generator costs as much again as the checks, hundreds of times a second
        if check.rejects(case):
            return check.reason
    return None


def forbidden(opportunity: Opportunity, settings: Settings) -> str | None:
    """The first reason that the settings alone give, of a leg that joins too; None where there is none."""
    return first_rejection(Case(opportunity, settings))


def hard_limit(opportunity: Opportunity, standing: Standing) -> str | None:
    """The first limit that forbids a further trade, whatever its size; None where none does."""
    return first_rejection(Case(opportunity, standing.settings, standing))


def notional_keys(opportunity: Opportunity) -> tuple[str, ...]:
    """The sums that its notional counts in; each key once."""
    exchanges = dict.fromkeys((opportunity.buy.exchange, opportunity.sell.exchange))
    return ("total", f"base|{opportunity.base}", *(f"exchange|{name}" for name in exchanges))


def notional_left(opportunity: Opportunity, standing: Standing) -> tuple[Decimal, str]:
    """The notional that may still be traded, and the limit that binds."""
    limits = {key: limit_of(key, standing.settings) for key in notional_keys(opportunity)}
    return min((most - standing.notional.get(key, ZERO), reason) for key, (most, reason) in limits.items())


def limit_of(key: str, settings: Settings) -> tuple[Decimal, str]:
    """The maximum notional of one of `notional_keys`, and the reason if it is reached."""
    if key == "total":
        return settings.max_total_notional, "total_limit"
    if key.startswith("base|"):
        return settings.max_asset_notional, "asset_limit"
    return settings.max_exchange_notional, "exchange_limit"


def _is_halted(case: Case) -> bool:
    return case.settings.trading_state == "halted"


def _is_reducing(case: Case) -> bool:
    return case.settings.trading_state == "reducing"


def _has_a_disabled_exchange(case: Case) -> bool:
    enabled = case.settings.enabled_exchanges
    return any(name not in enabled for name in case.exchanges)


def _is_below_threshold(case: Case) -> bool:
    """A trade on one exchange alone has no spread to compare."""
    buy, sell = case.exchanges
    return buy != sell and case.opportunity.net_bps < case.settings.min_net_bps


def _is_stale(case: Case) -> bool:
    """Ages grow on from the detection: what was fresh enough then may not be so any more."""
    if case.view is None:
        return False
    since = max(0, case.view.now - case.opportunity.event_time)
    oldest = max(case.opportunity.buy.age, case.opportunity.sell.age) + since
    return oldest > case.settings.max_quote_age_ms * 1_000


def _is_crossed(case: Case) -> bool:
    """A feed lets no crossed book through; levels out of order are what is left to see of a broken one."""
    if case.view is None:
        return False
    return not (_is_in_order(case.opportunity.buy, 1) and _is_in_order(case.opportunity.sell, -1))


def _is_in_order(leg: OpportunityLeg, sign: int) -> bool:
    """Asks (sign 1) rise, bids (sign -1) fall."""
    prices = [level.price for level in leg.levels]
    return all((later - earlier) * sign > 0 for earlier, later in pairwise(prices))


def _is_quarantined(case: Case) -> bool:
    return case.view is not None and is_absurd(case.opportunity, case.view.history, case.settings)


def _is_fleeting(case: Case) -> bool:
    least = case.settings.min_share_above_10s
    if case.view is None or case.solo is not None or least <= 0:
        return False
    return case.view.window is None or case.view.window.share_above < least


def _is_stopping(case: Case) -> bool:
    return case.standing is not None and not case.standing.reservations_open


def _has_lost_enough(case: Case) -> bool:
    return case.standing is not None and -case.standing.day_net >= case.settings.max_daily_loss


def _is_paused(case: Case) -> bool:
    """Switching the breaker off also ends its pauses."""
    standing = case.standing
    if standing is None or case.settings.breaker_failures == 0:
        return False
    return any(standing.now < standing.paused_until.get(name, 0) for name in case.exchanges)


def _has_too_many_open(case: Case) -> bool:
    return case.standing is not None and case.standing.open_arbitrages >= case.settings.max_open_arbitrages


def _is_busy(case: Case) -> bool:
    return case.standing is not None and case.standing.pair_busy


def _is_cooling_down(case: Case) -> bool:
    standing = case.standing
    return standing is not None and standing.now - standing.pair_reserved_at < case.settings.cool_down_ms * 1_000


def _reaches(case: Case, *keys: str) -> bool:
    standing = case.standing
    return standing is not None and any(
        standing.notional.get(key, ZERO) >= limit_of(key, case.settings)[0] for key in keys
    )


def _reaches_total(case: Case) -> bool:
    return _reaches(case, "total")


def _reaches_asset(case: Case) -> bool:
    return _reaches(case, f"base|{case.opportunity.base}")


def _reaches_exchange(case: Case) -> bool:
    return _reaches(case, *(f"exchange|{name}" for name in case.exchanges))


def _is_exposed(case: Case) -> bool:
    """Both legs of an arbitrage leave the base where it is, but either alone moves it: beyond the limit no more of that
    is risked. A single order is rejected only if it increases the exposure."""
    opportunity = case.opportunity
    if case.view is None:
        return False
    drift = case.view.drift.get(opportunity.base, ZERO)
    if case.solo is not None and drift * (1 if case.solo == "buy" else -1) <= 0:
        return False
    return abs(drift) * _base_price(opportunity) >= case.settings.max_exposure


def _has_drifted(case: Case) -> bool:
    """Buying takes more of its currency away, selling brings more of its own: rejected only where that is so
    already."""
    opportunity = case.opportunity
    if case.view is None:
        return False
    moves: list[tuple[str, int]] = []
    if case.solo != "sell":
        moves.append((opportunity.buy.quote_currency, -1))
    if case.solo != "buy":
        moves.append((opportunity.sell.quote_currency, 1))
    if len({currency for currency, _ in moves}) < len(moves):
        return False
    drifts = [(currency, case.view.drift.get(currency, ZERO) * sign) for currency, sign in moves]
    return any(
        worse >= 0 and _value(opportunity, currency, worse) >= case.settings.max_currency_drift
        for currency, worse in drifts
    )


def _lacks_rate_budget(case: Case) -> bool:
    """Its order would have to wait past its time, or be turned away."""
    left = None if case.view is None else case.view.legs_left
    return left is not None and left < 1


def _value(opportunity: Opportunity, currency: str, amount: Decimal) -> Decimal:
    """In the settlement currency, at FX mid; a currency without a rate is the settlement currency itself."""
    rate = opportunity.rate(currency)
    return amount if rate is None else rate.at_mid(amount)


def _base_price(opportunity: Opportunity) -> Decimal:
    """Where it is bought, at FX mid."""
    return _value(opportunity, opportunity.buy.quote_currency, opportunity.buy.price)


_EVERYWHERE: tuple[Place, ...] = ("bot", "reservation", "second leg")
_BOT: tuple[Place, ...] = ("bot",)
_BEGIN: tuple[Place, ...] = ("bot", "reservation")
_OF_QUARANTINE = ("quarantine_deviations", "quarantine_floor_bps", "quarantine_ceiling_bps")

CHECKS: tuple[Check, ...] = (
    Check("halted", _is_halted, ("trading_state",), (*_EVERYWHERE, "sending", "wire")),
    Check("reducing", _is_reducing, ("trading_state",), _EVERYWHERE),
    Check("exchange_disabled", _has_a_disabled_exchange, ("enabled_exchanges",), _EVERYWHERE),
    Check("below_threshold", _is_below_threshold, ("min_net_bps",), _EVERYWHERE),
    Check("stale", _is_stale, ("max_quote_age_ms",), _BOT),
    Check("crossed", _is_crossed, (), _BOT),
    Check("quarantined", _is_quarantined, _OF_QUARANTINE, _BOT),
    Check("not_persistent", _is_fleeting, ("min_share_above_10s",), _BOT),
    Check("stopping", _is_stopping, (), _BEGIN),
    Check("daily_loss", _has_lost_enough, ("max_daily_loss",), ("reservation",)),
    Check("exchange_paused", _is_paused, ("breaker_failures", "breaker_window_ms", "breaker_pause_ms"), _BEGIN),
    Check("too_many_open", _has_too_many_open, ("max_open_arbitrages",), _BEGIN),
    Check("pair_busy", _is_busy, (), _BEGIN),
    Check("cooling_down", _is_cooling_down, ("cool_down_ms",), _BEGIN),
    Check("total_limit", _reaches_total, ("max_total_notional",), _BEGIN),
    Check("asset_limit", _reaches_asset, ("max_asset_notional",), _BEGIN),
    Check("exchange_limit", _reaches_exchange, ("max_exchange_notional",), _BEGIN),
    Check("exposure", _is_exposed, ("max_exposure",), _BOT),
    Check("currency_drift", _has_drifted, ("max_currency_drift",), _BOT),
    Check("rate_budget", _lacks_rate_budget, (), ("bot", "wire")),
)
"""In the order in which they run; sizing, which costs most, comes after all of them."""
