"""What a place at an exchange is worth: its rate limits allow few legs, and opportunities want many. Pure.

A place is one leg with its requests. Its value is what the least of those price gaps of the last minute would bring
that the refill of a minute can serve, if the best of them are served; a gap brings its place at one exchange what is
left of its profit after the value of its place at the other. (Revenue management calls this bid-price control.) The
more of what may be used at once is used up, the more of that value a trade has to bring: nothing while all is there,
so that no exchange is ever left unused for its value; the whole value at half; twice at the end, so that the last
places go to the best.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from market.money import ZERO, decimal_of_whole
from market.prices.episodes import DIGITS, MarketPair, pair_of
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS

SPAN = 60 * MICROSECONDS
"""Gaps of so long ago still say what a place is worth."""
LEAST_SPAN = 10 * MICROSECONDS
"""The first gaps are counted as if they were all of so long: a burst says nothing of how many come."""
MOST_GAPS = 512
"""At one exchange, the newest; of a busier minute they are the last part."""

PlacesLeft = tuple[int | None, int | None]
"""Legs that the limits still allow where it is bought and where it is sold; None without limits."""


@dataclass(frozen=True, slots=True)
class LegPace:
    """Legs that an exchange's limits allow: at once, if nothing is used, and refilled in a minute."""

    at_once: int
    a_minute: Fraction


@dataclass(slots=True, eq=False)
class _Gap:
    """One price gap, which makes an opportunity at row after row while it lasts; `worth`: its best."""

    pair: MarketPair
    since: int
    until: int
    worth: Decimal


@dataclass(slots=True)
class _Demand:
    """What the gaps of the last minute would bring a place at one exchange."""

    pace: LegPace
    _gaps: deque[_Gap] = field(default_factory=deque)
    _newest: dict[MarketPair, _Gap] = field(default_factory=dict)
    """Of each pair, if it is one of `_gaps`."""
    _worths: list[Decimal] = field(default_factory=list)
    """Of all gaps, ascending."""
    _known_since: int | None = None
    """From when on all gaps are known."""

    def see(self, opportunity: Opportunity, worth: Decimal, now: int) -> None:
        """Take one sighting of a gap; the best of them counts."""
        self._forget(now)
        pair = pair_of(opportunity)
        known = self._newest.get(pair)
        if known is not None and now <= known.until:
            known.until = max(known.until, opportunity.expires_at)
            if worth > known.worth:
                self._remove(known.worth)
                known.worth = worth
                insort(self._worths, worth)
            return
        if self._known_since is None:
            self._known_since = now
        gap = self._newest[pair] = _Gap(pair, now, opportunity.expires_at, worth)
        self._gaps.append(gap)
        insort(self._worths, worth)
        if len(self._gaps) > MOST_GAPS:
            self._known_since = self._gaps[0].since
            self._drop_oldest()

    def value(self, now: int) -> Decimal:
        """Return what the least that can be served would bring; 0 if all can be."""
        self._forget(now)
        served = max(1, int(self.pace.a_minute * self._seen_for(now) / SPAN))
        return self._worths[-served] if served < len(self._worths) else ZERO

    def _seen_for(self, now: int) -> int:
        since = now if self._known_since is None else self._known_since
        return max(LEAST_SPAN, min(SPAN, now - since))

    def _forget(self, now: int) -> None:
        while self._gaps and self._gaps[0].since <= now - SPAN:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = self._gaps.popleft()
        self._remove(oldest.worth)
        if self._newest[oldest.pair] is oldest:
            del self._newest[oldest.pair]

    def _remove(self, worth: Decimal) -> None:
        del self._worths[bisect_left(self._worths, worth)]


class PlaceValues:
    """The value of a place at each exchange. What is decided, and in which order, follows from what was seen before."""

    def __init__(self, paces: Mapping[str, LegPace]) -> None:
        """`paces`: of the exchanges with limits."""
        self._demands = {name: _Demand(pace) for name, pace in paces.items() if pace.at_once > 0}

    @property
    def has_any(self) -> bool:
        """Return whether any exchange has limits."""
        return bool(self._demands)

    def see(self, opportunity: Opportunity, profit: Decimal, left: PlacesLeft, now: int) -> None:
        """Take one that would be traded if there were places enough. `profit`: what one trade on it would bring now,
        settlement currency; `now`: the market's time, microseconds."""
        buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
        beyond = {
            buy: max(ZERO, profit - self._price(sell, left[1], now)),
            sell: max(ZERO, profit - self._price(buy, left[0], now)),
        }
        for name, worth in beyond.items():
            demand = self._demands.get(name)
            if demand is not None:
                demand.see(opportunity, worth, now)

    def price(self, opportunity: Opportunity, left: PlacesLeft, now: int) -> Decimal:
        """Return what its places at both exchanges are worth now, settlement currency; 0 if nothing is short."""
        buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
        return self._price(buy, left[0], now) + self._price(sell, left[1], now)

    def _price(self, exchange: str, left: int | None, now: int) -> Decimal:
        demand = self._demands.get(exchange)
        if demand is None or left is None:
            return ZERO
        at_once = demand.pace.at_once
        used = at_once - max(0, min(left, at_once))
        if used == 0:
            return ZERO
        return (demand.value(now) * decimal_of_whole(2 * used) / decimal_of_whole(at_once)).quantize(DIGITS)
