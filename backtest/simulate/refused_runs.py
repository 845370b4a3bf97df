"""Whole runs of sightings that the bots refuse for certain, seen as columns: most of what a backtest meets.

`StandingRefusals` says of one sighting after the other what refuses it as long as nothing happens. Here the same is
asked of columns; the first sighting of which it is not certain ends the run, and the bots decide on it.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from backtest.detect.sighting_windows import Doubles, Flags, Integers, ShownColumns, SightingWindow
from backtest.simulate.seen_spreads import RefusedSightings, SpreadStatistics
from backtest.simulate.simulated_bots import SimulatedBots
from backtest.simulate.standing_refusals import BELOW_THRESHOLD, TOO_SMALL, Standing
from market.decide.quarantine import usual_up_to_bps
from market.decide.risk_checks import CLOCKS_MAY_DIFFER
from market.decide.settings import Settings
from market.decide.standing_shortage import MARGIN, StandingShortage
from market.prices.episodes import MarketPair

FEWEST, MOST = 32, 16_384
"""Sightings that are looked at at once: the more, the longer the run was so far."""
BELOW, STANDING, SMALL, UNKNOWN = range(4)
WORTH = 8
"""A run with fewer sightings, or fewer of a pair, costs more than it saves; then as many as a run may have at least
are decided one by one."""


@dataclass(slots=True, eq=False)
class _Pair:
    """The sightings of one pair in a run."""

    pair: MarketPair
    places: Integers
    """Their places in the window."""
    codes: Integers
    """Why each is refused: a place in `reasons`, or UNKNOWN."""
    reasons: tuple[str, str, str]
    misses_nothing: bool
    """Whether those that are not refused for the first reason miss nothing."""


class RefusedRuns:
    """Passes over runs of the windows of one backtest."""

    def __init__(self, bots: SimulatedBots, spreads: SpreadStatistics, decision: int) -> None:
        """Take `decision`: from an event to the bots' decision, microseconds."""
        self._bots = bots
        self._spreads = spreads
        self._decision = decision
        self._size = FEWEST
        self._alone = 0
        """How many sightings are to be decided one by one before the next run is tried."""
        self._checked: tuple[SightingWindow, Settings] | None = None
        self._is_open: Flags = np.empty(0, dtype=np.bool_)
        """Of the window and settings that were checked: whether nothing but a pair's standing refusal is looked at."""
        self._passes: Flags = np.empty(0, dtype=np.bool_)
        self._used: tuple[SightingWindow, frozenset[str], Flags] | None = None

    def passed(self, window: SightingWindow, start: int, next_event: int | None) -> int:
        """Count the run that begins at `start`, before the next event happens. Returns how many sightings it has."""
        if self._alone:
            self._alone -= 1
            return 0
        end = min(start + self._size, len(window), self._until(window, next_event))
        count = self._run(window, start, end) if end > start else 0
        if count == self._size:
            self._size = min(2 * self._size, MOST)
        elif start + count < len(window):
            self._size = FEWEST
            self._alone = 0 if count >= WORTH else FEWEST
        return count

    def _until(self, window: SightingWindow, next_event: int | None) -> int:
        if next_event is None:
            return len(window)
        return int(np.searchsorted(window.figures.times, next_event - self._decision))

    def _run(self, window: SightingWindow, start: int, end: int) -> int:
        self._check(window)
        codes = window.figures.codes[start:end]
        used = np.flatnonzero(np.bincount(codes)).tolist()
        if len(used) * WORTH > end - start:
            return 0
        is_refused = np.zeros(end - start, dtype=np.bool_)
        pairs: list[_Pair] = []
        for code in used:
            places = start + np.flatnonzero(codes == code)
            pair = self._of_pair(window, window.pairs[code], places)
            if pair is not None:
                is_refused[places - start] = pair.codes != UNKNOWN
                pairs.append(pair)
        count = len(is_refused) if is_refused.all() else int(np.argmin(is_refused))
        for pair in pairs if count else ():
            self._see(window, pair, int(np.searchsorted(pair.places, start + count)))
        return count

    def _check(self, window: SightingWindow) -> None:
        """Look at what does not depend on the pair."""
        settings = self._bots.cache.settings
        if self._checked is not None and self._checked[0] is window and self._checked[1] is settings:
            return
        self._checked = window, settings
        figures, since = window.figures, self._decision
        self._is_open = figures.times + since < figures.expires
        if settings.min_share_above_10s > 0:
            self._is_open &= False
        if settings.quarantine_deviations > 0:
            # earlier spreads are looked at
            self._is_open &= figures.net_bps <= settings.quarantine_floor_bps
        asks, bids = window.books
        self._passes = asks.is_sound & bids.is_sound & (figures.net_bps <= usual_up_to_bps(settings))
        oldest, newest = (
            np.maximum(figures.buy_ages, figures.sell_ages),
            np.minimum(figures.buy_ages, figures.sell_ages),
        )
        self._passes &= oldest + max(0, since) <= settings.max_quote_age_ms * 1_000
        self._passes &= -np.minimum(0, newest) <= since + CLOCKS_MAY_DIFFER

    def _of_pair(self, window: SightingWindow, pair: MarketPair, places: Integers) -> _Pair | None:
        """Return what refuses the pair's sightings; None if nothing is certain."""
        threshold, is_let_through, standing = self._bots.refusals.of_pair(pair)
        net_bps = window.figures.net_bps[places]
        # between both, it depends on what lies where
        is_below = net_bps < threshold - self._bots.cache.settings.rebalancing_bps
        if standing is None and not (is_let_through and is_below.any()):
            return None
        codes = np.where(is_below, BELOW if is_let_through else UNKNOWN, UNKNOWN)
        if standing is not None:
            may_stand = (net_bps >= threshold) & self._passes[places]
            codes = np.where(may_stand, self._standing(window, standing, places), codes)
        codes = np.where(self._is_open[places], codes, UNKNOWN)
        reason, misses_nothing = (None, False) if standing is None else (standing.reason, standing.misses_nothing)
        return _Pair(pair, places, codes, (BELOW_THRESHOLD, reason or "", TOO_SMALL), misses_nothing)

    def _standing(self, window: SightingWindow, standing: Standing, places: Integers) -> Integers:
        """Return what of a standing refusal holds, if no earlier check refuses."""
        figures = window.figures
        is_in_time = figures.times[places] + self._decision < standing.until
        shortage = standing.shortage
        if shortage is None or not is_in_time.any():
            return np.where(is_in_time, STANDING, UNKNOWN)
        asks, bids = (side.taken(places) for side in window.books)
        is_short, is_small = _shortages(shortage, asks, bids)
        used_up = self._bots.cache.used_up
        is_unused = ~self._uses(window, frozenset(used_up))[places] if used_up else True
        codes = np.where(is_short, STANDING, np.where(is_small, SMALL, UNKNOWN))
        return np.where(is_in_time & ~figures.has_rates[places] & is_unused, codes, UNKNOWN)

    def _uses(self, window: SightingWindow, ids: frozenset[str]) -> Flags:
        """Return which sightings of the window are made from one of these quotes."""
        if self._used is None or self._used[0] is not window or self._used[1] != ids:
            self._used = window, ids, window.uses(ids)
        return self._used[2]

    def _see(self, window: SightingWindow, pair: _Pair, count: int) -> None:
        """Count the first sightings of the pair as seen and refused."""
        if not count:
            return
        places, codes = pair.places[:count], pair.codes[:count]
        for reason, number in zip(pair.reasons, np.bincount(codes, minlength=UNKNOWN).tolist(), strict=True):
            self._bots.rejections.count(reason, number)
        refused = RefusedSightings(
            window=window,
            pair=pair.pair,
            places=places,
            reasons=pair.reasons,
            codes=codes,
            is_nothing=(codes != BELOW) if pair.misses_nothing else np.zeros(count, dtype=np.bool_),
            most=lambda wanted: self._most(window, wanted),
            tradable=lambda place: self._tradable(window, place),
        )
        self._spreads.see_refused(refused)

    def _tradable(self, window: SightingWindow, place: int) -> Decimal:
        return self._bots.tradable_at(window.sighting(place), int(window.figures.times[place]) + self._decision)

    def _most(self, window: SightingWindow, places: Integers) -> Doubles:
        """Return what one trade could have had at most, of sightings of one pair, as `tradable_profit` works it out."""
        bounds = self._bots.bounds(window.sighting(int(places[0])).opportunity)
        asks, bids = (side.taken(places) for side in window.books)
        figures = window.figures
        shown = np.minimum(asks.amount, bids.amount)
        most = shown
        if bounds.notional is not None:
            dearer = np.maximum(figures.buy_prices[places], figures.sell_prices[places])
            most = np.minimum(most, float(bounds.notional) / dearer)
        if bounds.quote is not None:
            most = np.minimum(most, float(bounds.quote) / asks.price)
        if bounds.base is not None:
            most = np.minimum(most, float(bounds.base))
        return np.where(shown > 0, figures.profits[places] * (most / shown), 0.0)


def _shortages(shortage: StandingShortage, asks: ShownColumns, bids: ShownColumns) -> tuple[Flags, Flags]:
    """Return of which `StandingShortage.holds`, and `is_small`: the same doubles in the same order."""
    pays = (shortage.ask_low < asks.price) & (asks.price < shortage.ask_high)
    pays &= (shortage.bid_low < bids.last) & (bids.price < shortage.bid_high)
    pays &= bids.price * shortage.received > asks.price * shortage.required * MARGIN
    is_short = pays & (asks.amount > shortage.ask_amount) & (bids.amount > shortage.bid_amount)
    is_small = (asks.last == asks.price) & (asks.amount < shortage.small_ask)
    is_small |= (bids.last == bids.price) & (bids.amount < shortage.small_bid)
    return is_short, pays & is_small
