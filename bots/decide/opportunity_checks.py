"""A bot's checks before sizing: the risk checks, then the exact recomputation of the net spread. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from market.decide.risk_checks import Case, Standing, View, first_rejection
from market.decide.settings import Settings
from market.decide.sizing import SizingSide, net_bps
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.prices.spread_statistics import SpreadWindow


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a bot knows beside the opportunity. `now` is market time in microseconds."""

    settings: Settings
    window: SpreadWindow | None
    """The newest 10 s window of the opportunity's pair."""
    now: int
    history: tuple[SpreadWindow, ...] = ()
    """The 60 s windows of its pair over the last minutes."""
    drift: Mapping[str, Decimal] = field(default_factory=dict)
    """Currency → how much more of it lies on all exchanges together than at the session's opening."""
    standing: Standing | None = None
    """Open exposure and counters as last seen; None where this leg joins an arbitrage."""
    legs_left: int | None = None
    """How many more legs the rate limits of the bot's exchange allow; None without limits."""


def rejection_of(
    opportunity: Opportunity, buy: SizingSide, sell: SizingSide, circumstances: Circumstances
) -> str | None:
    """The first rejection reason, or None. The exact recomputation comes last because it costs most."""
    quick = quick_rejection_of(opportunity, circumstances)
    if quick is None and _fails_recheck(opportunity, buy, sell, circumstances.settings):
        return "recheck_failed"
    return quick


def quick_rejection_of(opportunity: Opportunity, known: Circumstances) -> str | None:
    """The first reason that needs no exact arithmetic: most opportunities end here, hundreds a second in a fast
    market."""
    view = View(known.now, known.window, known.history, known.drift, known.legs_left)
    return first_rejection(Case(opportunity, known.settings, known.standing, view))


def is_expired(opportunity: Opportunity, now: int) -> bool:
    return now >= opportunity.expires_at


def _fails_recheck(opportunity: Opportunity, buy: SizingSide, sell: SizingSide, settings: Settings) -> bool:
    """Whether exact arithmetic on the quoted decimals, with the current fees, falls short of `min_net_bps`."""
    if not all(_is_consistent(leg, opportunity) for leg in (opportunity.buy, opportunity.sell)):
        return True
    exact = net_bps(buy, sell, opportunity.buy.price, opportunity.sell.price)
    return exact < Fraction(str(settings.min_net_bps))


def _is_consistent(leg: OpportunityLeg, opportunity: Opportunity) -> bool:
    """Rejects a leg without an FX rate, which would count as the settlement currency one for one."""
    if leg.quote_currency != opportunity.currency and opportunity.rate(leg.quote_currency) is None:
        return False
    return bool(leg.levels) and leg.levels[0] == (leg.price, leg.amount) and leg.price > 0 and leg.amount > 0
