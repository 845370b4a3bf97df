"""Counts of what the kernel finds, without reading the rows that it was found in.

Messages repeat an id if an FX or settings row makes all pairs due again; counts are of distinct ids. As long as no
sequence of an exchange goes back, equal ids of one pair are next to each other, so remembering its last one is enough;
across the cuts between pieces the first and last ones of the runs tell. If one goes back, `is_regular` says so, and
counting uses the ids themselves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cep.detection.kernel.log import KernelLog, KernelResult, new_ids
from cep.detection.kernel.records import NONE, Doubles
from cep.detection.market_layout import Layout

Sequences = tuple[int, ...]
BITS = 1 << 64
MOST_STEPS = 100_000
"""Whole bps, up and down, up to which each has a place in an array."""


@dataclass(frozen=True, slots=True)
class FirstHit:
    """The first hit of a pair in one run: the sequences that its id is made of, and its net bps, floored."""

    sequences: Sequences
    net_bps: int


@dataclass(slots=True)
class RunCounts:
    """Counts of ids that are new in a run of consecutive row groups; pairs by their place in the layout."""

    base: str
    rows: int = 0
    messages: int = 0
    net_bits: int = 0
    """Sum over the messages of the bits of net bps, modulo BITS."""
    by_pair: Counter[int] = field(default_factory=Counter)
    net_bps: Counter[int] = field(default_factory=Counter)
    first: dict[int, FirstHit] = field(default_factory=dict)
    """Pair → its first hit."""
    last: dict[int, Sequences] = field(default_factory=dict)
    """Pair → the sequences of its last hit."""
    is_regular: bool = True
    first_sequences: Sequences = ()
    """The first sequence of each slot, then of each route; NONE if the run has none."""
    last_sequences: Sequences = ()
    sources: tuple[str | None, ...] = ()
    """Per route the exchange that its rates came from."""

    def follows(self, earlier: "RunCounts") -> bool:
        """Return whether no sequence goes back between the two, so that equal ids are next to each other."""
        before = zip(earlier.last_sequences, self.first_sequences, strict=True)
        rates = zip(earlier.sources, self.sources, strict=True)
        return all(NONE in pair or pair[0] <= pair[1] for pair in before) and all(
            None in pair or pair[0] == pair[1] for pair in rates
        )


class LogCounts:
    """Follows one base's log through one piece."""

    def __init__(self, base: str, log: KernelLog, layout: Layout) -> None:
        self._log = log
        self._counts = RunCounts(base)
        self._last = np.full((len(layout.pairs), 4), NONE - 1, dtype=np.int64)

    def add(self, rows: int, found: Iterable[KernelResult]) -> None:
        counts = self._counts
        counts.rows += rows
        for hits in (part.hits for part in found):
            counts.messages += len(hits)
            nets_bps = np.ascontiguousarray(hits["net_bps"])
            # numpy's integers wrap around by themselves
            bits = nets_bps.view(np.uint64).sum(dtype=np.uint64)
            counts.net_bits = (counts.net_bits + int(bits)) % BITS
            new = np.flatnonzero(new_ids(hits, self._last))
            pairs, floors = hits["pair"][new], np.floor(nets_bps[new])
            numbers = np.bincount(pairs)
            for pair in np.flatnonzero(numbers).tolist():
                counts.by_pair[pair] += int(numbers[pair])
                if pair not in counts.first:
                    place = int(np.argmax(pairs == pair))
                    counts.first[pair] = FirstHit(_sequences(hits[new[place]]), int(floors[place]))
            counts.net_bps.update(dict(_counted(floors)))

    def finished(self) -> RunCounts:
        counts, book = self._counts, self._log.book
        counts.last = {pair: tuple(self._last[pair].tolist()) for pair in counts.first}
        counts.is_regular = not book.rules["irregular"][0]
        counts.first_sequences = (*book.slots["first_sequence"].tolist(), *book.routes["first_sequence"].tolist())
        counts.last_sequences = (*book.slots["sequence"].tolist(), *book.routes["sequence"].tolist())
        counts.sources = self._log.sources
        return counts


def _counted(floors: Doubles) -> Iterator[tuple[int, int]]:
    """Return whole numbers, and how many there are of each."""
    if len(floors) and floors.min() > -MOST_STEPS and floors.max() < MOST_STEPS:
        least = int(floors.min())
        numbers = np.bincount((floors - least).astype(np.int64))
        found = np.flatnonzero(numbers)
        yield from zip((found + least).tolist(), numbers[found].tolist(), strict=True)
        return
    # as Python's integers they have no bound, and a price may be far from any other
    for floor, number in zip(*np.unique(floors, return_counts=True), strict=True):
        yield int(floor), int(number)


def _sequences(hit: np.void) -> Sequences:
    parts = ("buy_quote", "sell_quote", "buy_rate", "sell_rate")
    return tuple(int(hit[f"{part}_sequence"]) for part in parts)


@dataclass(slots=True)
class BaseCounts:
    """Runs of one base put together in the order of its log."""

    rows: int = 0
    messages: int = 0
    net_bits: int = 0
    """Sum over the messages of the bits of net bps, modulo BITS."""
    by_pair: Counter[int] = field(default_factory=Counter)
    net_bps: Counter[int] = field(default_factory=Counter)
    is_regular: bool = True
    _known: list[RunCounts] = field(default_factory=list)
    _last: dict[int, Sequences] = field(default_factory=dict)

    def add(self, run: RunCounts) -> None:
        self.is_regular &= run.is_regular and all(run.follows(earlier) for earlier in self._known)
        self._known = [*self._known, run]
        self.rows += run.rows
        self.messages += run.messages
        self.net_bits += run.net_bits
        self.by_pair.update(run.by_pair)
        self.net_bps.update(run.net_bps)
        for pair, first in run.first.items():
            if self._last.get(pair) == first.sequences:  # its id was counted in the run before
                self.by_pair[pair] -= 1
                self.net_bps[first.net_bps] -= 1
        self._last |= run.last
