"""The market `storm`: one latent dollar price per base, each exchange lagging it, with a basis that wanders and jumps.

mid = latent dollar price (lagged) × FX × exp(basis + dislocations), one step at a time: the same seed and the same
number of steps give the same prices, whatever the wall clock did.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from exchanges.simulated_coins import START_DOLLARS
from simulators.market.currency_rates import BPS, CurrencyRates
from simulators.market.price_port import MarketOrder
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade


@dataclass(frozen=True, slots=True)
class PriceModel:
    """Parameters of the price model; bps and seconds."""

    volatility: float = 1.5
    """Standard deviation of the latent price over one second."""
    jumps_per_second: float = 1 / 45
    jump_size: float = 8.0
    basis_deviation: float = 3.0
    basis_return_rate: float = 0.4
    busy_seconds: float = 6.0
    calm_seconds: float = 4.0
    """Mean lengths of busy phases, in which dislocations come, and of the calm ones between."""
    dislocations_per_second: float = 0.7
    """Rate per exchange, in a busy phase."""
    dislocation_size: float = 30.0
    largest_dislocation: float = 75.0


@dataclass(slots=True)
class _Dislocation:
    size: float
    half_life: float


@dataclass(slots=True)
class _ExchangeState:
    random: Random
    lag: float
    """Seconds until an exchange has followed about two thirds of a move."""
    log_price: dict[str, float]
    basis: float = 0.0
    dislocations: list[_Dislocation] = field(default_factory=list)


class Prices:
    """Mids of all listings of all exchanges. Advance in turns: one exchange a step, or all of them."""

    def __init__(self, seed: int, listings: Mapping[str, Sequence[Listing]], model: PriceModel | None = None) -> None:
        self._model = model or PriceModel()
        self._random = Random(f"{seed}:latent")  # noqa: S311 – prices, not secrets
        self._latent: dict[str, float] = {}
        peg_random = Random(f"{seed}:peg")  # noqa: S311 – prices, not secrets
        self._rates = CurrencyRates(self._random, peg_random)
        self._busy = True
        self._phase_left = self._model.busy_seconds
        for row in (row for rows in listings.values() for row in rows if not row.market.is_fx):
            dollars = row.start_price * START_DOLLARS[row.market.quote_currency]
            self._latent.setdefault(row.market.base, math.log(dollars))
        _, *others = self._latent
        self._randoms = dict.fromkeys(self._latent, self._random)
        self._randoms |= {base: Random(f"{seed}:{base}:latent") for base in others}  # noqa: S311
        self._exchanges = {}
        for name in listings:
            random = Random(f"{seed}:{name}")  # noqa: S311
            self._exchanges[name] = _ExchangeState(random, random.uniform(0.05, 0.25), dict(self._latent))

    def advance_latent(self, seconds: float) -> None:
        """Advance latent prices, FX rates and the busy phase."""
        model, random = self._model, self._random
        for base, own in self._randoms.items():
            move = own.gauss(0, model.volatility * math.sqrt(seconds))
            if own.random() < model.jumps_per_second * seconds:
                move += own.gauss(0, model.jump_size)
            self._latent[base] += move * BPS
        self._rates.advance(seconds)
        self._phase_left -= seconds
        if self._phase_left <= 0:
            self._busy = not self._busy
            self._phase_left = random.expovariate(1 / (model.busy_seconds if self._busy else model.calm_seconds))

    def advance_exchange(self, name: str, seconds: float) -> None:
        """Advance one exchange's prices; its basis and its dislocations are those of all its markets."""
        model, state = self._model, self._exchanges[name]
        follow = 1 - math.exp(-seconds / state.lag)
        for base, latent in self._latent.items():
            state.log_price[base] += (latent - state.log_price[base]) * follow
        rate = model.basis_return_rate
        spread = model.basis_deviation * math.sqrt(2 * rate * seconds)
        state.basis += state.random.gauss(0, spread) - rate * seconds * state.basis
        for dislocation in state.dislocations:
            dislocation.size *= 0.5 ** (seconds / dislocation.half_life)
        state.dislocations = [dislocation for dislocation in state.dislocations if abs(dislocation.size) > 0.5]
        if self._busy and state.random.random() < model.dislocations_per_second * seconds:
            size = min(model.largest_dislocation, 10 + state.random.expovariate(1 / model.dislocation_size))
            sign = state.random.choice((-1, 1))
            state.dislocations.append(_Dislocation(sign * size, state.random.uniform(0.3, 1.5)))

    def mid(self, listing: Listing) -> float:
        market = listing.market
        if market.is_fx:
            return self._rates.dollars(market.base) / self._rates.dollars(market.quote_currency)
        state = self._exchanges[market.exchange]
        away = state.basis + sum(dislocation.size for dislocation in state.dislocations)
        away = max(-self._model.largest_dislocation, min(self._model.largest_dislocation, away))
        return math.exp(state.log_price[market.base] + away * BPS) / self._rates.dollars(market.quote_currency)

    def prolong_opening(self) -> None:
        """Do nothing: a storm needs no opening."""

    def heeds_trades(self, listing: Listing) -> bool:
        """Return False: no trade moves these prices."""
        return False

    def orders(self, listing: Listing) -> tuple[MarketOrder, ...]:
        """Return none: nobody else trades the dislocations of a storm, which decay by themselves."""
        return ()

    def traded(self, listing: Listing, trades: Sequence[PublicTrade]) -> None:
        """Do nothing: no trade moves these prices."""
