"""The markets `calm` and `busy`: one efficient price per asset, which each exchange follows with its own lag and basis.

mid = efficient dollar price (lagged) × FX × exp(basis + dislocation), one step at a time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from market.instruments.orders import Side
from market.money import decimal_of
from simulators.catalogue import terms_of
from simulators.market.currency_rates import BPS, CurrencyRates
from simulators.market.dislocations import Dislocations
from simulators.market.efficient_prices import EfficientPrices
from simulators.market.price_port import MarketOrder
from simulators.market.terms import MarketTerms
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade


@dataclass(slots=True)
class _ExchangePrices:
    randoms: dict[str, Random]
    """By base."""
    lag: float
    log_price: dict[str, float]
    basis: dict[str, float]
    """Bps."""


class CalibratedPrices:
    """Mids of all listings of all exchanges, as `MarketPrices`."""

    def __init__(
        self,
        seed: int,
        listings: Mapping[str, Sequence[Listing]],
        efficient: EfficientPrices,
        terms: MarketTerms,
    ) -> None:
        self._efficient = efficient
        self._terms = terms
        fx_random, peg_random = Random(f"{seed}:fx"), Random(f"{seed}:peg")  # noqa: S311 – prices, not secrets
        self._rates = CurrencyRates(fx_random, peg_random)
        self._exchanges = {}
        lists: dict[str, list[str]] = {base: [] for base in efficient.log_prices}
        for name, rows in listings.items():
            bases = {row.market.base: 0.0 for row in rows if not row.market.is_fx}
            for base in bases:
                lists[base].append(name)
            randoms = {base: Random(f"{seed}:{name}:{base}:basis") for base in bases}  # noqa: S311
            basis = {base: random.gauss(0, terms.basis_deviation) for base, random in randoms.items()}
            log_price = {base: efficient.log_prices[base] for base in bases}
            self._exchanges[name] = _ExchangePrices(randoms, terms_of(name).quoting.lag, log_price, basis)
        self._dislocations = {
            base: Dislocations(seed, base, names, terms.dislocations) for base, names in lists.items()
        }

    def advance_latent(self, seconds: float) -> None:
        self._efficient.advance(seconds)
        self._rates.advance(seconds)
        for dislocations in self._dislocations.values():
            dislocations.advance(seconds)

    def advance_exchange(self, name: str, seconds: float) -> None:
        state = self._exchanges[name]
        follow = 1 - math.exp(-seconds / state.lag)
        kept = 0.5 ** (seconds / self._terms.basis_half_life)
        drawn = self._terms.basis_deviation * math.sqrt(1 - kept**2)
        for base in state.log_price:
            state.log_price[base] += (self._efficient.log_prices[base] - state.log_price[base]) * follow
            state.basis[base] = state.basis[base] * kept + state.randoms[base].gauss(0, drawn)
            self._dislocations[base].advance_exchange(name, seconds)

    def prolong_opening(self) -> None:
        for dislocations in self._dislocations.values():
            dislocations.prolong_opening()

    def mid(self, listing: Listing) -> float:
        market = listing.market
        if market.is_fx:
            return self._rates.dollars(market.base) / self._rates.dollars(market.quote_currency)
        state = self._exchanges[market.exchange]
        away = state.basis[market.base] + self._dislocations[market.base].away(market.exchange)
        return math.exp(state.log_price[market.base] + away * BPS) / self._rates.dollars(market.quote_currency)

    def heeds_trades(self, listing: Listing) -> bool:
        market = listing.market
        return not market.is_fx and self._dislocations[market.base].is_open(market.exchange)

    def orders(self, listing: Listing) -> tuple[MarketOrder, ...]:
        market = listing.market
        taken = None if market.is_fx else self._dislocations[market.base].taken(market.exchange)
        if taken is None:
            return ()
        side, dollars = taken
        amount = dollars / math.exp(self._efficient.log_prices[market.base])
        return ((side, max(1, listing.lots(decimal_of(amount)))),)

    def traded(self, listing: Listing, trades: Sequence[PublicTrade]) -> None:
        market = listing.market
        if market.is_fx or not trades:
            return
        rate = self._rates.dollars(market.quote_currency)
        sums: dict[Side, float] = {}
        for trade in trades:
            sums[trade.side] = sums.get(trade.side, 0.0) + float(trade.price * trade.amount) * rate
        for side, dollars in sums.items():
            self._dislocations[market.base].traded(market.exchange, side, dollars)
