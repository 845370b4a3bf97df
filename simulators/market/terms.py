"""The figures of the calibrated markets; `python -m benchmarks.market_calibration` shows them beside recorded ones."""

from dataclasses import dataclass, replace

from session.simulated_market import MarketName


@dataclass(frozen=True, slots=True)
class PriceTerms:
    """The efficient price of one asset."""

    annual_volatility: float
    """Standard deviation of the logarithm of the price, shocks included."""
    moves_per_second: float = 1.5
    """Moves per second; between them the price stands still."""
    tail: float = 5.0
    """Degrees of freedom of Student's distribution of a move."""
    shocks_per_second: float = 1 / 900
    shock_size: float = 9.0
    """Standard deviation in bps."""
    correlation: float = 0.75
    """Correlation of each other asset's returns with those of the first."""


@dataclass(frozen=True, slots=True)
class DislocationTerms:
    """When one exchange's price leaves the others, by how much and for how long; sizes in bps."""

    per_minute: float
    """Rate per asset, over all exchanges."""
    size: float
    """Median. Both fees, both half spreads and the default threshold together are about 28."""
    size_spread: float
    """Standard deviation of its logarithm."""
    first_after: float = 3.0
    """Seconds until the first."""
    opening_every: float = 5.0
    """Seconds between them while `opening_seconds` last, or longer if detection is not ready by then."""
    opening_seconds: float = 0.0
    largest: float = 75.0
    seconds: float = 0.85
    """Median of how long it lasts if nobody trades it away before."""
    seconds_spread: float = 0.9
    longest: float = 6.0
    taken_share: float = 0.6
    """Share of them that ends by a competitor's market order, and not by a new quote."""
    open_dollars: float = 15_000.0
    """Median of what can be taken; a dislocation is over once that is traded."""
    open_spread: float = 0.8


@dataclass(frozen=True, slots=True)
class MarketTerms:
    """One calibrated market."""

    price: PriceTerms
    dislocations: DislocationTerms
    basis_deviation: float
    """Standard deviation of each exchange's own basis, in bps."""
    basis_half_life: float = 150.0
    """Seconds."""


_BUSY = MarketTerms(
    PriceTerms(annual_volatility=0.70),
    DislocationTerms(per_minute=4.0, size=31.0, size_spread=0.12, opening_seconds=60.0),
    basis_deviation=1.5,
)
MARKET_TERMS: dict[MarketName, MarketTerms] = {
    "calm": replace(
        _BUSY,
        price=PriceTerms(annual_volatility=0.55),
        dislocations=DislocationTerms(per_minute=3.0, size=9.0, size_spread=0.6),
    ),
    "busy": _BUSY,
}
"""`storm` is `simulators.market.storm_prices`."""
