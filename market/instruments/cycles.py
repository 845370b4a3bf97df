"""Cycles: paths of three to five markets from a currency back to itself, within one exchange or over several. Pure.

Each currency is on the path once, so each market is too: a path that passes a currency twice is two cycles, each of
which pays more by itself. Nothing is transferred: what a leg gives at another exchange than the leg before it must be
held there.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from market.instruments.assets import is_currency
from market.instruments.contracts import kind_of
from market.instruments.markets import Market
from market.instruments.orders import Side

FEWEST_LEGS, MOST_LEGS = 3, 5
MOST_CYCLES = 2_000
"""Those of fewer legs first: each leg costs a fee, and each market more has to agree at one moment."""


Reach = Literal["within", "across"]
"""Whether all legs of a cycle are at one exchange."""
REACHES: tuple[Reach, ...] = get_args(Reach)


@dataclass(frozen=True, slots=True)
class CycleLeg:
    """One order of a cycle: what it gives becomes what it brings."""

    market: Market
    side: Side

    @property
    def gives(self) -> str:
        return self.market.quote_currency if self.side == "buy" else self.market.base

    @property
    def brings(self) -> str:
        return self.market.base if self.side == "buy" else self.market.quote_currency

    @property
    def name(self) -> str:
        return f"{self.side} {self.market.symbol} at {self.market.exchange}"


@dataclass(frozen=True, slots=True)
class Cycle:
    """The legs in order; the first gives the currency that the profit is counted in, and the last brings it."""

    legs: tuple[CycleLeg, ...]

    @property
    def cycle_id(self) -> str:
        """Return its name: the same for the same markets and direction, whatever else is traded."""
        return ">".join(f"{leg.market.exchange}:{leg.market.symbol}:{leg.side}" for leg in self.legs)

    @property
    def currency(self) -> str:
        return self.legs[0].gives

    @property
    def exchanges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(leg.market.exchange for leg in self.legs))

    @property
    def reach(self) -> Reach:
        return "within" if len(self.exchanges) == 1 else "across"

    @property
    def needs(self) -> tuple[tuple[str, str], ...]:
        """Return (exchange, currency) of each balance without which it cannot be traded; the proceeds of the leg before
        are the others."""
        return tuple(
            (leg.market.exchange, leg.gives)
            for number, leg in enumerate(self.legs)
            if number == 0 or self.legs[number - 1].market.exchange != leg.market.exchange
        )

    @property
    def words(self) -> str:
        return ", ".join(leg.name for leg in self.legs)


@dataclass(frozen=True, slots=True)
class CycleTerms:
    """Which cycles are looked for: at most `max_legs`, within each of some exchanges, and over several of some."""

    max_legs: int
    within: frozenset[str]
    across: frozenset[str]


@dataclass(frozen=True, slots=True)
class WatchedCycles:
    """The cycles, shortest first, then by their names; `reasons`: sentences that say why there are no others."""

    cycles: tuple[Cycle, ...]
    reasons: tuple[str, ...]


def watched_cycles(
    markets: Iterable[Market],
    terms: CycleTerms,
    settlement: str,
    fees: Collection[str],
    held: Mapping[str, Collection[str]] | None = None,
) -> WatchedCycles:
    """Return at most MOST_CYCLES. `fees`: exchanges of which the taker fee is known; `held`: exchange → the currencies
    of its account, None if that is not known."""
    usable, reasons = _usable(markets, fees)
    found = list(islice(_cycles(usable, terms, settlement), MOST_CYCLES + 1))
    if len(found) > MOST_CYCLES:
        reasons.append(
            f"only the first {MOST_CYCLES} cycles are watched, those of fewest legs; name fewer exchanges in [cycles], "
            "or a lower max_legs, to choose them yourself"
        )
    reasons += _without_any(usable, terms, found)
    kept, lacking = _with_balances(found[:MOST_CYCLES], held)
    ordered = sorted(kept, key=lambda cycle: (len(cycle.legs), cycle.cycle_id))
    return WatchedCycles(tuple(ordered), (*reasons, *lacking))


def session_cycles(markets: Collection[Market], terms: CycleTerms | None, settlement: str) -> tuple[Cycle, ...]:
    """Return those that a session of these markets watches, the same in each process and in a verification: fees and
    balances change, and have no part in it."""
    if terms is None:
        return ()
    return watched_cycles(markets, terms, settlement, {market.exchange for market in markets}).cycles


def _usable(markets: Iterable[Market], fees: Collection[str]) -> tuple[list[Market], list[str]]:
    """Return spot markets of known fees, by exchange and symbol, and a sentence for each of the others."""
    usable: list[Market] = []
    reasons: list[str] = []
    for market in sorted(set(markets), key=lambda one: (one.exchange, one.symbol)):
        if kind_of(market.symbol) != "spot" or market.contract is not None:
            reasons.append(
                f"{market.exchange} {market.symbol} is in no cycle: it trades contracts, which bring no coin"
            )
        elif market.exchange not in fees:
            reasons.append(f"{market.exchange} {market.symbol} is in no cycle: the taker fee there is not known")
        else:
            usable.append(market)
    return usable, reasons


def _cycles(markets: Sequence[Market], terms: CycleTerms, settlement: str) -> Iterator[Cycle]:
    """Return each cycle once, those of fewer legs first, beginning with its currency that comes first in `ranks`."""
    legs: dict[str, list[CycleLeg]] = {}
    for market in markets:
        for side in ("buy", "sell"):
            leg = CycleLeg(market, "buy" if side == "buy" else "sell")
            legs.setdefault(leg.gives, []).append(leg)
    in_order = sorted(legs, key=lambda code: (code != settlement, not is_currency(code), code))
    ranks = {code: rank for rank, code in enumerate(in_order)}
    for length in range(FEWEST_LEGS, terms.max_legs + 1):
        for start in in_order:
            search = _Search(legs, terms, ranks, start, _distances(legs, start))
            yield from search.paths((), length)


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for the cycles that begin with `start`."""

    legs: Mapping[str, Sequence[CycleLeg]]
    terms: CycleTerms
    ranks: Mapping[str, int]
    start: str
    distances: Mapping[str, int]
    """Currency → how many markets it is from `start` at least."""

    def paths(self, path: tuple[CycleLeg, ...], left: int) -> Iterator[Cycle]:
        """Return the cycles that begin with `path` and have `left` legs more."""
        at = path[-1].brings if path else self.start
        for leg in self.legs[at]:
            longer = (*path, leg)
            if leg.brings == self.start:
                if left == 1 and self._is_wanted(longer):
                    yield Cycle(longer)
            elif left > 1 and self._may_go_on(longer, left - 1):
                yield from self.paths(longer, left - 1)

    def _may_go_on(self, path: tuple[CycleLeg, ...], left: int) -> bool:
        at = path[-1].brings
        if self.ranks[at] < self.ranks[self.start] or self.distances[at] > left:
            return False
        if any(leg.gives == at for leg in path):
            return False
        exchanges = {leg.market.exchange for leg in path}
        return exchanges <= self.terms.across or (len(exchanges) == 1 and exchanges <= self.terms.within)

    def _is_wanted(self, path: tuple[CycleLeg, ...]) -> bool:
        exchanges = {leg.market.exchange for leg in path}
        return exchanges <= (self.terms.within if len(exchanges) == 1 else self.terms.across)


def _distances(legs: Mapping[str, Sequence[CycleLeg]], start: str) -> dict[str, int]:
    """Return how many markets each currency is from `start`; one that none joins with it is as far as no path goes."""
    distances = dict.fromkeys(legs, MOST_LEGS + 1) | {start: 0}
    ahead = deque([start])
    while ahead:
        at = ahead.popleft()
        for leg in legs[at]:
            if distances[leg.brings] > distances[at] + 1:
                distances[leg.brings] = distances[at] + 1
                ahead.append(leg.brings)
    return distances


def _without_any(markets: Sequence[Market], terms: CycleTerms, found: Sequence[Cycle]) -> Iterator[str]:
    """Return a sentence for each exchange, and for all together, of which no cycle was found."""
    if len(found) > MOST_CYCLES:
        return
    for exchange in sorted(terms.within):
        if not any(cycle.exchanges == (exchange,) for cycle in found):
            symbols = [market.symbol for market in markets if market.exchange == exchange]
            listed = ", ".join(symbols) or "no market"
            yield f"there is no cycle of at most {terms.max_legs} legs within {exchange}: it has {listed} alone"
    if terms.across and not any(len(cycle.exchanges) > 1 for cycle in found):
        names = ", ".join(sorted(terms.across))
        yield f"there is no cycle of at most {terms.max_legs} legs over several of {names}: a cross market is missing"


def _with_balances(found: Iterable[Cycle], held: Mapping[str, Collection[str]] | None) -> tuple[list[Cycle], list[str]]:
    """Return the cycles of which every balance needed is held, and a sentence for each that is not."""
    kept: list[Cycle] = []
    lacking: Counter[tuple[str, str]] = Counter()
    for cycle in found:
        missing = [] if held is None else [need for need in cycle.needs if need[1] not in held.get(need[0], ())]
        lacking.update(missing)
        if not missing:
            kept.append(cycle)
    return kept, [
        f"{count} {'cycle needs' if count == 1 else 'cycles need'} {currency} at {exchange}, where none is held"
        for (exchange, currency), count in sorted(lacking.items())
    ]
