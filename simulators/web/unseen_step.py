"""One step of a market that nobody looks at, to be made up for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from market.instruments.orders import Side
from simulators.market.ladders import Ladder
from simulators.matching.venue import Venue, trades_of
from simulators.web.exchange_gateway import Gateway, MarketStep


@dataclass(slots=True)
class UnseenStep:
    """A step in which the market maker requotes around `mid`, and the crowd takes what it takes within
    `seconds`.

    It is published late: gateways count it, and send nothing.
    """

    venue: Venue
    gateways: Sequence[Gateway]
    symbol: str
    ladder: Callable[[], Ladder]
    """Made once it is needed."""
    mid: float
    seconds: float
    _levels: dict[Side, list[tuple[int, int]]] = field(default_factory=dict)
    """What the taker of each side meets."""
    _taker: tuple[Side, int] | None = None

    def draw(self) -> int:
        """Return how many trades it has."""
        ladder = self.ladder()
        self._levels["sell"], self._levels["buy"] = ladder.levels(self.mid)
        self._taker = ladder.taker(self.seconds)
        if self._taker is None:
            return 0
        side, lots = self._taker
        return trades_of(side, lots, self._levels[side])

    def make_up(self) -> None:
        self.venue.quote(self.symbol, self._levels["sell"], self._levels["buy"])
        if self._taker is not None:
            self.venue.take(self.symbol, *self._taker)
        trades, changes = self.venue.tape.drain(self.symbol), self.venue.books[self.symbol].drain_changes()
        for gateway in self.gateways:
            gateway.publish(MarketStep(self.symbol, changes, trades, is_late=True))
