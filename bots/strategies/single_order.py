"""Decides on a moving average signal: the reservation of its single leg, or the rejection reason. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from bots.decide.newest_quotes import LatestQuote, fx_rate_of
from bots.decide.order_decision import Rejected
from market.decide.decision_context import DecisionContext
from market.decide.risk_checks import first_rejection
from market.decide.settings import Settings
from market.decide.sizing import displayed_amount
from market.instruments.fees import hold_of
from market.instruments.markets import FxRoute, Market
from market.instruments.order_rules import limit_price
from market.instruments.orders import Side
from market.money import Amount, Price, ceil_to_step, floor_to_step
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from market.prices.quotes import Level, Quote
from market.trade.arbitrages import Leg
from market.trade.moving_average import SIDES, AverageTrade
from market.trade.reservations import LegRequest, Reservation
from market.trade.unwinding import client_order_id

ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class OrderContext:
    """The market of a signal. `now` is market time, `valid_until` the store's; microseconds."""

    market: Market
    quote: LatestQuote | None
    route: FxRoute | None
    """How its quote currency is converted to the settlement currency; None if it is that."""
    fx_quote: LatestQuote | None
    settlement: str
    settings: Settings
    drift: Mapping[str, Decimal]
    """Currency → change of its total over all exchanges since the session's opening."""
    now: int
    valid_until: int
    legs_left: int | None = None
    """How many more legs the rate limits of its exchange allow; None without limits."""


def single_order_request(trade: AverageTrade, context: OrderContext) -> Reservation | Rejected:
    """Return the order for `ma_notional` at the newest quote, sized to the exchange's lots, unless a risk check rejects
    it.

    The store repeats the checks that two bots could pass at the same time.
    """
    settings, market, latest = context.settings, context.market, context.quote
    if settings.ma_trading != "orders":
        return Rejected("ma_orders_off")
    if market.exchange not in settings.taker_fees:
        return Rejected("exchange_disabled")
    if latest is None or not _has_fresh_rate(context):
        return Rejected("stale")
    side = SIDES[trade.trade_type]
    opportunity = _opportunity(trade, latest, context)
    asked = DecisionContext(
        opportunity, settings, now=context.now, drift=context.drift, legs_left=context.legs_left, only_side=side
    )
    reason = first_rejection(asked)
    return Rejected(reason) if reason is not None else _sized(opportunity, side, context)


def _sized(opportunity: Opportunity, side: Side, context: OrderContext) -> Reservation | Rejected:
    settings, market = context.settings, context.market
    latest = opportunity.buy if side == "buy" else opportunity.sell
    limit = limit_price(market, side, latest.price, settings.max_slippage_bps)
    unit = _in_settlement(side, max(limit, latest.price), context)
    amount = floor_to_step(min(settings.ma_notional, settings.max_notional) / unit, market.lot_step)
    minimum = max(
        market.minimum_amount, ceil_to_step(market.minimum_notional / min(limit, latest.price), market.lot_step)
    )
    if amount <= 0 or amount < minimum:
        return Rejected("too_small")
    currency, per_unit = hold_of(market, side, settings.taker_fees[market.exchange], limit)
    return Reservation(
        opportunity=opportunity,
        legs=(
            LegRequest(
                leg=_leg(opportunity, market, side, Amount(amount), limit),
                hold_currency=currency,
                hold_per_unit=per_unit,
                factor=ONE,
                step=market.lot_step,
                displayed=displayed_amount(side, latest.levels, limit),
            ),
        ),
        amount=Amount(amount),
        amount_step=market.lot_step,
        minimum_amount=minimum,
        settings=settings,
        valid_until=context.valid_until,
        unit_notional=unit,
        strategy="ma",
    )


def _has_fresh_rate(context: OrderContext) -> bool:
    """Whether the FX rate is fresh; True if none is needed."""
    if context.route is None:
        return True
    max_age = context.settings.max_quote_age_ms * 1_000
    return context.fx_quote is not None and context.fx_quote.is_fresh(context.now, max_age)


def _rate(context: OrderContext) -> FxRate | None:
    return None if context.route is None or context.fx_quote is None else fx_rate_of(context.fx_quote, context.route)


def _in_settlement(side: Side, price: Decimal, context: OrderContext) -> Decimal:
    """Settlement currency paid or received for one unit."""
    rate = _rate(context)
    if rate is None:
        return price
    return rate.paid(price) if side == "buy" else rate.received(price)


def _leg(opportunity: Opportunity, market: Market, side: Side, amount: Amount, limit: Price) -> Leg:
    return Leg(
        role=side,
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=side,
        amount=amount,
        limit_price=limit,
        client_order_id=client_order_id(opportunity.opportunity_id, side),
    )


def _opportunity(trade: AverageTrade, latest: LatestQuote, context: OrderContext) -> Opportunity:
    """Return an opportunity with the same exchange on both sides; its gross is minus the quoted spread.

    Its event time is when the feed last confirmed the quote.
    """
    quote, settings = latest.quote, context.settings
    gross_bps = float((quote.bid - quote.ask) * 10_000 / quote.ask)
    fee_bps = float(2 * settings.taker_fees[quote.exchange] * 10_000)
    rate = _rate(context)
    return Opportunity(
        opportunity_id=trade.trade_id,
        base=quote.base,
        buy=_side(quote, quote.asks),
        sell=_side(quote, quote.bids),
        fx=() if rate is None else (rate,),
        settings_version=settings.version,
        gross_bps=gross_bps,
        fee_bps=fee_bps,
        net_bps=gross_bps - fee_bps,
        expected_profit=0.0,
        currency=context.settlement,
        event_time=latest.verified_time,
        detected_time=context.now,
        expires_at=context.now + settings.opportunity_lifetime_ms * 1_000,
        offset=latest.offset,
    )


def _side(quote: Quote, levels: tuple[Level, ...]) -> OpportunityLeg:
    return OpportunityLeg(
        exchange=quote.exchange,
        symbol=quote.symbol,
        quote_currency=quote.quote_currency,
        price=levels[0].price,
        amount=levels[0].amount,
        levels=levels,
        quote_id=quote.quote_id,
        age=0,
        exchange_time=quote.exchange_time,
        received_time=quote.received_time,
    )
