"""The best amounts of a cycle by trying all there are, reckoned the plain way: each book filled for itself, in
fractions, without a grid, a bound or a leg that the others follow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from random import Random

from market.decide.cycle_sizing import CycleBounds, SizedCycle
from market.decide.sizing import SizingSide
from market.instruments.fees import hold_of
from market.instruments.markets import FeeSide, Market
from market.instruments.orders import Side
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level
from tests.market.brute_force import fee_sides, notional_of, price_reached


@dataclass(frozen=True)
class Flow:
    """What an order gives and brings, fees included."""

    gives: Fraction
    brings: Fraction


def flow_of(side: SizingSide, lots: int) -> Flow | None:
    """None if the book shows less."""
    amount = lots * Fraction(side.market.lot_step)
    notional = notional_of(side.levels, amount)
    if notional is None:
        return None
    in_base, in_quote = fee_sides(side)
    if side.side == "buy":
        return Flow(notional * (1 + in_quote), amount * (1 - in_base))
    return Flow(amount * (1 + in_base), notional * (1 - in_quote))


def is_allowed(side: SizingSide, lots: int, bounds: CycleBounds, is_first: bool) -> bool:
    """Whether the exchange takes such an order at the lowest price that it may carry, and the account holds it."""
    amount = lots * Fraction(side.market.lot_step)
    lowest = side.limit(side.levels[0 if side.side == "buy" else -1].price, bounds.slack_bps)
    if lots < 1 or amount < side.market.minimum_amount or amount * Fraction(lowest) < side.market.minimum_notional:
        return False
    limit = side.limit(price_reached(side.levels, amount), bounds.slack_bps)
    _, per_unit = hold_of(side.market, side.side, side.fee_rate, limit)
    budgets = [side.free, bounds.most_given if is_first else None]
    return all(budget is None or amount * Fraction(per_unit) <= budget for budget in budgets)


def allowed_lots(side: SizingSide, bounds: CycleBounds, is_first: bool) -> list[tuple[int, Flow]]:
    """Return each number of lots that may be ordered, with its flow."""
    found: list[tuple[int, Flow]] = []
    lots = 1
    while (flow := flow_of(side, lots)) is not None:
        if is_allowed(side, lots, bounds, is_first):
            found.append((lots, flow))
        lots += 1
    return found


def worth_of(flows: Sequence[Flow], bounds: CycleBounds) -> Fraction:
    return flows[-1].brings - flows[0].gives * (1 + Fraction(bounds.least_bps) / 10_000)


def best_of_all(sides: Sequence[SizingSide], bounds: CycleBounds) -> Fraction | None:
    """Return the highest worth over every combination of lots; for tiny books. None if no combination is allowed."""
    choices = [allowed_lots(side, bounds, number == 0) for number, side in enumerate(sides)]
    worths = [
        worth_of([flow for _, flow in chosen], bounds)
        for chosen in product(*choices)
        if all(before.brings >= after.gives for (_, before), (_, after) in pairwise(chosen))
    ]
    return max(worths, default=None)


def best_by_first_leg(sides: Sequence[SizingSide], bounds: CycleBounds) -> Fraction | None:
    """Return the same by every amount of the first leg, each other leg taking as many lots as it can."""
    choices = [allowed_lots(side, bounds, number == 0) for number, side in enumerate(sides)]
    places = [-1] * len(sides)
    best: Fraction | None = None
    for _, first in choices[0]:
        flows = [first]
        for leg in range(1, len(sides)):
            rows = choices[leg]
            while places[leg] + 1 < len(rows) and rows[places[leg] + 1][1].gives <= flows[-1].brings:
                places[leg] += 1
            if places[leg] < 0:
                break
            flows.append(rows[places[leg]][1])
        if len(flows) == len(sides):
            worth = worth_of(flows, bounds)
            best = worth if best is None else max(best, worth)
    return best


def best_without_lots(sides: Sequence[SizingSide], bounds: CycleBounds) -> Fraction:
    """Return the optimum of the linear program over all levels of all books: level after level for as long as a unit
    pays, with neither lots nor minima nor balances."""
    at, left = [0] * len(sides), [Fraction(side.levels[0].amount) for side in sides]
    worth, least = Fraction(0), 1 + Fraction(bounds.least_bps) / 10_000
    while True:
        rates, most = Fraction(1), None
        for side, place, amount in zip(sides, at, left, strict=True):
            given, received = _per_unit(side, Fraction(side.levels[place].price))
            bound = amount * given / rates  # of the first currency
            most = bound if most is None else min(most, bound)
            rates *= received / given
        if rates <= least or most is None:
            return worth
        worth += most * (rates - least)
        passed = most
        for number, side in enumerate(sides):
            given, received = _per_unit(side, Fraction(side.levels[at[number]].price))
            left[number] -= passed / given
            passed *= received / given
        for number, side in enumerate(sides):
            if left[number] == 0:
                at[number] += 1
                if at[number] == len(side.levels):
                    return worth
                left[number] = Fraction(side.levels[at[number]].amount)


def _per_unit(side: SizingSide, price: Fraction) -> tuple[Fraction, Fraction]:
    """Return what a unit of base gives and brings."""
    in_base, in_quote = fee_sides(side)
    if side.side == "buy":
        return price * (1 + in_quote), 1 - in_base
    return 1 + in_base, price * (1 - in_quote)


def worth(sized: SizedCycle, bounds: CycleBounds) -> Fraction:
    return Fraction(sized.received) - Fraction(sized.given) * (1 + Fraction(bounds.least_bps) / 10_000)


CODES = ("USD", "BTC", "ETH", "EUR", "SOL")
FEE_SIDES: tuple[FeeSide, ...] = ("quote", "base", "received")


def random_cycle(seed: int, most_lots: int) -> tuple[list[SizingSide], CycleBounds]:
    """Return the sides of a cycle of three to five legs over random books, and random bounds. Every other one pays."""
    random = Random(seed)
    count = random.randint(3, 5)
    values = [Fraction(random.choice((1, 7, 20, 300, 4_000))) for _ in range(count)]
    edge = Fraction(random.choice((0, 100, 500, 1_500, 3_000)), 10_000)
    sides = [
        _random_side(random, CODES[number], CODES[(number + 1) % count], values, number, edge, most_lots)
        for number in range(count)
    ]
    return sides, CycleBounds(
        least_bps=decimal_of(random.choice((0, 0, 0, 5, 12.5))),
        slack_bps=random.choice((0.0, 0.0, 5.0)),
        most_given=decimal_of(random.randint(1, 20_000)) if random.random() < 0.2 else None,
    )


def _random_side(
    random: Random, gives: str, brings: str, values: Sequence[Fraction], number: int, edge: Fraction, most_lots: int
) -> SizingSide:
    side: Side = random.choice(("buy", "sell"))
    base, quote = (brings, gives) if side == "buy" else (gives, brings)
    at = {gives: values[number], brings: values[(number + 1) % len(values)]}
    fair = at[base] / at[quote]
    better = 1 - edge / len(values) if side == "buy" else 1 + edge / len(values)
    tick = _power_of_ten(fair) / 1_000
    lot = Fraction(random.choice((1, 2, 5))) * random.choice((1, 1, Fraction(1, 10))) / _power_of_ten(at[base])
    price = max(round(fair * better / tick), 1) * tick
    levels, left = [], random.randint(2, most_lots)
    for _ in range(random.randint(1, 5)):
        if left < 1 or price <= 0:
            break
        shown = random.randint(1, left)
        left -= shown
        odd = Fraction(random.randint(-9, 9), 20) if random.random() < 0.5 else Fraction(0)
        levels.append(Level(Price(_decimal(price)), Amount(_decimal((shown + odd) * lot))))
        step = max(round(price * Fraction(random.randint(0, 30), 10_000) / tick), 1) * tick
        price += step if side == "buy" else -step
    market = Market(
        random.choice(("alpha", "beta")),
        "us",
        f"{base}/{quote}",
        base,
        quote,
        tick_size=_decimal(tick),
        lot_step=_decimal(lot),
        minimum_amount=_decimal(lot * random.choice((0, 1, 1, 2))),
        minimum_notional=_decimal(price * lot * random.choice((0, 0, 1))) if price > 0 else _decimal(Fraction(0)),
        fee_side=random.choice(FEE_SIDES),
    )
    fee = decimal_of(random.choice(("0", "0", "0.0001", "0.001", "0.0025")))
    free = _decimal(lot * random.randint(0, most_lots) * (price if side == "buy" else 1))
    return SizingSide(side, market, tuple(levels), fee, None, max(free, Decimal(0)) if random.random() < 0.2 else None)


def _power_of_ten(number: Fraction) -> Fraction:
    """Return the highest power of ten that is not above `number`."""
    power = Fraction(1)
    while power > number:
        power /= 10
    while power * 10 <= number:
        power *= 10
    return power


def _decimal(number: Fraction) -> Price:
    """Return a fraction of a finite decimal as one."""
    places = next(places for places in range(30) if (number * 10**places).denominator == 1)
    return Price(decimal_of(f"{(number * 10**places).numerator}E-{places}"))


def random_cycles(first: int, count: int, most_lots: int) -> Iterator[tuple[int, list[SizingSide], CycleBounds]]:
    """Return seed, sides and bounds of each."""
    for seed in range(first, first + count):
        yield seed, *random_cycle(seed, most_lots)
