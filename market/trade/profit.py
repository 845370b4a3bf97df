"""Realised P&L of an arbitrage and its attribution, in the settlement currency: parts that sum to it, by exchange.

Everything is exact and rounded once, to 8 digits; what rounding the parts leaves is in `slippage`. An FX rate may
divide, so that fractions are needed; without any, decimals of as many digits as it takes say the same, several times
as fast.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Generic, TypeVar

from market.instruments.orders import summed_changes
from market.money import EXACT, decimal_of_whole
from market.prices.opportunities import FxRate, Opportunity
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, Leg, ProfitAndLoss, ProfitShare

DIGITS = 8
NOTHING = Decimal(0)
_LAST_DIGIT = Decimal(1).scaleb(-DIGITS)
_ROUNDING = Context(prec=EXACT.prec, rounding=ROUND_HALF_EVEN, traps=[InvalidOperation])

Number = TypeVar("Number", Decimal, Fraction)
"""What all of one result is computed in."""
ByExchange = dict[str, Number]


def profit_of(arbitrage: Arbitrage) -> ProfitAndLoss | None:
    """Each currency's signed flow times the FX side that the opportunity names: bought currency at the side one pays,
    sold currency at the side one gets. None if a fee was taken in a currency that no rate converts.

    Base left over (or missing) counts at the price seen where it was bought (sold), so that it carries no profit of its
    own: its later value is reported apart.
    """
    flows = flows_of(arbitrage.legs)
    opportunity = arbitrage.opportunity
    if any(_has_no_rate(opportunity, name) for name in flows if name != arbitrage.base):
        return None
    if opportunity.fx:
        return _Attribution(arbitrage, flows, Fraction).result()
    with localcontext(EXACT):
        return _Attribution(arbitrage, flows, Decimal).result()


def day_result(arbitrage: Arbitrage) -> Decimal:
    """Return what an ended arbitrage adds to the day's result, in the settlement currency.

    One whose result nobody can value, since a fee was taken in a currency without a rate, counts as lost whole: the
    daily loss limit must not overlook it. A moving average trade keeps what it bought and has no result.
    """
    if arbitrage.profit is not None:
        return arbitrage.profit.net
    is_valued = arbitrage.strategy == "ma" or not any(leg.fills for leg in arbitrage.legs)
    return NOTHING if is_valued else -arbitrage.notional


def flows_of(legs: Iterable[Leg]) -> dict[str, Decimal]:
    """Return the signed change of each currency by the fills and fees of these legs, over all exchanges; exact."""
    return summed_changes((fill, leg.base, leg.quote_currency) for leg in legs for fill in leg.fills)


@dataclass(frozen=True, slots=True)
class _ReferencePrices(Generic[Number]):
    """Best prices seen, at FX mid."""

    buy: Number
    sell: Number

    def reference(self, leg: Leg) -> Number:
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


class _Attribution(Generic[Number]):
    """The parts of one arbitrage's result, all in one kind of number."""

    def __init__(self, arbitrage: Arbitrage, flows: Mapping[str, Decimal], number: Callable[[Decimal], Number]) -> None:
        self._arbitrage = arbitrage
        self._number: Callable[[Decimal], Number] = number
        self._zero: Number = number(NOTHING)
        self._flows: dict[str, Number] = {currency: number(flow) for currency, flow in flows.items()}
        opportunity = arbitrage.opportunity
        buy, sell = (
            self._at_mid(opportunity.rate(leg.quote_currency), number(leg.price))
            for leg in (opportunity.buy, opportunity.sell)
        )
        self._seen: _ReferencePrices[Number] = _ReferencePrices(buy, sell)

    def result(self) -> ProfitAndLoss:
        net, parts = self._net(), self._parts()
        # without a leg that unwinds this is 0, and then no exchange has a part of it
        rest = net - self._sum(self._sum(part.values()) for part in parts.values())
        parts["unwinding"] = self._with_rest(parts["unwinding"], rest)
        sums = {name: self._sum(by_exchange.values()) for name, by_exchange in parts.items()}
        return rounded_profit(self._arbitrage.opportunity.currency, parts, sums, net)

    def _net(self) -> Number:
        base, rate = self._arbitrage.base, self._arbitrage.opportunity.rate
        left = self._flows.get(base, self._zero)
        rest = left * (self._seen.buy if left > 0 else self._seen.sell)
        return rest + self._sum(self._at_side(rate(name), flow) for name, flow in self._flows.items() if name != base)

    def _parts(self) -> dict[str, ByExchange[Number]]:
        """Return each part by the exchange that has it; what unwinding legs did not cause themselves is missing."""
        legs = self._arbitrage.legs
        first = [(leg.exchange, self._decay(leg), self._whole(leg)) for leg in legs if leg.role == leg.side]
        return {
            "gross": self._gross(),
            "latency_decay": added_by_exchange((exchange, decay) for exchange, decay, _ in first),
            "slippage": added_by_exchange((exchange, whole - decay) for exchange, decay, whole in first),
            "fees": added_by_exchange((leg.exchange, -self._fees(leg)) for leg in legs),
            "fx": self._fx(),
            "unwinding": added_by_exchange((leg.exchange, self._whole(leg)) for leg in legs if leg.role != leg.side),
        }

    def _decay(self, leg: Leg) -> Number:
        """Return what moving all of it at its best fill would have earned against what it counts at."""
        if not leg.fills:
            return self._zero
        prices = [fill.price for fill in leg.fills]
        best = self._number(min(prices) if leg.side == "buy" else max(prices))
        filled = self._number(leg.filled)
        return self._signed(leg, self._at_mid(self._rate(leg), filled * best) - filled * self._seen.reference(leg))

    def _whole(self, leg: Leg) -> Number:
        """Return what moving it earned against what it counts at."""
        if not leg.filled:
            return self._zero
        counted = self._number(leg.filled) * self._seen.reference(leg)
        return self._signed(leg, self._at_mid(self._rate(leg), self._number(leg.cost)) - counted)

    def _rate(self, leg: Leg) -> FxRate | None:
        return self._arbitrage.opportunity.rate(leg.quote_currency)

    def _signed(self, leg: Leg, amount: Number) -> Number:
        return -amount if leg.side == "buy" else amount

    def _gross(self) -> ByExchange[Number]:
        """Return halves: each exchange from its own price to the middle of both."""
        gained = self._matched() * (self._seen.sell - self._seen.buy)
        opportunity = self._arbitrage.opportunity
        return added_by_exchange([(opportunity.buy.exchange, gained / 2), (opportunity.sell.exchange, gained / 2)])

    def _matched(self) -> Number:
        """Return the base that arrived by buying and left by selling, by completing a single leg too; fees in base
        included."""
        legs = [leg for leg in self._arbitrage.legs if leg.role in _MATCHING]
        bought = self._sum(self._number(leg.filled - leg.base_fee) for leg in legs if leg.side == "buy")
        sold = self._sum(self._number(leg.filled + leg.base_fee) for leg in legs if leg.side == "sell")
        return min(bought, sold)

    def _fees(self, leg: Leg) -> Number:
        """Return the fees at FX mid; one taken in base costs what that base counts at."""
        paid = self._number(leg.base_fee) * self._seen.reference(leg)
        for fill in leg.fills:
            if fill.fee_currency != leg.base:
                rate = self._arbitrage.opportunity.rate(fill.fee_currency)
                paid = paid + self._at_mid(rate, self._number(fill.fee))
        return paid

    def _fx(self) -> ByExchange[Number]:
        """Return what leads from FX mid to the side paid, of each currency's flow as a whole: what one exchange paid
        and the other got needs no FX. Both have their part of it in proportion to how much of the currency they moved.
        """
        arbitrage, shares = self._arbitrage, list[tuple[str, Number]]()
        if not arbitrage.opportunity.fx:
            return {}
        by_exchange = {
            exchange: flows_of(leg for leg in arbitrage.legs if leg.exchange == exchange)
            for exchange in _exchanges(arbitrage)
        }
        for currency, flow in self._flows.items():
            rate = arbitrage.opportunity.rate(currency)
            moved = {exchange: self._number(abs(own.get(currency, NOTHING))) for exchange, own in by_exchange.items()}
            everything = self._sum(moved.values())
            if rate is not None and everything:
                cost = self._at_side(rate, flow) - self._at_mid(rate, flow)
                shares += [(exchange, cost * part / everything) for exchange, part in moved.items()]
        return added_by_exchange(shares)

    def _with_rest(self, unwinding: ByExchange[Number], rest: Number) -> ByExchange[Number]:
        """Return what taking back more than was left cost: it belongs to the last leg that unwound."""
        last = next((leg for leg in reversed(self._arbitrage.legs) if leg.role != leg.side and leg.fills), None)
        if last is None:
            return unwinding
        return unwinding | {last.exchange: unwinding.get(last.exchange, self._zero) + rest}

    def _at_mid(self, rate: FxRate | None, amount: Number) -> Number:
        if rate is None:
            return amount
        mid = (self._number(rate.bid) + self._number(rate.ask)) / 2
        return amount / mid if rate.inverted else amount * mid

    def _at_side(self, rate: FxRate | None, amount: Number) -> Number:
        """Return it at the side paid if the flow is negative, at the side received if it is positive."""
        if rate is None:
            return amount
        side = self._number(rate.ask if (amount < 0) != rate.inverted else rate.bid)
        return amount / side if rate.inverted else amount * side

    def _sum(self, numbers: Iterable[Number]) -> Number:
        return sum(numbers, self._zero)


def _exchanges(arbitrage: Arbitrage) -> tuple[str, ...]:
    opportunity = arbitrage.opportunity
    names = (opportunity.buy.exchange, opportunity.sell.exchange, *(leg.exchange for leg in arbitrage.legs))
    return tuple(dict.fromkeys(names))


def added_by_exchange(amounts: Iterable[tuple[str, Number]]) -> ByExchange[Number]:
    sums: ByExchange[Number] = {}
    for exchange, amount in amounts:
        sums[exchange] = sums[exchange] + amount if exchange in sums else amount
    return sums


def rounded_profit(
    currency: str, parts: Mapping[str, ByExchange[Number]], sums: Mapping[str, Number], net: Number
) -> ProfitAndLoss:
    """Return the parts, by name and exchange, rounded to 8 digits each; `slippage` takes what that leaves. `sums`: each
    part over all exchanges."""
    whole = {name: decimal_part(amount) for name, amount in sums.items() if name != "slippage"}
    whole["net"] = decimal_part(net)
    whole["slippage"] = whole["net"] - sum(part for name, part in whole.items() if name != "net")
    return ProfitAndLoss(currency, **whole, shares=_shares(parts, whole))


def _shares(parts: Mapping[str, ByExchange[Number]], whole: Mapping[str, Decimal]) -> tuple[ProfitShare, ...]:
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


def decimal_part(number: Number) -> Decimal:
    """Round half to even to 8 digits."""
    if isinstance(number, Decimal):
        # nothing is nothing, whatever its sign
        return _ROUNDING.plus(_ROUNDING.quantize(number, _LAST_DIGIT))
    return decimal_of_whole(round(number * 10**DIGITS)).scaleb(-DIGITS, EXACT)
