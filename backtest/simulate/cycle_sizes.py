"""Sizes the cycles that are found in a tick set, at what the books showed at that moment.

Nothing is executed. An episode is sized once, when it is first seen, or when it pays more if nothing could be traded
before: a trader would take it then. Of one quote no more
is taken than it shows, by all cycles together, the best ones first; balances are those of the beginning for each.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from backtest.detect.cycle_search import CycleSighting, cycle_sightings
from backtest.parameters import Balances, Parameters
from backtest.result.cycles_found import SIZED, CycleEpisode, CyclesFound
from market.decide.cycle_sizing import CycleBounds, SizedCycle, size_cycle
from market.decide.market_rules import is_closed, market_in_force
from market.decide.quarantine import absurd_above_bps
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.cycles import Cycle, watched_cycles
from market.instruments.order_matching import filled_offers
from market.instruments.orders import Side
from market.money import EXACT, ZERO, Amount, decimal_of_double, floor_to_step
from market.prices.quotes import Level
from tick_sets.sets.tick_set import TickSet

BOOKED = Decimal("0.00000001")
"""The most that one cycle may give is cut to so many digits, if it is counted in another currency."""


def cycles_found(tick_set: TickSet, parameters: Parameters, worth: Mapping[str, Decimal]) -> CyclesFound | None:
    """Find and size; None if cycles are not asked for. `worth`: what a unit of each currency counts in the settlement
    currency, for limits. Raises ImportRejectedError if the set cannot be read."""
    terms, settings, manifest = parameters.cycles, parameters.settings, tick_set.manifest
    if terms is None:
        return None
    held = {
        exchange: {currency for currency, amount in row.items() if amount > ZERO}
        for exchange, row in parameters.cycle_balances.items()
    }
    watched = watched_cycles(manifest.markets, terms, manifest.settlement_currency, settings.taker_fees, held)
    sizer = CycleSizer(settings, parameters.cycle_balances, worth)
    episodes = _Episodes(sizer, settings.opportunity_lifetime_ms * 1_000)
    if watched.cycles:
        episodes.see(cycle_sightings(tick_set, watched.cycles, settings))
    return CyclesFound(terms, len(watched.cycles), watched.reasons, episodes.in_order())


@dataclass(slots=True)
class CycleSizer:
    """Answers for one sighting after the other, in the order of time."""

    settings: Settings
    balances: Balances
    worth: Mapping[str, Decimal]
    _taken: dict[tuple[str, str, Side], tuple[int, dict[Decimal, Decimal]]] = field(default_factory=dict)
    """Exchange, symbol, side of our order → the quote's row, and what was taken of it by price."""

    def sized(self, sighting: CycleSighting) -> SizedCycle | str:
        """Return the sizes, or why there are none."""
        settings, cycle = self.settings, sighting.cycle
        if sighting.net_bps < settings.min_net_bps:
            return "below_threshold"
        ceiling = absurd_above_bps((), settings)
        if ceiling is not None and sighting.net_bps > ceiling:
            return "quarantined"
        if any(leg.gives in settings.disabled_assets for leg in cycle.legs):
            return "asset_disabled"
        if any(is_closed(leg.market.exchange, leg.market.symbol, settings) for leg in cycle.legs):
            return "market_closed"
        unit = self.worth.get(cycle.currency)
        if unit is None or unit <= ZERO:
            return "no_rate"
        sides = [self._side(sighting, number) for number in range(len(cycle.legs))]
        found = size_cycle(sides, self._bounds(unit))
        if isinstance(found, SizedCycle):
            for number, (side, leg) in enumerate(zip(sides, found.legs, strict=True)):
                self._take(sighting, number, side, leg.amount)
        return found

    def _bounds(self, unit: Decimal) -> CycleBounds:
        most = self.settings.max_notional if unit == 1 else floor_to_step(self.settings.max_notional / unit, BOOKED)
        return CycleBounds(decimal_of_double(self.settings.min_net_bps), self.settings.max_slippage_bps, most)

    def _side(self, sighting: CycleSighting, number: int) -> SizingSide:
        leg = sighting.cycle.legs[number]
        exchange = leg.market.exchange
        is_own = (exchange, leg.gives) in sighting.cycle.needs
        free = self.balances.get(exchange, {}).get(leg.gives, ZERO) if is_own else None
        fee = self.settings.taker_fees[exchange]
        market = market_in_force(leg.market, self.settings)
        return SizingSide(leg.side, market, self._left(sighting, number), fee, None, free)

    def _left(self, sighting: CycleSighting, number: int) -> tuple[Level, ...]:
        """Return what the leg's quote shows, less what was taken of it."""
        levels = sighting.levels(number)
        row, taken = self._taken.get(_key(sighting.cycle, number), (-1, {}))
        if row != sighting.rows[number]:
            return levels
        left = (
            Level(level.price, Amount(EXACT.subtract(level.amount, taken.get(level.price, ZERO)))) for level in levels
        )
        return tuple(level for level in left if level.amount > ZERO)

    def _take(self, sighting: CycleSighting, number: int, side: SizingSide, amount: Decimal) -> None:
        row, key = sighting.rows[number], _key(sighting.cycle, number)
        known_row, taken = self._taken.get(key, (row, {}))
        if known_row != row:
            taken = {}
        offers = ((level, level.price, level.amount) for level in side.levels)
        for level, part in filled_offers(side.side, side.levels[-1].price, amount, offers):
            taken[level.price] = EXACT.add(taken.get(level.price, ZERO), part)
        self._taken[key] = row, taken


class _Episodes:
    """Sightings of one cycle that follow each other within the lifetime of an opportunity are one episode."""

    def __init__(self, sizer: CycleSizer, lifetime: int) -> None:
        self._sizer = sizer
        self._lifetime = lifetime
        self._newest: dict[int, CycleEpisode] = {}
        self._ended: list[CycleEpisode] = []

    def see(self, sightings: Iterable[CycleSighting]) -> None:
        for one in sightings:
            known = self._newest.get(one.number)
            if known is not None and one.time <= known.end + self._lifetime:
                self._newest[one.number] = self._gone_on(known, one)
                continue
            if known is not None:
                self._ended.append(known)
            begun = CycleEpisode(one.cycle, one.sighting_id, one.time, one.time, 1, one.net_bps, one.net_bps)
            self._newest[one.number] = self._sized(begun, one)

    def _gone_on(self, known: CycleEpisode, one: CycleSighting) -> CycleEpisode:
        later = replace(known, end=one.time, sightings=known.sightings + 1)
        if one.net_bps <= known.best_net_bps:
            return later
        later = replace(later, best_net_bps=one.net_bps)
        return later if known.sized is not None else self._sized(later, one)

    def _sized(self, episode: CycleEpisode, one: CycleSighting) -> CycleEpisode:
        found = self._sizer.sized(one)
        if isinstance(found, SizedCycle):
            return replace(episode, state=SIZED, sized=found, sized_at=one.time)
        return replace(episode, state=found)

    def in_order(self) -> tuple[CycleEpisode, ...]:
        every = (*self._ended, *self._newest.values())
        return tuple(sorted(every, key=lambda episode: (episode.start, episode.cycle.cycle_id)))


def _key(cycle: Cycle, number: int) -> tuple[str, str, Side]:
    leg = cycle.legs[number]
    return leg.market.exchange, leg.market.symbol, leg.side
