"""What waits in each part of a pattern's steps, and what a row or the clock does with it. Semantics are Siddhi 5.1's.

A stage has what waits for its row, and what arrived since: that waits once the stage's stream has its next row, in a
sequence with the next row of any stream. A partial match may wait in several stages: in both parts of `and` and `or`,
and in a step with a count and the one after it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import Row

Places = list[list[tuple[int, Row]]]
"""By step: the rows that it has so far, with their times."""
Passes = Callable[[Row, int, Row], bool]
"""Takes a row, its time and the places so far."""
NEVER = -1
NO_ROW: tuple[int, Row] = (NEVER, ())
"""In the place of `not`, if its time is over without a row."""


@dataclass(slots=True, eq=False)
class PartialMatch:
    places: Places
    at: int = NEVER
    """When it last went on."""
    is_over: bool = False
    """Whether it was late, and what it leaves room for was informed."""

    def values(self) -> Row:
        """As the generated Python reads it: each place's rows."""
        return tuple([tuple([row for _, row in rows]) for rows in self.places])

    def without(self, places: Iterable[int]) -> "PartialMatch":
        """Return a new one that has what this one has elsewhere."""
        left_out = frozenset(places)
        if len(left_out) == len(self.places):
            return PartialMatch([[] for _ in self.places], self.at)
        kept = [[] if place in left_out else list(rows) for place, rows in enumerate(self.places)]
        return PartialMatch(kept, self.at)


@dataclass(frozen=True, slots=True)
class Part:
    """One stream of a step: a step has two if they are joined by `and` or `or`."""

    place: int
    stream: str
    passes: Passes
    is_absent: bool = False
    looks_back: bool = True
    """Whether it passes depends on the places so far."""
    wait: int | None = None
    """For how long no row may come, if it is absent; None: until the other part's row."""
    source: str = "True"
    """The Python of `passes`."""


@dataclass(frozen=True, slots=True)
class StepsLimit:
    """`within` in parentheses. `places`: of the steps in them, from whose first row it counts; none: of one row alone,
    from the row before it."""

    milliseconds: int
    places: tuple[int, ...] = ()

    def is_over(self, match: PartialMatch, at: int) -> bool:
        if not self.places:
            return match.at != NEVER and at - match.at > self.milliseconds
        begun = [rows[0][0] for place in self.places if (rows := match.places[place]) and rows[0][0] != NEVER]
        return bool(begun) and at - min(begun) > self.milliseconds


@dataclass(slots=True)
class Shared:
    """What the stages of one pattern have together. `starts`: places of the first step, from whose rows `within` is
    counted; `finish` is given what is complete."""

    is_sequence: bool
    within: float
    starts: tuple[int, ...]
    places: int
    context: PartContext
    finish: Callable[[PartialMatch], None]

    def new_match(self) -> PartialMatch:
        return PartialMatch([[] for _ in range(self.places)])

    def is_late(self, match: PartialMatch, at: int) -> bool:
        for place in self.starts:
            rows = match.places[place]
            if rows and abs(at - rows[0][0]) > self.within:
                return True
        return False


class Stage:
    """One part of a step whose first row that passes completes it. What it is linked with is set by the pattern."""

    def __init__(self, shared: Shared, part: Part, number: int, *, is_start: bool) -> None:
        """Begin with `number`: its place among all stages, which is the order in which rows are offered, backwards."""
        self.shared, self.part, self.number, self.is_start = shared, part, number, is_start
        self.pending: list[PartialMatch] = []
        self.arriving: list[PartialMatch] = []
        self.is_begun = False
        self.next: Stage | None = None
        """The first stage of the step after it; None if it is the last."""
        self.restarts: tuple[Stage, ...] = ()
        """Where `every` lets a match begin again once this step is complete."""
        self.again: Stage | None = None
        """Where a late one makes room: the first stage of the `every` around it."""
        self.asks: CountedStage | None = None
        """A step ahead that needs no row, and begins again once this one had a row."""
        self.from_here: tuple[int, ...] = ()
        """The places of this stage and of those after it."""
        self.hears_all = False
        """Whether a row matters to it though nothing waits."""
        self.limits: tuple[StepsLimit, ...] = ()
        """Of the parentheses around its step."""
        self._newest, self._is_ordered = -math.inf, True

    def state(self) -> Any:
        # how late ones are looked for too: else one that goes on drops others if a row's time goes back
        return self.pending, self.arriving, self.is_begun, self._newest, self._is_ordered

    def restore(self, state: Any) -> None:
        self.pending, self.arriving, self.is_begun, self._newest, self._is_ordered = state

    def start(self) -> None:
        """Once all stages are there."""
        self.begin()

    def begin(self) -> None:
        """Have a match that has nothing yet wait at the pattern's start, once or, with `every`, each time."""
        if not self.is_start:
            return
        comes_again = self.shared.is_sequence and self.next is not None and self.next.part.is_absent
        if not self.is_begun or self.restarts or comes_again:
            self.add(self.shared.new_match())
            self.is_begun = True

    def add(self, match: PartialMatch) -> None:
        """From the step before. In a sequence one waits at a time."""
        if not self.shared.is_sequence or not self.arriving:
            self.append(match)

    def append(self, match: PartialMatch) -> None:
        self.arriving.append(match)
        rows = match.places[self.shared.starts[0]]
        if rows and rows[0][0] >= self._newest and len(self.shared.starts) == 1:
            self._newest = rows[0][0]
        else:
            self._is_ordered = False

    def add_again(self, match: PartialMatch) -> None:
        """As `every` says: what was complete, or late, without what it has from here on."""
        self.append(match.without(self.from_here))

    def reset(self) -> None:
        """In a sequence every row must be the next one: what did not go on with the last row is over."""
        self.pending = []
        if self.is_start and not self.arriving and not self._waits_elsewhere():
            self.begin()

    def _waits_elsewhere(self) -> bool:
        """Tell if a sequence that is to be found once waits elsewhere."""
        return not self.restarts and self.next is not None and bool(self.next.pending)

    def let_arrive(self) -> None:
        if not self.arriving:
            return
        if len(self.arriving) > 1:
            # the oldest first; what has nothing yet at the end
            self.arriving.sort(key=_when)
        self.pending += self.arriving
        self.arriving = []
        self._newest, self._is_ordered = -math.inf, True

    def arrives(self, at: int) -> bool:
        """Let what arrived wait, if it is clear that none of it is late; return whether it was. There is something."""
        if not self._is_ordered or self.shared.is_late(self.arriving[0], at):
            return False
        self.let_arrive()
        return True

    def expire(self, at: int) -> None:
        """Drop what is late; the last of it makes room for a new one under `every`."""
        pending, arriving, is_late = self.pending, self.arriving, self.shared.is_late
        late = self._dropped(pending, at) if pending and is_late(pending[0], at) else None
        if self._is_ordered:
            if arriving and is_late(arriving[0], at):
                late = self._dropped(arriving, at) or late
        else:
            are_late = [self.shared.is_late(match, at) for match in self.arriving]
            if any(are_late):
                both = list(zip(self.arriving, are_late, strict=True))
                self.arriving = [match for match, is_late in both if not is_late]
                late = _newly_over([match for match, is_late in both if is_late]) or late
        if late is not None and self.again is not None:
            self.again.add_again(late)
            self.again.let_arrive()

    def expire_in_parentheses(self, at: int) -> None:
        """Drop what can no longer leave its parentheses in time. As `expire`, but each is looked at: what waits is in
        the order of the pattern's own beginning."""
        late = [match for match in (*self.pending, *self.arriving) if self._is_late_in_parentheses(match, at)]
        if not late:
            return
        gone = set(late)
        self.pending = [match for match in self.pending if match not in gone]
        self.arriving = [match for match in self.arriving if match not in gone]
        last = _newly_over([match for match in late if not self._has_left(match)])
        if last is not None and self.again is not None:
            self.again.add_again(last)
            self.again.let_arrive()

    def _is_late_in_parentheses(self, match: PartialMatch, at: int) -> bool:
        return any(limit.is_over(match, at) for limit in self.limits)

    def _is_late(self, match: PartialMatch, at: int) -> bool:
        return self.shared.is_late(match, at) or self._is_late_in_parentheses(match, at)

    def _has_left(self, _match: PartialMatch) -> bool:
        """Whether the step is complete, and the match waits here for more of it alone."""
        return False

    def _dropped(self, matches: list[PartialMatch], at: int) -> PartialMatch | None:
        """From the front, up to the first that is in time."""
        count = 0
        for match in matches:
            if not self.shared.is_late(match, at):
                break
            count += 1
        if not count:
            return None
        gone = matches[:count]
        del matches[:count]
        return _newly_over(gone)

    def take(self, at: int, row: Row) -> None:
        passed = self._passing(at, row)
        if self.shared.is_sequence and self.pending:
            self.pending = []
            self._had_a_row()
        for match in passed:
            match.places[self.part.place] = [(at, row)]
            self.go_on(match, at)

    @property
    def test(self) -> Passes | None:
        """Return what decides alone whether a row matters, for all that waits: None if more does."""
        is_plain = type(self) is Stage and not self.shared.is_sequence and not self.part.looks_back
        return self.part.passes if is_plain else None

    def take_passing(self, at: int, row: Row) -> None:
        """As `take`, of a row for which `test` holds."""
        passed, self.pending = self.pending, []
        for match in passed:
            match.places[self.part.place] = [(at, row)]
            self.go_on(match, at)

    def _passing(self, at: int, row: Row) -> list[PartialMatch]:
        """Return what the row passes for, which waits no longer. Nothing has changed if a condition fails."""
        pending, part = self.pending, self.part
        if not part.looks_back:
            if not part.passes(row, at, ()):
                return []
            self.pending = []
            return pending
        hits = [part.passes(row, at, match.values()) for match in pending]
        if not any(hits):
            return []
        self.pending = [match for match, hit in zip(pending, hits, strict=True) if not hit]
        return [match for match, hit in zip(pending, hits, strict=True) if hit]

    def _had_a_row(self) -> None:
        if self.asks is not None:
            self.asks.is_asked = True

    def go_on(self, match: PartialMatch, at: int) -> None:
        """Go on, as the step is complete."""
        match.at = at
        self.complete(match)
        self._had_a_row()

    def complete(self, match: PartialMatch) -> None:
        if self.next is None:
            self.shared.finish(match)
        else:
            self.next.add(match)
        for first in self.restarts:
            first.add_again(match)


def _when(match: PartialMatch) -> float:
    return math.inf if match.at == NEVER else match.at


def _newly_over(gone: list[PartialMatch]) -> PartialMatch | None:
    """Return the last of those that nobody has heard of."""
    last = None
    for match in gone:
        if not match.is_over:
            match.is_over, last = True, match
    return last


class CountedStage(Stage):
    """A step of `least` to `most` rows. From the least on the match waits in the next step too; here it takes no more
    rows once a later step had one."""

    def __init__(
        self, shared: Shared, part: Part, number: int, *, is_start: bool, least: int, most: int | None
    ) -> None:
        super().__init__(shared, part, number, is_start=is_start)
        self._least, self._most = least, most
        self.is_asked = False
        self.later: tuple[int, ...] = ()
        """The places of the two stages after it."""

    def state(self) -> Any:
        return super().state(), self.is_asked

    def restore(self, state: Any) -> None:
        of_stage, self.is_asked = state
        super().restore(of_stage)

    def add(self, match: PartialMatch) -> None:
        super().add(match)
        if self._least == 0 and not match.places[self.part.place] and not (self.is_start and self.next is None):
            self.complete(match)

    def _has_left(self, match: PartialMatch) -> bool:
        return len(match.places[self.part.place]) >= self._least

    def let_arrive(self) -> None:
        if self.is_asked:
            self.is_asked = False
            self.begin()
        super().let_arrive()

    def take(self, at: int, row: Row) -> None:
        part, place = self.part, self.part.place
        waiting = [match for match in self.pending if not any(match.places[later] for later in self.later)]
        hits = [part.passes(row, at, match.values() if part.looks_back else ()) for match in waiting]
        self.pending = []
        for match, hit in zip(waiting, hits, strict=True):
            if hit:
                match.places[place].append((at, row))
                match.at = at
                self._counted(match, len(match.places[place]))
            elif not self.shared.is_sequence:
                self.pending.append(match)

    def _counted(self, match: PartialMatch, count: int) -> None:
        if self.shared.is_sequence:
            if count >= self._least:
                self._goes_on_in_sequence(match)
            if count != self._most:
                self.add(match)
            return
        if count == self._least:
            self.complete(match)
        if count != self._most and not (count == self._least and self.next is None):
            self.pending.append(match)

    def _goes_on_in_sequence(self, match: PartialMatch) -> None:
        if self.next is not None:
            self.next.add(match)
        elif self._least > 0:
            self.shared.finish(match)


class LogicalStage(Stage):
    """One of two parts that are joined by `and` or `or`. A match waits in both, and has the rows of both."""

    partner: "LogicalStage"

    def __init__(self, shared: Shared, part: Part, number: int, *, is_start: bool, operator: Literal["and", "or"]):
        super().__init__(shared, part, number, is_start=is_start)
        self.is_or = operator == "or"

    def add(self, match: PartialMatch) -> None:
        one_at_a_time = self.is_start or self.shared.is_sequence
        for stage in (self, self.partner):
            if not one_at_a_time or not stage.arriving:
                stage.append(match)

    def add_again(self, match: PartialMatch) -> None:
        new = match.without((*self.from_here, self.partner.part.place))
        self.append(new)
        self.partner.append(new)

    def reset(self) -> None:
        # one that has the row of a part waits for that of the other
        if not self.is_or and len(self.pending) != len(self.partner.pending):
            return
        self.partner.pending = []
        super().reset()

    def let_arrive(self) -> None:
        super().let_arrive()
        Stage.let_arrive(self.partner)

    def take(self, at: int, row: Row) -> None:
        partner = self.partner.part.place
        if self.is_or:
            self.pending = [match for match in self.pending if not match.places[partner]]
        passed = self._passing(at, row)
        if self.shared.is_sequence:
            self.pending = []
        gone = set[PartialMatch]()
        for match in passed:
            match.places[self.part.place] = [(at, row)]
            if self.is_or or self.partner.lets_go(match):
                self.go_on(match, at)
                gone.add(match)
            elif not self.partner.may_let_go:
                gone.add(match)
        self.partner.forget(gone)

    @property
    def may_let_go(self) -> bool:
        """Whether a match that this part keeps back now may go on later."""
        return True

    def forget(self, gone: set[PartialMatch]) -> None:
        """Forget what went on by the other part, or no longer can. Siddhi leaves it here until this part's next
        row, which may be never, or until `within` is over: then `every` begins once more for each, and matches are
        found ever more often."""
        if gone:
            self.pending = [match for match in self.pending if match not in gone]
            self.arriving = [match for match in self.arriving if match not in gone]

    def lets_go(self, match: PartialMatch) -> bool:
        """Whether this part has what a match needs of it, so that the other part's row completes the step."""
        return bool(match.places[self.part.place])
