"""The efficient price of each asset, which all exchanges follow: drawn from a seed, or read from a tape."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from simulators.market.currency_rates import BPS
from simulators.market.market_terms import PriceTerms

YEAR_SECONDS = 365.25 * 86_400


class EfficientPrices(Protocol):
    """Log prices in dollars, by base."""

    @property
    def log_prices(self) -> Mapping[str, float]: ...

    def advance(self, seconds: float) -> None: ...


class DrawnPrices:
    """Moves at random moments, with heavy tails, and rare shocks; the volatility of a year is as given."""

    def __init__(self, seed: int, start: Mapping[str, float], terms: PriceTerms) -> None:
        self._random = Random(f"{seed}:efficient")  # noqa: S311 – prices, not secrets
        self._log_prices = {base: math.log(dollars) for base, dollars in start.items()}
        self._terms = terms
        shocks = terms.shocks_per_second * (terms.shock_size * BPS) ** 2
        moves = terms.annual_volatility**2 / YEAR_SECONDS - shocks
        of_student = terms.tail / (terms.tail - 2)
        self._move_size = math.sqrt(moves / terms.moves_per_second / of_student)

    @property
    def log_prices(self) -> Mapping[str, float]:
        return self._log_prices

    def advance(self, seconds: float) -> None:
        random, terms = self._random, self._terms
        for base in self._log_prices:
            if random.random() < terms.moves_per_second * seconds:
                self._log_prices[base] += self._move_size * self._student()
            if random.random() < terms.shocks_per_second * seconds:
                self._log_prices[base] += random.gauss(0, terms.shock_size) * BPS

    def _student(self) -> float:
        tail = self._terms.tail
        return self._random.gauss(0, 1) / math.sqrt(self._random.gammavariate(tail / 2, 2) / tail)


@dataclass(frozen=True, slots=True)
class Tape:
    """A recorded day: dollar prices by base, one every `step` seconds, all of one length."""

    name: str
    step: float
    dollars: Mapping[str, "array[float]"]


class TapePrices:
    """A tape from its beginning, in its own time; at its end it runs backwards, so that no price jumps.

    Assets that it does not have, which a session on it does not trade, come from `others`.
    """

    def __init__(self, tape: Tape, others: EfficientPrices) -> None:
        self._tape = tape
        self._others = others
        self._steps = len(next(iter(tape.dollars.values())))
        self._time = 0.0
        self._log_prices = self._at(0)

    @property
    def log_prices(self) -> Mapping[str, float]:
        return self._log_prices

    def advance(self, seconds: float) -> None:
        self._others.advance(seconds)
        self._time += seconds
        last = self._steps - 1
        step = int(self._time / self._tape.step) % (2 * last) if last else 0
        self._log_prices = self._at(min(step, 2 * last - step))

    def _at(self, step: int) -> dict[str, float]:
        taped = {base: math.log(dollars[step]) for base, dollars in self._tape.dollars.items()}
        return {**self._others.log_prices, **taped}
