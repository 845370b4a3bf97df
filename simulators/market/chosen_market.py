"""The market of the simulated exchanges: which of the three, and the tape that drives it if there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from exchanges.simulated_coins import START_DOLLARS
from session.simulated_market import DEFAULT_MARKET, MarketName
from simulators.catalogue import terms_of
from simulators.market.calibrated_prices import CalibratedPrices
from simulators.market.efficient_prices import DrawnPrices, Tape, TapePrices
from simulators.market.ladders import STORM_SHAPE, LadderShape, calibrated_shape, storm_shape
from simulators.market.price_port import MarketPrices
from simulators.market.storm_prices import Prices
from simulators.market.terms import MARKET_TERMS
from simulators.matching.listings import CROSSES, Listing, dollars_of

Listings = Mapping[str, Sequence[Listing]]
"""By exchange."""


@dataclass(frozen=True, slots=True)
class ChosenMarket:
    """The kind of market; a storm draws its own prices, so it has no tape."""

    name: MarketName = DEFAULT_MARKET
    tape: Tape | None = None

    def listed(self, listings: Listings) -> dict[str, tuple[Listing, ...]]:
        """Return the listings, which start at the tape's first prices if there is a tape."""
        return {name: tuple(map(self._started, rows)) for name, rows in listings.items()}

    def prices(self, seed: int, listings: Listings) -> MarketPrices:
        """Return the prices of `listed` ones."""
        if self.name == "storm":
            return Prices(seed, listings)
        terms = MARKET_TERMS[self.name]
        drawn = DrawnPrices(seed, _start_dollars(listings), terms.price)
        return CalibratedPrices(seed, listings, TapePrices(self.tape, drawn) if self.tape else drawn, terms)

    def shape(self, listing: Listing) -> LadderShape:
        if listing.market.is_fx or (self.name == "storm" and listing.market.base == "BTC"):
            return STORM_SHAPE
        if self.name == "storm":
            return storm_shape(dollars_of(listing))
        return calibrated_shape(terms_of(listing.market.exchange).quoting, dollars_of(listing))

    def _started(self, listing: Listing) -> Listing:
        market = listing.market
        if self.tape is None or market.base not in self.tape.dollars or market in CROSSES:
            return listing
        return replace(listing, start_price=self.tape.dollars[market.base][0] / START_DOLLARS[market.quote_currency])


STORM = ChosenMarket("storm")


def _start_dollars(listings: Listings) -> dict[str, float]:
    start: dict[str, float] = {}
    for row in (row for rows in listings.values() for row in rows):
        if not row.market.is_fx and row.market not in CROSSES:
            start.setdefault(row.market.base, dollars_of(row))
    return start
