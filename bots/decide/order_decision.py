"""Decides on an opportunity: the reservation of this bot's leg, or the rejection reason. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from bots.decide.opportunity_checks import Circumstances, quick_rejection_of, rejection_of
from market.decide.risk_checks import forbidden, notional_left
from market.decide.settings import Settings
from market.decide.sizing import Sizing, SizingSide, size
from market.instruments.orders import Side
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.trade.arbitrages import Leg
from market.trade.fast_replace import replace
from market.trade.leg_planning import Markets, client_order_id
from store.store_port import Reservation

FreeBalances = Mapping[tuple[str, str], Decimal]
"""(exchange, currency) → free balance, as last seen."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The opportunity is not traded, for this reason."""

    reason: str


def side_of(opportunity: Opportunity, exchange: str) -> Side | None:
    """The side that `exchange` trades in this opportunity; None where it has no leg."""
    if opportunity.buy.exchange == exchange:
        return "buy"
    return "sell" if opportunity.sell.exchange == exchange else None


def settings_rejection(opportunity: Opportunity, markets: Markets, settings: Settings) -> Rejected | None:
    """The first reason of `basic_rejection` that follows from the settings alone."""
    if not _is_traded(opportunity, markets, settings):
        return Rejected("exchange_disabled")
    reason = forbidden(opportunity, settings)
    return None if reason is None else Rejected(reason)


def basic_rejection(opportunity: Opportunity, markets: Markets, circumstances: Circumstances) -> Rejected | None:
    """The first reason that needs neither exact arithmetic nor sizing."""
    if not _is_traded(opportunity, markets, circumstances.settings):
        return Rejected("exchange_disabled")
    reason = quick_rejection_of(opportunity, circumstances)
    return None if reason is None else Rejected(reason)


def early_rejection(
    opportunity: Opportunity, markets: Markets, circumstances: Circumstances, *, is_used_up: bool
) -> Rejected | None:
    """The first reason that needs neither sizing nor the store, except that the store said a quote is used up."""
    rejected = basic_rejection(opportunity, markets, circumstances)
    if rejected is None and circumstances.standing is not None and is_used_up:
        return Rejected("liquidity_used")
    return rejected


def decide(
    opportunity: Opportunity, side: Side, markets: Markets, free: FreeBalances, circumstances: Circumstances
) -> Reservation | Rejected:
    """This bot's reservation. Both bots of an opportunity compute the same step and minimum, whatever their
    balances."""
    sides = _sides(opportunity, markets, circumstances)
    if sides is None:
        return Rejected("exchange_disabled")
    buy, sell = sides
    reason = rejection_of(opportunity, buy, sell, circumstances)
    if reason is not None:
        return Rejected(reason)
    buy = replace(buy, free=free.get((buy.market.exchange, buy.market.quote_currency)))
    sell = replace(sell, free=free.get((sell.market.exchange, sell.market.base)))
    standing = circumstances.standing
    left, limit = (None, "") if standing is None else notional_left(opportunity, standing)
    sizing = size(buy, sell, circumstances.settings, left)
    if isinstance(sizing, str):
        return Rejected(limit if sizing == "limit_reached" else sizing)
    return _reservation(opportunity, buy if side == "buy" else sell, sizing, circumstances)


def _is_traded(opportunity: Opportunity, markets: Markets, settings: Settings) -> bool:
    """Whether this session trades both markets and knows their fees."""
    fees = settings.taker_fees
    return all(
        (leg.exchange, leg.symbol) in markets and leg.exchange in fees for leg in (opportunity.buy, opportunity.sell)
    )


def _sides(
    opportunity: Opportunity, markets: Markets, circumstances: Circumstances
) -> tuple[SizingSide, SizingSide] | None:
    """Both sides for sizing; None where this session does not trade one or knows no fee for it."""
    if not _is_traded(opportunity, markets, circumstances.settings):
        return None
    return (
        _book("buy", opportunity, opportunity.buy, markets, circumstances),
        _book("sell", opportunity, opportunity.sell, markets, circumstances),
    )


def _book(
    side: Side, opportunity: Opportunity, leg: OpportunityLeg, markets: Markets, circumstances: Circumstances
) -> SizingSide:
    fee_rate = circumstances.settings.taker_fees[leg.exchange]
    rate = opportunity.rate(leg.quote_currency)
    return SizingSide(side, markets[leg.exchange, leg.symbol], leg.levels, fee_rate, rate)


def _reservation(
    opportunity: Opportunity, book: SizingSide, sizing: Sizing, circumstances: Circumstances
) -> Reservation:
    sized = sizing.buy if book.side == "buy" else sizing.sell
    market = book.market
    leg = Leg(
        role=book.side,
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=book.side,
        amount=sizing.amount,
        limit_price=sized.limit_price,
        client_order_id=client_order_id(opportunity.opportunity_id, book.side),
    )
    return Reservation(
        opportunity=opportunity,
        leg=leg,
        hold_currency=sized.hold_currency,
        hold_per_unit=sized.hold_per_unit,
        amount_step=sizing.amount_step,
        leg_factor=Decimal(1) if book.side == "buy" else sizing.factor,
        leg_step=market.lot_step,
        minimum_amount=sizing.minimum_amount,
        unit_notional=sizing.unit_notional,
        displayed_amount=sized.displayed,
        settings=circumstances.settings,
    )
