"""Realised P&L of an arbitrage and its attribution, in the settlement currency: parts that sum to it, by exchange.

Everything is computed in fractions and rounded once, to 8 digits; what rounding the parts leaves is in `slippage`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from market.instruments.orders import changes_of
from market.money import EXACT, decimal_of_whole
from market.prices.opportunities import FxRate, Opportunity
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, Leg, ProfitAndLoss, ProfitShare

DIGITS = 8
ZERO = Fraction(0)
NOTHING = Decimal(0)

ByExchange = dict[str, Fraction]


def profit_of(arbitrage: Arbitrage) -> ProfitAndLoss | None:
    """Each currency's signed flow times the FX side that the opportunity names: bought currency at the side one pays,
    sold currency at the side one gets. None if a fee was taken in a currency that no rate converts.

    Base left over (or missing) counts at the price seen where it was bought (sold), so that it carries no profit of its
    own: its later value is reported apart.
    """
    flows = flows_of(arbitrage.legs)
    if any(_has_no_rate(arbitrage.opportunity, name) for name in flows if name != arbitrage.base):
        return None
    seen = _ReferencePrices.of(arbitrage.opportunity)
    net, parts = _net(arbitrage, flows, seen), _parts(arbitrage, flows, seen)
    # without a leg that unwinds this is 0, and then no exchange has a part of it
    parts["unwinding"] = _with_rest(arbitrage, parts["unwinding"], net - sum(map(_sum, parts.values()), ZERO))
    return _rounded(arbitrage.opportunity.currency, parts, net)


def day_result(arbitrage: Arbitrage) -> Decimal:
    """Return what an ended arbitrage adds to the day's result, in the settlement currency.

    One whose result nobody can value, since a fee was taken in a currency without a rate, counts as lost whole: the
    daily loss limit must not overlook it. A moving average trade keeps what it bought and has no result.
    """
    if arbitrage.profit is not None:
        return arbitrage.profit.net
    is_valued = arbitrage.strategy == "ma" or not any(leg.fills for leg in arbitrage.legs)
    return NOTHING if is_valued else -arbitrage.notional


def flows_of(legs: Iterable[Leg]) -> dict[str, Fraction]:
    """Signed change of each currency by the fills and fees of these legs, over all exchanges."""
    flows: dict[str, Decimal] = {}
    for leg in legs:
        for fill in leg.fills:
            for currency, change in changes_of(fill, leg.base, leg.quote_currency):
                flows[currency] = EXACT.add(flows.get(currency, NOTHING), change)
    return {currency: Fraction(flow) for currency, flow in flows.items()}


@dataclass(frozen=True, slots=True)
class _ReferencePrices:
    """Best prices seen, at FX mid."""

    buy: Fraction
    sell: Fraction

    @classmethod
    def of(cls, opportunity: Opportunity) -> "_ReferencePrices":
        return cls(
            *(
                _at_mid(opportunity.rate(leg.quote_currency), Fraction(leg.price))
                for leg in (opportunity.buy, opportunity.sell)
            )
        )

    def reference(self, leg: Leg) -> Fraction:
        """Return what a unit of this leg counts at: its side's price; if it takes back what another leg moved, that
        one's.

        Base that was bought and is sold again counts at the price at which it was seen where it was bought.
        """
        is_first = leg.role in _MATCHING
        return self.buy if (leg.side == "buy") == is_first else self.sell


_MATCHING = ("buy", "sell", "complete")
"""Legs that make the trade; all others take back what was traded too much."""


def _has_no_rate(opportunity: Opportunity, currency: str) -> bool:
    return currency != opportunity.currency and opportunity.rate(currency) is None


def _net(arbitrage: Arbitrage, flows: Mapping[str, Fraction], seen: _ReferencePrices) -> Fraction:
    left = flows.get(arbitrage.base, ZERO)
    rest = left * (seen.buy if left > 0 else seen.sell)
    rate = arbitrage.opportunity.rate
    return rest + sum((_at_side(rate(name), flow) for name, flow in flows.items() if name != arbitrage.base), ZERO)


def _parts(arbitrage: Arbitrage, flows: Mapping[str, Fraction], seen: _ReferencePrices) -> dict[str, ByExchange]:
    """Each part by the exchange that has it; what unwinding legs did not cause themselves is missing."""
    first = [leg for leg in arbitrage.legs if leg.role == leg.side]
    unwinding = [leg for leg in arbitrage.legs if leg.role != leg.side]
    rate = arbitrage.opportunity.rate

    def against_reference(leg: Leg, per_unit: Fraction) -> Fraction:
        """Return what moving the leg's amount at `per_unit` (quote currency) earned against what it counts at."""
        return _sign(leg) * Fraction(leg.filled) * (_at_mid(rate(leg.quote_currency), per_unit) - seen.reference(leg))

    def decay(leg: Leg) -> Fraction:
        return against_reference(leg, _best_price(leg)) if leg.fills else ZERO

    def whole(leg: Leg) -> Fraction:
        return against_reference(leg, Fraction(leg.cost) / Fraction(leg.filled)) if leg.filled else ZERO

    return {
        "gross": _gross(arbitrage, seen),
        "latency_decay": _summed(first, decay),
        "slippage": _summed(first, lambda leg: whole(leg) - decay(leg)),
        "fees": _summed(arbitrage.legs, lambda leg: -_fees(leg, arbitrage.opportunity, seen)),
        "fx": _fx(arbitrage, flows),
        "unwinding": _summed(unwinding, whole),
    }


def _gross(arbitrage: Arbitrage, seen: _ReferencePrices) -> ByExchange:
    """Halves: each exchange from its own price to the middle of both."""
    gained = _matched(arbitrage) * (seen.sell - seen.buy)
    opportunity = arbitrage.opportunity
    return _added([(opportunity.buy.exchange, gained / 2), (opportunity.sell.exchange, gained / 2)])


def _matched(arbitrage: Arbitrage) -> Fraction:
    """Return the base that arrived by buying and left by selling, by completing a single leg too; fees in base
    included."""
    legs = [leg for leg in arbitrage.legs if leg.role in _MATCHING]
    bought = sum((Fraction(leg.filled - leg.base_fee) for leg in legs if leg.side == "buy"), ZERO)
    sold = sum((Fraction(leg.filled + leg.base_fee) for leg in legs if leg.side == "sell"), ZERO)
    return min(bought, sold)


def _fees(leg: Leg, opportunity: Opportunity, seen: _ReferencePrices) -> Fraction:
    """At FX mid; one taken in base costs what that base counts at."""
    paid = Fraction(leg.base_fee) * seen.reference(leg)
    for fill in leg.fills:
        if fill.fee_currency != leg.base:
            paid += _at_mid(opportunity.rate(fill.fee_currency), Fraction(fill.fee))
    return paid


def _fx(arbitrage: Arbitrage, flows: Mapping[str, Fraction]) -> ByExchange:
    """From FX mid to the side paid, of each currency's flow as a whole: what one exchange paid and the other got needs
    no FX. Both have their part of it in proportion to how much of the currency they moved.
    """
    by_exchange = {
        exchange: flows_of(leg for leg in arbitrage.legs if leg.exchange == exchange)
        for exchange in _exchanges(arbitrage)
    }
    shares: list[tuple[str, Fraction]] = []
    for currency, flow in flows.items():
        rate = arbitrage.opportunity.rate(currency)
        moved = {exchange: abs(own.get(currency, ZERO)) for exchange, own in by_exchange.items()}
        everything = sum(moved.values())
        if rate is not None and everything:
            cost = _at_side(rate, flow) - _at_mid(rate, flow)
            shares += [(exchange, cost * part / everything) for exchange, part in moved.items()]
    return _added(shares)


def _with_rest(arbitrage: Arbitrage, unwinding: ByExchange, rest: Fraction) -> ByExchange:
    """Return what taking back more than was left cost: it belongs to the last leg that unwound."""
    last = next((leg for leg in reversed(arbitrage.legs) if leg.role != leg.side and leg.fills), None)
    return unwinding if last is None else _added([*unwinding.items(), (last.exchange, rest)])


def _exchanges(arbitrage: Arbitrage) -> tuple[str, ...]:
    opportunity = arbitrage.opportunity
    names = (opportunity.buy.exchange, opportunity.sell.exchange, *(leg.exchange for leg in arbitrage.legs))
    return tuple(dict.fromkeys(names))


def _sign(leg: Leg) -> int:
    return -1 if leg.side == "buy" else 1


def _best_price(leg: Leg) -> Fraction:
    prices = [Fraction(fill.price) for fill in leg.fills]
    return min(prices) if leg.side == "buy" else max(prices)


def _summed(legs: Iterable[Leg], value: Callable[[Leg], Fraction]) -> ByExchange:
    return _added([(leg.exchange, value(leg)) for leg in legs])


def _added(amounts: Iterable[tuple[str, Fraction]]) -> ByExchange:
    sums: ByExchange = {}
    for exchange, amount in amounts:
        sums[exchange] = sums[exchange] + amount if exchange in sums else amount
    return sums


def _sum(by_exchange: ByExchange) -> Fraction:
    return sum(by_exchange.values(), ZERO)


def _at_mid(rate: FxRate | None, amount: Fraction) -> Fraction:
    if rate is None:
        return amount
    mid = (Fraction(rate.bid) + Fraction(rate.ask)) / 2
    return amount / mid if rate.inverted else amount * mid


def _at_side(rate: FxRate | None, amount: Fraction) -> Fraction:
    """At the side paid if the flow is negative, at the side received if it is positive."""
    if rate is None:
        return amount
    side = Fraction(rate.ask if (amount < 0) != rate.inverted else rate.bid)
    return amount / side if rate.inverted else amount * side


def _rounded(currency: str, parts: Mapping[str, ByExchange], net: Fraction) -> ProfitAndLoss:
    whole = {name: decimal_part(_sum(by_exchange)) for name, by_exchange in parts.items() if name != "slippage"}
    whole["net"] = decimal_part(net)
    whole["slippage"] = whole["net"] - sum(part for name, part in whole.items() if name != "net")
    return ProfitAndLoss(currency, **whole, shares=_shares(parts, whole))


def _shares(parts: Mapping[str, ByExchange], whole: Mapping[str, Decimal]) -> tuple[ProfitShare, ...]:
    """Round one by one; the last exchange that has a part takes what the others leave of it."""
    exchanges = tuple(dict.fromkeys(name for by_exchange in parts.values() for name in by_exchange))
    rows: dict[str, dict[str, Decimal]] = {exchange: {} for exchange in exchanges}
    for name, by_exchange in parts.items():
        left = whole[name]
        for exchange, amount in list(by_exchange.items())[:-1]:
            rows[exchange][name] = decimal_part(amount)
            left -= rows[exchange][name]
        rows[next(reversed(by_exchange), exchanges[0])][name] = left
    filled = {
        exchange: {name: row.get(name, Decimal(0)) for name in PROFIT_PARTS if name != "net"}
        for exchange, row in rows.items()
    }
    return tuple(ProfitShare(exchange, **row, net=sum(row.values(), Decimal(0))) for exchange, row in filled.items())


def decimal_part(number: Fraction) -> Decimal:
    """Round half to even to 8 digits."""
    return decimal_of_whole(round(number * 10**DIGITS)).scaleb(-DIGITS, EXACT)
