"""What an arbitrage brought, in the settlement currency, in parts that sum to it exactly."""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

from market.arbitrages import Arbitrage, Leg, ProfitAndLoss
from market.opportunities import FxRate, Opportunity

DIGITS = 8


def profit_of(arbitrage: Arbitrage) -> ProfitAndLoss | None:
    """Each currency's signed flow times the FX side that the opportunity names: bought currency at the side one pays,
    sold currency at the side one gets. None where a fee was taken in a currency that no rate converts.

    Base left over (or missing) counts at the price seen where it was bought (sold), so that it carries no profit of its
    own: its later value is reported apart. Every part is rounded to 8 digits, `slippage` is what the others leave.
    """
    opportunity = arbitrage.opportunity
    flows = _flows(arbitrage.legs)
    base_left = flows.pop(arbitrage.base, Fraction(0))
    if any(opportunity.rate(name) is None and name != opportunity.currency for name in flows):
        return None
    buy_seen, sell_seen = _seen(opportunity)
    at_mid = sum((_at_mid(opportunity.rate(name), flow) for name, flow in flows.items()), Fraction(0))
    at_side = sum((_at_side(opportunity.rate(name), flow) for name, flow in flows.items()), Fraction(0))
    left_over = base_left * (buy_seen if base_left > 0 else sell_seen)
    gross = _matched(arbitrage) * (sell_seen - buy_seen)
    slippage = _slippage(arbitrage, buy_seen, sell_seen)
    fees = -_fees(arbitrage, buy_seen)
    fx = at_side - at_mid
    unwinding = at_mid + left_over - gross - slippage - fees
    return _rounded(opportunity.currency, gross, fees, fx, unwinding, at_side + left_over)


def _flows(legs: Iterable[Leg]) -> dict[str, Fraction]:
    """Signed change of each currency over all exchanges."""
    flows: dict[str, Fraction] = {}
    for leg in legs:
        sign = 1 if leg.side == "buy" else -1
        for fill in leg.fills:
            for currency, change in (
                (leg.base, sign * fill.amount),
                (leg.quote_currency, -sign * fill.cost),
                (fill.fee_currency, -fill.fee),
            ):
                flows[currency] = flows.get(currency, Fraction(0)) + Fraction(change)
    return flows


def _seen(opportunity: Opportunity) -> tuple[Fraction, Fraction]:
    """Best buy and sell price seen, at FX mid."""
    buy, sell = opportunity.buy, opportunity.sell
    return (
        _at_mid(opportunity.rate(buy.quote_currency), Fraction(buy.price)),
        _at_mid(opportunity.rate(sell.quote_currency), Fraction(sell.price)),
    )


def _matched(arbitrage: Arbitrage) -> Fraction:
    """Base that was bought on the one side and sold on the other, by completing a single leg too."""
    legs = [leg for leg in arbitrage.legs if leg.role != "reverse"]
    bought, sold = (sum(Fraction(leg.filled) for leg in legs if leg.side == side) for side in ("buy", "sell"))
    return Fraction(min(bought, sold))


def _slippage(arbitrage: Arbitrage, buy_seen: Fraction, sell_seen: Fraction) -> Fraction:
    """From the prices seen to the fills of the two first legs, at FX mid; negative where the fills were worse."""
    change = Fraction(0)
    for role, seen, sign in (("buy", buy_seen, -1), ("sell", sell_seen, 1)):
        leg = next((leg for leg in arbitrage.legs if leg.role == role), None)
        if leg is not None:
            cost = _at_mid(arbitrage.opportunity.rate(leg.quote_currency), Fraction(leg.cost))
            change += sign * (cost - Fraction(leg.filled) * seen)
    return change


def _fees(arbitrage: Arbitrage, buy_seen: Fraction) -> Fraction:
    """All fees at FX mid; one taken in base costs what buying that base costs."""
    paid = Fraction(0)
    for leg in arbitrage.legs:
        for fill in leg.fills:
            if fill.fee_currency == leg.base:
                paid += Fraction(fill.fee) * buy_seen
            else:
                paid += _at_mid(arbitrage.opportunity.rate(fill.fee_currency), Fraction(fill.fee))
    return paid


def _at_mid(rate: FxRate | None, amount: Fraction) -> Fraction:
    if rate is None:
        return amount
    mid = (Fraction(rate.bid) + Fraction(rate.ask)) / 2
    return amount / mid if rate.inverted else amount * mid


def _at_side(rate: FxRate | None, amount: Fraction) -> Fraction:
    """At the side paid where the flow is negative, at the side received where it is positive."""
    if rate is None:
        return amount
    side = Fraction(rate.ask if (amount < 0) != rate.inverted else rate.bid)
    return amount / side if rate.inverted else amount * side


def _rounded(
    currency: str, gross: Fraction, fees: Fraction, fx: Fraction, unwinding: Fraction, net: Fraction
) -> ProfitAndLoss:
    parts = [decimal_part(part) for part in (gross, fees, fx, unwinding, net)]
    return ProfitAndLoss(
        currency=currency,
        gross=parts[0],
        slippage=parts[4] - parts[0] - parts[1] - parts[2] - parts[3],
        fees=parts[1],
        fx=parts[2],
        unwinding=parts[3],
        net=parts[4],
    )


def decimal_part(number: Fraction) -> Decimal:
    """Rounded half to even to 8 digits."""
    with localcontext() as context:
        context.prec = 50
        scaled = round(number * 10**DIGITS)
        return Decimal(scaled).scaleb(-DIGITS, context=context)
