"""Converts what a bot knew when it decided into the record stored with the decision, and back. Pure."""

from decimal import Decimal

from bots.decide.opportunity_checks import Circumstances
from bots.decide.order_decision import FreeBalances
from market.decide.risk_checks import View
from market.decide.settings import Settings
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.trade.decision_context import Sight, calmest, currencies_of, stood


def sight_of(
    opportunity: Opportunity, exchange: str, known: Circumstances, free: FreeBalances, *, is_used_up: bool
) -> Sight:
    """The part of `known` and `free` that can affect this opportunity."""
    view = View(known.now, known.window, known.history, known.drift, known.legs_left)
    return Sight(
        exchange=exchange,
        offset=opportunity.offset,
        settings_version=known.settings.version,
        now=known.now,
        window=known.window,
        calmest=calmest(view, known.settings),
        drift={name: known.drift[name] for name in currencies_of(opportunity) if known.drift.get(name, ZERO) != 0},
        stood=None if known.standing is None else stood(opportunity, known.standing),
        free={f"{place}|{currency}": free[place, currency] for place, currency in _used(opportunity, free)},
        is_used_up=is_used_up,
        legs_left=known.legs_left,
    )


def circumstances_of(sight: Sight, settings: Settings) -> Circumstances:
    """`settings` must be the version that `sight` names."""
    view = sight.view()
    return Circumstances(
        settings=settings,
        window=view.window,
        now=view.now,
        history=view.history,
        drift=view.drift,
        standing=None if sight.stood is None else sight.stood.standing(settings),
        legs_left=view.legs_left,
    )


def free_of(sight: Sight) -> dict[tuple[str, str], Decimal]:
    """The free balances in the form that `decide` takes."""
    parts = {key: key.partition("|") for key in sight.free}
    return {(exchange, currency): sight.free[key] for key, (exchange, _, currency) in parts.items()}


def _used(opportunity: Opportunity, free: FreeBalances) -> list[tuple[str, str]]:
    """The balances that its legs would use."""
    buy, sell = opportunity.buy, opportunity.sell
    wanted = ((buy.exchange, buy.quote_currency), (sell.exchange, opportunity.base))
    return [key for key in wanted if key in free]
