"""The markets that simulated exchanges can have, by name, and what each was calibrated on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

MarketName = Literal["calm", "busy", "storm"]
"""As recorded; the same with dislocations that pay fees, some a minute; invented, with one every second."""
MARKETS: tuple[MarketName, ...] = get_args(MarketName)
DEFAULT_MARKET: MarketName = "busy"

_SETS = "Binance 2024, bitFlyer and BTCBOX 2018, Coinbase and Bitstamp books 2019"


@dataclass(frozen=True, slots=True)
class SimulatedMarket:
    """The market of one session."""

    name: MarketName = DEFAULT_MARKET
    tape: str | None = None
    """Name of the tick set whose prices drive it; None: drawn by the session's seed."""
    tape_folder: Path | None = None


def calibrated_on(market: MarketName) -> str | None:
    """Return the recorded sets behind its moments; None for a market that was invented."""
    return None if market == "storm" else _SETS
