"""The markets `calm` and `busy`: one efficient price per asset, which each exchange follows with its own lag and basis.

mid = efficient dollar price (lagged) × FX × exp(basis + dislocation), one step at a time. A cross (ETH/BTC, or BTC/EUR
beside BTC/USD) is an asset of its own, whose efficient price is its base's, over that of the coin it is priced in: so
cycles within an exchange open and close as gaps between exchanges do.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import decimal_of
from simulators.catalogue import terms_of
from simulators.market.currency_rates import BPS, CurrencyRates
from simulators.market.dislocations import Dislocations
from simulators.market.efficient_prices import EfficientPrices
from simulators.market.price_port import MarketOrder
from simulators.market.terms import MarketTerms
from simulators.matching.listings import CROSSES, Listing
from simulators.matching.order_records import PublicTrade

CROSS_SIZE = 1.6
"""How much wider dislocations of crosses are: a cycle pays three fees and spreads."""


@dataclass(slots=True)
class _ExchangePrices:
    randoms: dict[str, Random]
    """By asset."""
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
        self._assets = {
            (name, row.market.symbol): _asset(row.market) for name, rows in listings.items() for row in rows
        }
        lists: dict[str, list[str]] = {base: [] for base in efficient.log_prices}
        for name, rows in listings.items():
            assets = dict.fromkeys(self._asset_of(row.market) for row in rows if not row.market.is_fx)
            for asset in assets:
                lists.setdefault(asset, []).append(name)
            randoms = {asset: Random(f"{seed}:{name}:{asset}:basis") for asset in assets}  # noqa: S311
            basis = {asset: random.gauss(0, terms.basis_deviation) for asset, random in randoms.items()}
            log_price = {asset: self._efficient_log(asset) for asset in assets}
            self._exchanges[name] = _ExchangePrices(randoms, terms_of(name).quoting.lag, log_price, basis)
        wider = replace(terms.dislocations, size=terms.dislocations.size * CROSS_SIZE)
        self._dislocations = {
            asset: Dislocations(seed, asset, names, terms.dislocations if asset in efficient.log_prices else wider)
            for asset, names in lists.items()
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
        for asset in state.log_price:
            state.log_price[asset] += (self._efficient_log(asset) - state.log_price[asset]) * follow
            state.basis[asset] = state.basis[asset] * kept + state.randoms[asset].gauss(0, drawn)
            self._dislocations[asset].advance_exchange(name, seconds)

    def prolong_opening(self) -> None:
        for dislocations in self._dislocations.values():
            dislocations.prolong_opening()

    def mid(self, listing: Listing) -> float:
        market = listing.market
        if market.is_fx:
            return self._rates.dollars(market.base) / self._rates.dollars(market.quote_currency)
        state, asset = self._exchanges[market.exchange], self._asset_of(market)
        away = state.basis[asset] + self._dislocations[asset].away(market.exchange)
        # a price in a coin is in its logarithm already
        unit = 1.0 if self._is_coin(market.quote_currency) else self._rates.dollars(market.quote_currency)
        return math.exp(state.log_price[asset] + away * BPS) / unit

    def heeds_trades(self, listing: Listing) -> bool:
        market = listing.market
        return not market.is_fx and self._dislocations[self._asset_of(market)].is_open(market.exchange)

    def orders(self, listing: Listing) -> tuple[MarketOrder, ...]:
        market = listing.market
        taken = None if market.is_fx else self._dislocations[self._asset_of(market)].taken(market.exchange)
        if taken is None:
            return ()
        side, dollars = taken
        amount = dollars / math.exp(self._efficient.log_prices[market.base])
        return ((side, max(1, listing.lots(decimal_of(amount)))),)

    def traded(self, listing: Listing, trades: Sequence[PublicTrade]) -> None:
        market = listing.market
        if market.is_fx or not trades:
            return
        quote = market.quote_currency
        is_coin = self._is_coin(quote)
        rate = math.exp(self._efficient.log_prices[quote]) if is_coin else self._rates.dollars(quote)
        sums: dict[Side, float] = {}
        for trade in trades:
            sums[trade.side] = sums.get(trade.side, 0.0) + float(trade.price * trade.amount) * rate
        for side, dollars in sums.items():
            self._dislocations[self._asset_of(market)].traded(market.exchange, side, dollars)

    def _asset_of(self, market: Market) -> str:
        return self._assets[market.exchange, market.symbol]

    def _is_coin(self, currency: str) -> bool:
        return currency in self._efficient.log_prices

    def _efficient_log(self, asset: str) -> float:
        """Return the logarithm of the efficient price, in dollars or in the coin that a cross is priced in."""
        base, _, quote = asset.partition("/")
        logs = self._efficient.log_prices
        return logs[base] - logs[quote] if quote in logs else logs[base]


def _asset(market: Market) -> str:
    """Return what its price is of: its base, or itself if it is a cross."""
    return market.symbol if market in CROSSES else market.base
