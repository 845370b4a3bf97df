"""Size rules of imported markets: those that are known, those that the user gives, or none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.money import ZERO, text_of
from tick_sets.errors import ImportRejectedError
from tick_sets.rows.arrow_columns import MarketKey

ANY_STEP = Decimal("0.00000001")
"""The step of amounts if none is known."""


@dataclass(frozen=True, slots=True)
class SizeRules:
    """What the user says of markets that nobody here knows; None if nothing is said."""

    lot_step: Decimal | None = None
    """Amounts in base are multiples of it, and not below."""
    minimum_notional: Decimal | None = None
    """In quote currency."""

    @property
    def are_given(self) -> bool:
        return self != SizeRules()

    def applied(self, market: Market) -> Market:
        """Return `market` with these rules, if it has no known ones."""
        step = ANY_STEP if self.lot_step is None else self.lot_step
        least = ZERO if self.minimum_notional is None else self.minimum_notional
        return replace(market, lot_step=step, minimum_amount=step, minimum_notional=least)

    def check(self, market: Market) -> None:
        """Raise ImportRejectedError if these are not the rules of `market`, which is traded."""
        place = f"{market.exchange} {market.symbol}"
        if not self.are_given or market.is_fx:
            return
        if is_known(market):
            raise ImportRejectedError(
                f"{place}: its size rules are known ({_rules(market)}); omit --step and --min-notional"
            )
        if self.applied(market) != market:
            raise ImportRejectedError(
                f"{place}: has other size rules in this set ({_rules(market)}); name another set with --set"
            )


@cache
def known_markets() -> Mapping[MarketKey, Market]:
    """Return the markets whose rules are known, made once."""
    return {(one.exchange, one.symbol): one for one in simulated_markets()}


def is_known(market: Market) -> bool:
    return (market.exchange, market.symbol) in known_markets()


def size_note(market: Market) -> str | None:
    """Return the note in a report about a market's rules; None if they are known, or nothing is traded there."""
    place = f"{market.exchange} {market.symbol}"
    if market.is_fx or is_known(market):
        return None
    if (market.lot_step, market.minimum_notional) == (ANY_STEP, ZERO):
        return f"size rules of {place} are not known: any amount in steps of {text_of(ANY_STEP)}"
    return f"size rules of {place} are those that were given: {_rules(market)}"


def _rules(market: Market) -> str:
    least = text_of(market.minimum_notional)
    return f"amounts in steps of {text_of(market.lot_step)}, at least {least} {market.symbol.partition('/')[2]}"
