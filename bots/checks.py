"""Reasons not to trade an opportunity, each a pure question, asked in one order; the first yes is the refusal."""

from dataclasses import dataclass
from fractions import Fraction

from market.opportunities import Opportunity, OpportunityLeg
from market.permission import forbidden
from market.quarantine import is_absurd
from market.settings import Settings
from market.sizing import BookSide, net_bps
from market.spreads import SpreadWindow


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a bot knows beside the opportunity. `now` is market time, microseconds."""

    settings: Settings
    window: SpreadWindow | None
    """The newest 10 s window of the opportunity's pair."""
    now: int
    history: tuple[SpreadWindow, ...] = ()
    """The 60 s windows of its pair over the last minutes."""


def refusal_of(opportunity: Opportunity, buy: BookSide, sell: BookSide, circumstances: Circumstances) -> str | None:
    """The first reason, in this order, or None. The exact recomputation comes last, since it costs most."""
    quick = quick_refusal_of(opportunity, circumstances)
    if quick is None and _fails_recheck(opportunity, buy, sell, circumstances.settings):
        return "recheck_failed"
    return quick


def quick_refusal_of(opportunity: Opportunity, circumstances: Circumstances) -> str | None:
    """The first reason that needs no arithmetic: most opportunities end here, hundreds a second in a wild market."""
    reason = forbidden(opportunity, circumstances.settings)
    if reason is not None:
        return reason
    if _is_stale(opportunity, circumstances):
        return "stale"
    if is_absurd(opportunity, circumstances.history, circumstances.settings):
        return "quarantined"
    return "not_persistent" if _is_fleeting(circumstances) else None


def is_expired(opportunity: Opportunity, now: int) -> bool:
    return now >= opportunity.expires_at


def _fails_recheck(opportunity: Opportunity, buy: BookSide, sell: BookSide, settings: Settings) -> bool:
    """Whether exact arithmetic on the quoted strings, with today's fees, denies what was detected in doubles."""
    if not all(_is_consistent(leg, opportunity) for leg in (opportunity.buy, opportunity.sell)):
        return True
    exact = net_bps(buy, sell, opportunity.buy.price, opportunity.sell.price)
    return exact < Fraction(str(settings.min_net_bps))


def _is_consistent(leg: OpportunityLeg, opportunity: Opportunity) -> bool:
    """A currency without a rate would count as the settlement currency, one for one."""
    if leg.quote_currency != opportunity.currency and opportunity.rate(leg.quote_currency) is None:
        return False
    return bool(leg.levels) and leg.levels[0] == (leg.price, leg.amount) and leg.price > 0 and leg.amount > 0


def _is_stale(opportunity: Opportunity, circumstances: Circumstances) -> bool:
    """Ages grow on from the detection: what was fresh enough then may not be so any more."""
    since = max(0, circumstances.now - opportunity.event_time)
    oldest = max(opportunity.buy.age, opportunity.sell.age) + since
    return oldest > circumstances.settings.max_quote_age_ms * 1_000


def _is_fleeting(circumstances: Circumstances) -> bool:
    least = circumstances.settings.min_share_above_10s
    return least > 0 and (circumstances.window is None or circumstances.window.share_above < least)
