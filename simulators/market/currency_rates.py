"""Dollar rates of the quote currencies: two that wander, and a stablecoin that is pulled back to its dollar."""

import math
from random import Random

from exchanges.simulated_coins import START_DOLLARS

BPS = 1e-4

_FX_VOLATILITY = 0.15
_PEG_VOLATILITY = 0.1
"""Standard deviations over one second in bps."""
_PEG_RETURN_RATE = 0.002
"""Pull per second, back to one dollar."""


class CurrencyRates:
    """The wandering currencies draw from `random`, the stablecoin from `peg_random`."""

    def __init__(self, random: Random, peg_random: Random) -> None:
        self._random = random
        self._peg_random = peg_random
        self._away = dict.fromkeys(START_DOLLARS, 0.0)

    def advance(self, seconds: float) -> None:
        for currency in ("EUR", "JPY"):
            pull = 0.001 * seconds * self._away[currency]
            self._away[currency] += self._random.gauss(0, _FX_VOLATILITY * math.sqrt(seconds)) * BPS - pull
        # A stablecoin is pulled back to its dollar, from a few bps away.
        peg_move = self._peg_random.gauss(0, _PEG_VOLATILITY * math.sqrt(seconds)) * BPS
        self._away["USDT"] += peg_move - _PEG_RETURN_RATE * seconds * self._away["USDT"]

    def dollars(self, currency: str) -> float:
        """Return the dollars of one unit. Raises KeyError for a currency that no simulated exchange lists."""
        return START_DOLLARS[currency] * math.exp(self._away[currency])
