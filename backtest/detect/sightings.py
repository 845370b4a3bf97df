"""Opportunities as a backtest meets them: the few figures by which most are refused, and the whole opportunity as soon
as somebody needs it. Making one costs more than refusing it."""

from dataclasses import dataclass
from typing import Protocol

from market.instruments.orders import Side
from market.prices.episodes import MarketPair, pair_of
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.prices.shown_sides import ShownSide, shown_side


class SightingSource(Protocol):
    """What sightings are of, by their numbers."""

    def opportunity(self, number: int) -> Opportunity:
        """Return the whole opportunity."""
        ...

    def asks(self, number: int) -> ShownSide:
        """Return the asks that it would buy at."""
        ...

    def bids(self, number: int) -> ShownSide:
        """Return the bids that it would sell at."""
        ...

    def quote_ids(self, number: int) -> tuple[str, str]:
        """Return the ids of both quotes."""
        ...

    def has_rates(self, number: int) -> bool:
        """Return whether FX rates are among what it was made from."""
        ...


@dataclass(slots=True, eq=False)
class Sighting:
    """One opportunity; the figures are those of `Opportunity`."""

    source: SightingSource
    number: int
    """Its number in the source."""
    identity: str
    """The same for the same opportunity."""
    pair: MarketPair
    offset: int
    event_time: int
    expires_at: int
    net_bps: float
    expected_profit: float
    currency: str
    buy_age: int
    sell_age: int
    _whole: Opportunity | None = None

    @property
    def opportunity(self) -> Opportunity:
        """Return the whole opportunity, made once."""
        if self._whole is None:
            self._whole = self.source.opportunity(self.number)
        return self._whole


class _Whole:
    """The source of one sighting of an opportunity that is there already."""

    __slots__ = ("_asks", "_bids", "_opportunity")

    def __init__(self, opportunity: Opportunity) -> None:
        self._opportunity = opportunity
        self._asks: ShownSide | None = None
        self._bids: ShownSide | None = None

    def opportunity(self, _number: int) -> Opportunity:
        return self._opportunity

    def asks(self, _number: int) -> ShownSide:
        if self._asks is None:
            self._asks = _shown("buy", self._opportunity.buy)
        return self._asks

    def bids(self, _number: int) -> ShownSide:
        if self._bids is None:
            self._bids = _shown("sell", self._opportunity.sell)
        return self._bids

    def quote_ids(self, _number: int) -> tuple[str, str]:
        return self._opportunity.buy.quote_id, self._opportunity.sell.quote_id

    def has_rates(self, _number: int) -> bool:
        return bool(self._opportunity.fx)


def sighting_of(opportunity: Opportunity) -> Sighting:
    """Return the sighting of an opportunity that is whole already."""
    return Sighting(
        source=_Whole(opportunity),
        number=0,
        identity=opportunity.opportunity_id,
        pair=pair_of(opportunity),
        offset=opportunity.offset,
        event_time=opportunity.event_time,
        expires_at=opportunity.expires_at,
        net_bps=opportunity.net_bps,
        expected_profit=opportunity.expected_profit,
        currency=opportunity.currency,
        buy_age=opportunity.buy.age,
        sell_age=opportunity.sell.age,
    )


def _shown(side: Side, leg: OpportunityLeg) -> ShownSide:
    prices = [float(level.price) for level in leg.levels]
    is_first = leg.levels[:1] == ((leg.price, leg.amount),)
    return shown_side(side, float(leg.price), float(leg.amount), prices, is_first=is_first)
