"""Decides on an opportunity: the reservation of both legs, or the rejection reason. Pure."""

from dataclasses import dataclass, replace
from decimal import Decimal

from market.decide.decision_context import DecisionContext
from market.decide.market_rules import market_in_force
from market.decide.risk_checks import first_rejection, forbidden, notional_left
from market.decide.settings import Settings
from market.decide.shared_sizes import Size
from market.decide.sizing import SizedLeg, SizingSide, size, walk_terms
from market.instruments.orders import Side
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.trade.arbitrages import Leg
from market.trade.reservations import LegRequest, Reservation
from market.trade.unwinding import Markets, client_order_id


@dataclass(frozen=True, slots=True)
class Rejected:
    """The opportunity is not traded, for this reason."""

    reason: str


def is_expired(opportunity: Opportunity, now: int) -> bool:
    return now >= opportunity.expires_at


def settings_rejection(opportunity: Opportunity, markets: Markets, settings: Settings) -> str | None:
    """Return the first reason of `early_rejection` that follows from the settings alone."""
    return forbidden(opportunity, settings) if _is_traded(opportunity, markets, settings) else "exchange_disabled"


def early_rejection(context: DecisionContext, markets: Markets) -> str | None:
    """Return the first reason that needs neither exact arithmetic nor sizing: most opportunities end here, hundreds a
    second in a fast market."""
    if not _is_traded(context.opportunity, markets, context.settings):
        return "exchange_disabled"
    reason = first_rejection(context)
    if reason is None and context.risk is not None and context.is_used_up:
        return "liquidity_used"
    return reason


def decide(context: DecisionContext, markets: Markets, sized: Size = size) -> Reservation | Rejected:
    """Return the reservation of both legs. The exact recomputation and sizing come last because they cost most.
    `sized` answers as `size`."""
    reason = early_rejection(context, markets)
    if reason is not None:
        return Rejected(reason)
    opportunity = context.opportunity
    buy, sell = sizing_sides(context, markets)
    terms = walk_terms(buy, sell, context.settings, context.threshold)
    if not _is_consistent(opportunity) or not terms.pays(opportunity.buy.price, opportunity.sell.price):
        # exact arithmetic on the quoted decimals, with the current fees, falls short of the threshold
        return Rejected("recheck_failed")
    left, limit = notional_left(context)
    imbalance = context.imbalance
    if imbalance is not None:
        # no more than is out of place
        most = imbalance.most if sell.free is None else min(imbalance.most, sell.free)
        sell = replace(sell, free=most)
    sizing = sized(buy, sell, context.settings, left, terms)
    if isinstance(sizing, str) and imbalance is not None:
        # as without the lower threshold
        return Rejected("below_threshold")
    if isinstance(sizing, str):
        return Rejected(limit if sizing == "limit_reached" else sizing)
    return Reservation(
        opportunity=opportunity,
        legs=(
            _leg_request(opportunity, buy, sizing.buy, Decimal(1)),
            _leg_request(opportunity, sell, sizing.sell, sizing.factor),
        ),
        amount=sizing.amount,
        amount_step=sizing.amount_step,
        minimum_amount=sizing.minimum_amount,
        unit_notional=sizing.unit_notional,
        settings=context.settings,
    )


def sizing_sides(context: DecisionContext, markets: Markets) -> tuple[SizingSide, SizingSide]:
    """Return what is sized, to buy and to sell, by the rules in force and with what is free."""
    opportunity = context.opportunity
    return _book("buy", opportunity.buy, markets, context), _book("sell", opportunity.sell, markets, context)


def _is_traded(opportunity: Opportunity, markets: Markets, settings: Settings) -> bool:
    """Whether this session trades both markets and knows their fees."""
    buy, sell, fees = opportunity.buy, opportunity.sell, settings.taker_fees
    if buy.exchange not in fees or sell.exchange not in fees:
        return False
    return (buy.exchange, buy.symbol) in markets and (sell.exchange, sell.symbol) in markets


def _is_consistent(opportunity: Opportunity) -> bool:
    """Whether both legs show what they promise, and have an FX rate if they need one: without it they would count as
    the settlement currency one for one."""
    for leg in (opportunity.buy, opportunity.sell):
        if leg.quote_currency != opportunity.currency and opportunity.rate(leg.quote_currency) is None:
            return False
        if not leg.levels or leg.levels[0] != (leg.price, leg.amount) or leg.price <= 0 or leg.amount <= 0:
            return False
    return True


def _book(side: Side, leg: OpportunityLeg, markets: Markets, context: DecisionContext) -> SizingSide:
    settings = context.settings
    market, fee_rate = market_in_force(markets[leg.exchange, leg.symbol], settings), settings.taker_fees[leg.exchange]
    free = context.free.get((leg.exchange, market.quote_currency if side == "buy" else market.base))
    return SizingSide(side, market, leg.levels, fee_rate, context.opportunity.rate(leg.quote_currency), free)


def _leg_request(opportunity: Opportunity, book: SizingSide, sized: SizedLeg, factor: Decimal) -> LegRequest:
    market = book.market
    leg = Leg(
        role=book.side,
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=book.side,
        amount=sized.amount,
        limit_price=sized.limit_price,
        client_order_id=client_order_id(opportunity.opportunity_id, book.side),
    )
    return LegRequest(leg, sized.hold_currency, sized.hold_per_unit, factor, market.lot_step, sized.displayed)
