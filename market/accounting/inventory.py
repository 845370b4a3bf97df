"""Inventory: balances, holds, and drift since the session's opening. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from statistics import median
from types import MappingProxyType
from typing import Literal

from market.instruments.markets import Market, fx_route
from market.money import ZERO, decimal_of_whole, total
from market.trade.arbitrages import OPEN_STATES, Arbitrage, LegRole, held_currency
from market.trade.reservation_state import BalanceRow

Target = Literal["opening", "even"]
"""How each currency should lie over the exchanges: in the shares of the opening, or in equal ones."""

Amounts = Mapping[str, Mapping[str, Decimal]]
"""Exchange → currency → amount."""
Values = Mapping[str, Decimal]
"""Currency → what one of it is worth in the settlement currency. One that is missing has no price now."""

TARGET_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Hold:
    """Part of a balance that an open leg needs."""

    exchange: str
    currency: str
    amount: Decimal
    arbitrage_id: str
    role: LegRole


@dataclass(frozen=True, slots=True)
class Holding:
    """One currency on one exchange. `drift` = total − target; `value` of the drift in the settlement currency."""

    exchange: str
    currency: str
    free: Decimal
    held: Decimal
    target: Decimal
    value: Decimal | None

    @property
    def total(self) -> Decimal:
        return self.free + self.held

    @property
    def drift(self) -> Decimal:
        return self.total - self.target


@dataclass(frozen=True, slots=True)
class Exposure:
    """One currency over all exchanges: how much more of it there is than at the session's opening."""

    currency: str
    is_base: bool
    opening: Decimal
    now: Decimal
    value: Decimal | None
    """The value of the change, in the settlement currency."""

    @property
    def change(self) -> Decimal:
        return self.now - self.opening


@dataclass(frozen=True, slots=True)
class Inventory:
    """By exchange and currency, in the order of the rows; exposures in that of the currencies."""

    holdings: tuple[Holding, ...]
    holds: tuple[Hold, ...]
    exposures: tuple[Exposure, ...]


def inventory_of(
    rows: Sequence[BalanceRow],
    opening: Amounts,
    arbitrages: Iterable[Arbitrage],
    values: Values,
    bases: Iterable[str],
    target: Target = "opening",
    on_its_way: Values = MappingProxyType({}),
) -> Inventory:
    """Return the inventory since `opening`, which the exchanges reported when the session began; one that has not
    reported yet is left out of exposure. `on_its_way`: currency → what is between exchanges
    (`transfer_lifecycle.still_ours`), which counts as ours."""
    return Inventory(
        holdings=tuple(_holdings(rows, opening, values, target)),
        holds=tuple(holds_of(arbitrages)),
        exposures=tuple(exposures_of(rows, opening, values, frozenset(bases), on_its_way)),
    )


def holds_of(arbitrages: Iterable[Arbitrage]) -> list[Hold]:
    """Return what open legs hold."""
    return [
        Hold(leg.exchange, held_currency(leg), leg.held, arbitrage.arbitrage_id, leg.role)
        for arbitrage in arbitrages
        if arbitrage.state in OPEN_STATES
        for leg in arbitrage.legs
        if leg.held > 0
    ]


def values_of(
    mids: Mapping[tuple[str, str], Decimal], markets: tuple[Market, ...], settlement: str
) -> dict[str, Decimal]:
    """`mids` by (exchange, symbol): quote currencies at FX mid, a base at the median of its markets' mids."""
    values = {settlement: Decimal(1)}
    by_symbol = {symbol: mid for (_, symbol), mid in mids.items()}
    for currency in dict.fromkeys(market.quote_currency for market in markets if not market.is_fx):
        try:
            route = fx_route(currency, settlement, markets)
        except LookupError:
            continue
        mid = None if route is None else by_symbol.get(route.symbol)
        if route is not None and mid:
            values[currency] = 1 / mid if route.inverted else mid
    prices: dict[str, list[Decimal]] = {}
    for market in markets:
        mid, rate = mids.get((market.exchange, market.symbol)), values.get(market.quote_currency)
        if not market.is_fx and mid is not None and rate is not None:
            prices.setdefault(market.base, []).append(mid * rate)
    return values | {base: median(found) for base, found in prices.items()}


def _holdings(rows: Sequence[BalanceRow], opening: Amounts, values: Values, target: Target) -> Iterable[Holding]:
    by_currency: dict[str, list[BalanceRow]] = {}
    for row in rows:
        by_currency.setdefault(row.currency, []).append(row)
    for row in rows:
        wanted = target_of(row, by_currency[row.currency], opening, target)
        drift = row.free + row.held - wanted
        yield Holding(row.exchange, row.currency, row.free, row.held, wanted, _value(values, row.currency, drift))


def target_of(row: BalanceRow, same: Sequence[BalanceRow], opening: Amounts, target: Target) -> Decimal:
    """Its share of all there is of the currency now, floored: targets never ask for more than there is."""
    everything = total(other.free + other.held for other in same)
    shares = {other.exchange: opening.get(other.exchange, {}).get(row.currency, ZERO) for other in same}
    whole = total(shares.values())
    if len(same) == 1:
        return everything
    if target == "even" or whole <= 0:
        share = Fraction(1, len(same))
    else:
        share = Fraction(shares[row.exchange]) / Fraction(whole)
    return decimal_of_whole(floor(Fraction(everything) * share * 10**TARGET_DIGITS)).scaleb(-TARGET_DIGITS)


def exposures_of(
    rows: Iterable[BalanceRow],
    opening: Amounts,
    values: Values,
    bases: frozenset[str] = frozenset(),
    on_its_way: Values = MappingProxyType({}),
) -> Iterable[Exposure]:
    """In the order of the currencies; each depends on its own rows alone."""
    counts: dict[str, Decimal] = {}
    for row in rows:
        if row.exchange in opening:
            counts[row.currency] = counts.get(row.currency, ZERO) + row.free + row.held
    for currency, there in counts.items():
        now = there + on_its_way.get(currency, ZERO)
        before = total(amounts.get(currency, ZERO) for amounts in opening.values())
        yield Exposure(currency, currency in bases, before, now, _value(values, currency, now - before))


def _value(values: Values, currency: str, amount: Decimal) -> Decimal | None:
    if not amount:
        # whatever its price is: what is known of the others can be added up
        return ZERO
    price = values.get(currency)
    return None if price is None else amount * price
