"""What the parts of a running app share: the time of its log, which never goes back, and a list of what has state."""

import heapq
from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, ClassVar
from uuid import UUID, uuid5

NAMESPACE = UUID("9d1f6f0a-6c0e-4d0b-9f3b-1c9b8c2f7a55")
"""The namespace of the ids that an app makes: they follow from its log."""

Wake = Callable[[int, Any], None]
"""Called with the time that was due, and what the part gave with it."""
Wait = tuple[int, int, int, Any]
"""Due, number, rank of the part, what it gave."""
Forget = Callable[[range, int], None]
"""Takes the ranks of parts, and the time up to which they still get what they wait for."""


class Stateful:
    """A part whose state is in snapshots: the attributes named in `STATE`, with plain values and containers."""

    __slots__ = ()
    STATE: ClassVar[tuple[str, ...]] = ()

    def state(self) -> object:
        return tuple(getattr(self, name) for name in self.STATE)

    def restore(self, state: Any) -> None:
        for name, value in zip(self.STATE, state, strict=True):
            own = getattr(self, name)
            if isinstance(own, deque):
                # filled and not replaced: a generated function may hold it
                own.clear()
                own.extend(value)
            else:
                setattr(self, name, value)


class KeyedState(Stateful):
    """One that keeps something for each of very many keys, which is put away key by key."""

    changed: set[Hashable] | None = None
    """Keys that may have changed since somebody emptied it; None while nobody asks."""

    @property
    @abstractmethod
    def key_count(self) -> int: ...

    @abstractmethod
    def head(self) -> object:
        """Return what `restore` makes a part of that has no key, and else is this one."""

    @abstractmethod
    def keys(self) -> list[Hashable]: ...

    @abstractmethod
    def entry(self, key: Hashable) -> object | None:
        """Return what it keeps of a key; None if it has none."""

    @abstractmethod
    def put(self, entries: Sequence[tuple[Hashable, Any]]) -> None:
        """Take entries of keys, later ones in place of earlier ones; then `settle`."""

    @abstractmethod
    def settle(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Ending:
    """Parts that are being forgotten, and what they still wait for up to a time."""

    ranks: range
    until: int
    waits: list[Wait]


@dataclass(slots=True)
class _Turn:
    """In which parts are forgotten. `of_rank`: what each part waits for, from the first of them on."""

    of_rank: defaultdict[int, list[Wait]] | None = None
    gone: set[int] = field(default_factory=set)


class AppContext:
    """The context of one running app. Its clock moves with the log's rows.

    When a row moves the time past several waits, the parts are called in the order in which they were made, each with
    all of its times that are due, as in Siddhi: not in the order of those times. They see the new time.
    """

    def __init__(self, now: int = 0, variables: Mapping[str, str] | None = None) -> None:
        """`variables`: what its host says of where it runs."""
        self.now = now
        self.variables = dict(variables or {})
        self._waits: list[Wait] = []
        self.first_due: int | None = None
        """When the next part waits to be called; None if none does. Who sends rows looks at it for each."""
        self._number = 0
        self.ranks = 0
        """The rank of the newest part."""
        self._ids = 0
        self._parts: dict[int, Stateful] = {}
        self.owner = ""
        """What the parts that are made now belong to: a query, a table."""
        self._owners: dict[int, str] = {}
        self._wakes: dict[int, Wake] = {}
        self._ending: _Ending | None = None
        self._turn: _Turn | None = None
        self._replaced_after: int | None = None
        """Parts of later ranks are being made whose state comes next, and with it what they wait for."""
        self._calls: list[tuple[int, int, int, Any]] = []
        """What is due now: rank, due, number, what it gave."""

    def part(self) -> "PartContext":
        self.ranks += 1
        return PartContext(self, self.ranks)

    @contextmanager
    def forgetting(self) -> Iterator[Forget]:
        """Forget parts in one turn: all of it takes one look at what is waited for, however many parts it is of."""
        turn = self._turn = _Turn()
        try:
            yield partial(self._forget, turn)
        finally:
            gone, self._turn = turn.gone, None
            if gone:
                self._waits[:] = [wait for wait in self._waits if wait[2] not in gone]
                self._calls[:] = [call for call in self._calls if call[0] not in gone]
                heapq.heapify(self._waits)
                heapq.heapify(self._calls)
                self._note_due()

    def _forget(self, turn: _Turn, ranks: range, until: int) -> None:
        """Parts that are there no longer. What they wait for up to `until` comes first, in the order of its times; the
        rest goes with them."""
        if turn.of_rank is None:
            turn.of_rank = defaultdict(list)
            called = ((due, number, rank, what) for rank, due, number, what in self._calls)
            for wait in chain(self._waits, called):
                turn.of_rank[wait[2]].append(wait)
        ending = [wait for rank in ranks for wait in turn.of_rank.pop(rank, ()) if wait[0] <= until]
        heapq.heapify(ending)
        turn.gone.update(ranks)
        self._ending = _Ending(ranks, until, ending)
        while ending:
            due, _, rank, what = heapq.heappop(ending)
            if rank in self._wakes:
                self._wakes[rank](due, what)
        self._ending = None
        for rank in ranks:
            self._parts.pop(rank, None)
            self._owners.pop(rank, None)
            self._wakes.pop(rank, None)

    def keep(self, rank: int, part: Stateful, wake: Wake | None) -> None:
        self._parts[rank], self._owners[rank] = part, self.owner
        if wake is not None:
            self._wakes[rank] = wake

    def kept(self) -> Iterator[tuple[str, Stateful]]:
        """All parts with state, each with what it belongs to."""
        return ((self._owners[rank], part) for rank, part in self._parts.items())

    def wait(self, due: int, rank: int, what: Any) -> None:
        self._number += 1
        if self._replaced_after is not None and rank > self._replaced_after:
            return
        wait, ending = (due, self._number, rank, what), self._ending
        if ending is None or rank not in ending.ranks:
            heapq.heappush(self._waits, wait)
            self._note_due()
            if self._turn is not None and self._turn.of_rank is not None:
                self._turn.of_rank[rank].append(wait)
        elif due <= ending.until:
            heapq.heappush(ending.waits, wait)

    def next_id(self) -> str:
        """Return the next id of this log: the same each time it is run."""
        self._ids += 1
        return str(uuid5(NAMESPACE, str(self._ids)))

    def advance(self, at: int) -> None:
        """To `at`, with all that is due until then."""
        self.now = max(self.now, at)
        if self.first_due is not None and self.first_due <= self.now:
            self._wake_due()

    def _note_due(self) -> None:
        self.first_due = self._waits[0][0] if self._waits else None

    def parts(self) -> Iterator[tuple[int, Stateful]]:
        """All parts with state, by rank."""
        return iter(self._parts.items())

    def state(self, of_part: Callable[[Stateful], object]) -> object:
        parts = [(rank, of_part(part)) for rank, part in self._parts.items()]
        return self.now, self.ranks, self._number, self._ids, list(self._waits), parts

    def restore(self, state: Any) -> None:
        """Into an app that has the same parts as the one that the state is of."""
        self.now, self.ranks, self._number, self._ids, waits, parts = state
        self._waits[:] = waits
        self._note_due()
        for rank, of_part in parts:
            self._parts[rank].restore(of_part)

    def states_of(self, each: Iterable[range]) -> Iterator[object]:
        """Return the state of each of these ranges of parts, and what they wait for: in one look at all waits."""
        of_rank = defaultdict[int, list[Wait]](list)
        for wait in sorted(self._waits):
            of_rank[wait[2]].append(wait)
        for ranks in each:
            waits = [(due, rank - ranks.start, what) for rank in ranks for due, _, _, what in of_rank.get(rank, ())]
            yield waits, [(rank - ranks.start, self._parts[rank].state()) for rank in ranks if rank in self._parts]

    @contextmanager
    def to_be_restored(self) -> Iterator[None]:
        """Make parts for `restore_of`: what they wait for when they are made is left out."""
        self._replaced_after = self.ranks
        try:
            yield
        finally:
            self._replaced_after = None

    def restore_of(self, ranks: range, state: Any) -> None:
        """Into new parts of the same kind, made `to_be_restored`. What was due since is done now, before any row comes
        to them."""
        waits, parts = state
        for place, of_part in parts:
            self._parts[ranks.start + place].restore(of_part)
        for due, place, what in sorted(waits, key=lambda wait: (wait[1], wait[0])):
            rank = ranks.start + place
            if due <= self.now and rank in self._wakes:
                self._wakes[rank](due, what)
            else:
                self.wait(due, rank, what)

    def take_over(self, before: "AppContext", ranks: Sequence[tuple[range, range]]) -> None:
        """Go on where another app was: these parts of ours, the second ones, with what those of it, the first, have
        kept and wait for. To be called before any row."""
        self.now, self._ids = before.now, before._ids
        taken = {rank for _, own in ranks for rank in own}
        self._waits[:] = [wait for wait in self._waits if wait[2] not in taken]
        heapq.heapify(self._waits)
        self._note_due()
        for (_, own), state in zip(ranks, before.states_of([one for one, _ in ranks]), strict=True):
            self.restore_of(own, state)

    def _wake_due(self) -> None:
        self._collect(0)
        while self._calls:
            rank, due, _, what = heapq.heappop(self._calls)
            if rank in self._wakes:
                self._wakes[rank](due, what)
            self._collect(rank)

    def _collect(self, rank: int) -> None:
        """Collect what is due of parts that are not over yet; what an earlier part waits for now
        is due with the next row."""
        too_late = []
        while self._waits and self._waits[0][0] <= self.now:
            wait = heapq.heappop(self._waits)
            if wait[2] < rank:
                too_late.append(wait)
            else:
                heapq.heappush(self._calls, (wait[2], wait[0], wait[1], wait[3]))
        for wait in too_late:
            heapq.heappush(self._waits, wait)
        self._note_due()


@dataclass(frozen=True, slots=True)
class PartContext:
    """The app as one part of a query sees it."""

    app: AppContext
    rank: int

    @property
    def now(self) -> int:
        return self.app.now

    def keep(self, part: Stateful, wake: Wake | None = None) -> None:
        """`part` is the one that this was made for; `wake` is called at the times that it waits for."""
        self.app.keep(self.rank, part, wake)

    def wake_at(self, due: int, what: Any = None) -> None:
        """Call the part once the clock has reached `due`, before the row that moves it there."""
        self.app.wait(due, self.rank, what)

    def next_id(self) -> str:
        return self.app.next_id()

    def variable(self, name: str | None) -> str | None:
        """None if the host says nothing of it."""
        return None if name is None else self.app.variables.get(name)
