"""The efficient price of each asset, which all exchanges follow: drawn from a seed, or read from a tape."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from simulators.market.currency_rates import BPS
from simulators.market.terms import PriceTerms

YEAR_SECONDS = 365.25 * 86_400


class EfficientPrices(Protocol):
    """Log prices in dollars, by base."""

    @property
    def log_prices(self) -> Mapping[str, float]: ...

    def advance(self, seconds: float) -> None: ...


class DrawnPrices:
    """Prices that move at random moments, with heavy tails, and rare shocks; the volatility of a year is as
    given.

    The others follow the first asset's moves in part, so that their returns have the given correlation with
    its.
    """

    def __init__(self, seed: int, start: Mapping[str, float], terms: PriceTerms) -> None:
        self._log_prices = {base: math.log(dollars) for base, dollars in start.items()}
        self._leader, *self._followers = start
        self._randoms = {base: Random(f"{seed}:{base}:efficient") for base in self._followers}  # noqa: S311
        self._randoms[self._leader] = Random(f"{seed}:efficient")  # noqa: S311 – prices, not secrets
        self._terms = terms
        self._own_share = math.sqrt(1 - terms.correlation**2)
        shocks = terms.shocks_per_second * (terms.shock_size * BPS) ** 2
        moves = terms.annual_volatility**2 / YEAR_SECONDS - shocks
        of_student = terms.tail / (terms.tail - 2)
        self._move_size = math.sqrt(moves / terms.moves_per_second / of_student)

    @property
    def log_prices(self) -> Mapping[str, float]:
        return self._log_prices

    def advance(self, seconds: float) -> None:
        move = self._move(self._randoms[self._leader], seconds)
        self._log_prices[self._leader] += move
        followed = self._terms.correlation * move
        for base in self._followers:
            self._log_prices[base] += followed + self._own_share * self._move(self._randoms[base], seconds)

    def _move(self, random: Random, seconds: float) -> float:
        terms, move = self._terms, 0.0
        if random.random() < terms.moves_per_second * seconds:
            tail = terms.tail
            move += self._move_size * random.gauss(0, 1) / math.sqrt(random.gammavariate(tail / 2, 2) / tail)
        if random.random() < terms.shocks_per_second * seconds:
            move += random.gauss(0, terms.shock_size) * BPS
        return move


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
