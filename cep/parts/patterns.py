"""Patterns and sequences: partial matches move from step to step. Semantics are Siddhi 5.1's.

A row is offered to the steps from the last to the first, so that it fills one place of a partial match at most. In a
sequence every row of its streams must be the next step's: a partial match that it does not extend is over.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from cep.parts.app_context import PartContext, Stateful
from cep.parts.chunks import CURRENT, Chunk, Receiver, Row, RowTaker

Places = list[list[tuple[int, Row]]]
"""Of each step's place: the rows that it has so far, with their times."""
Passes = Callable[[Row, int, Row], bool]
"""Of a row, its time and the places so far."""


@dataclass(slots=True, eq=False)
class PartialMatch:
    places: Places
    at: int
    """When it last went on."""
    quiet: set[int] = field(default_factory=set)
    """Places of `not` whose time is over."""
    appeared: set[int] = field(default_factory=set)
    """Places of `not` whose row came."""
    began: int | None = None
    """The time of its first row."""

    def values(self) -> Row:
        """As the generated Python reads it: each place's rows."""
        return tuple(tuple(row for _, row in rows) for rows in self.places)

    def without(self, first: int) -> "PartialMatch":
        """A new one that has what this one has before that place."""
        if first == 0:
            return PartialMatch([[] for _ in self.places], self.at)
        places = [list(rows) if place < first else [] for place, rows in enumerate(self.places)]
        return PartialMatch(places, self.at, began=next((rows[0][0] for rows in places if rows), None))


@dataclass(frozen=True, slots=True)
class Part:
    """One stream of a step: a step has two where they are joined by `and` or `or`."""

    place: int
    stream: str
    passes: Passes
    is_absent: bool = False
    looks_back: bool = True
    """Whether it passes depends on the places so far."""
    wait: int | None = None
    """For how long no row may come, where it is absent; None: until the other part's row."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """`restarts`: steps that begin again once this one is complete, as `every` says."""

    parts: tuple[Part, ...]
    operator: Literal["and", "or"] = "and"
    least: int = 1
    most: int | None = 1
    is_counted: bool = False
    restarts: tuple[int, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the first row that passes completes it."""
        return len(self.parts) == 1 and not self.is_counted and not self.parts[0].is_absent


@dataclass(frozen=True, slots=True)
class PatternPlan:
    kind: Literal["pattern", "sequence"]
    steps: tuple[StepPlan, ...]
    places: int
    within: int | None
    starts_always: bool
    """Whether the first step is under `every`."""

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._read))

    @property
    def shared(self) -> frozenset[str]:
        """Streams that several steps read."""
        return frozenset(stream for stream, count in Counter(self._read).items() if count > 1)

    @property
    def _read(self) -> list[str]:
        return [part.stream for step in self.steps for part in step.parts]


@dataclass(slots=True)
class _Step:
    plan: StepPlan
    waiting: list[PartialMatch] = field(default_factory=list)
    arriving: list[PartialMatch] = field(default_factory=list)
    """Wait from the next row on."""
    oldest: float = math.inf
    """No match of a plain step began before, so nothing is looked for that is late."""
    is_plain: bool = False
    place: int = 0
    """The first one of its parts."""


_Offer = tuple[int, _Step, Part]
"""To which step, its number first, and as which of its parts a row is offered."""


class Pattern(Stateful):
    """The partial matches of one pattern or sequence."""

    def __init__(self, plan: PatternPlan, context: PartContext, emit: Receiver) -> None:
        """`emit` is given the matches that a step completes with one row, as a chunk."""
        self._plan, self._context, self._emit = plan, context, emit
        self._steps = [
            _Step(step, is_plain=step.is_plain, place=min(part.place for part in step.parts)) for step in plan.steps
        ]
        self._parts = {part.place: (number, part) for number, step in enumerate(plan.steps) for part in step.parts}
        self._out: Chunk = []
        self._shared = plan.shared
        has_long_every = any(first < last for last, step in enumerate(plan.steps) for first in step.restarts)
        self._begins_again = plan.within is not None and (plan.kind == "sequence" or has_long_every)
        self._begins_always = self._begins_again or plan.kind == "sequence"
        self._within = math.inf if plan.within is None else plan.within
        self._has_arrived = False
        context.keep(self, self._time_over)
        self._arrive(0, self._start(context.now))

    @property
    def partial_matches(self) -> int:
        """How many wait."""
        return sum(len(step.waiting) + len(step.arriving) for step in self._steps)

    def state(self) -> object:
        return [(step.waiting, step.arriving) for step in self._steps]

    def restore(self, state: Any) -> None:
        self._has_arrived = True
        for step, (waiting, arriving) in zip(self._steps, state, strict=True):
            step.waiting, step.arriving, step.oldest = waiting, arriving, -math.inf

    def _start(self, at: int) -> PartialMatch:
        return PartialMatch([[] for _ in range(self._plan.places)], at)

    def taker(self, stream: str) -> RowTaker:
        return partial(self._take, self._offers(stream), stream in self._shared)

    def receiver(self, stream: str) -> Receiver:
        take = self.taker(stream)

        def receive(chunk: Chunk) -> None:
            for _, at, row in chunk:
                take(at, row)

        return receive

    def _take(self, offers: list[_Offer], together: bool, at: int, row: Row) -> None:
        if self._has_arrived or self._begins_always:
            self._begin(at)
        for number, step, part in offers:
            if step.waiting:
                if part.looks_back or not step.is_plain:
                    self._offer(number, part, at, row)
                elif part.passes(row, at, ()):
                    self._complete_all(number, step, part, at, row)
                elif at - step.oldest > self._within:
                    self._drop_late(step, at)
                if self._out:
                    self._pass_on(together=together)

    def _begin(self, at: int) -> None:
        if self._begins_again:
            self._begin_again(at)
        self._let_arrive()

    def _offers(self, stream: str) -> list[_Offer]:
        """The parts that read the stream, from the last step to the first."""
        steps = reversed(list(enumerate(self._steps)))
        return [(number, step, part) for number, step in steps for part in step.plan.parts if part.stream == stream]

    def _pass_on(self, *, together: bool) -> None:
        """A chunk of its own for each match, but of a stream that several steps read one for all that a step
        completes."""
        matches, self._out = self._out, []
        chunks = [matches] if together else [[match] for match in matches]
        for chunk in chunks:
            if chunk:
                self._emit(chunk)

    def _begin_again(self, at: int) -> None:
        """A match that is late makes room for the next: in a sequence, and where `every` stands before several
        steps."""
        if self._plan.kind == "sequence":
            for place in self._steps:
                place.arriving = [match for match in place.arriving if not self._is_late(match, at)]
            return
        for last, step in enumerate(self._plan.steps):
            for first in step.restarts:
                for place in self._steps[first + 1 : last + 1]:
                    late = [match for match in place.waiting if self._is_late(match, at)]
                    for match in late:
                        place.waiting.remove(match)
                        self._arrive(first, match.without(self._steps[first].place))

    def _let_arrive(self) -> None:
        self._has_arrived, is_sequence = False, self._plan.kind == "sequence"
        if is_sequence and self._plan.starts_always and not self._steps[0].arriving:
            self._arrive(0, self._start(self._context.now))
        for step in self._steps:
            if is_sequence:
                step.waiting, step.arriving = step.arriving, []
            elif step.arriving:
                for match in step.arriving:
                    if match.began is not None and match.began < step.oldest:
                        step.oldest = match.began
                step.waiting += step.arriving
                step.arriving = []

    def _complete_all(self, number: int, step: _Step, part: Part, at: int, row: Row) -> None:
        """As `_offer`, of a plain step whose row passes for all that wait."""
        matches, step.waiting, step.oldest = step.waiting, [], math.inf
        for match in matches:
            if not self._is_late(match, at):
                self._filled(part, match, at, row)
                self._completed(number, match)

    def _drop_late(self, step: _Step, at: int) -> None:
        step.waiting = [match for match in step.waiting if not self._is_late(match, at)]
        step.oldest = min((match.began for match in step.waiting if match.began is not None), default=math.inf)

    def _offer(self, number: int, part: Part, at: int, row: Row) -> None:
        step = self._steps[number]
        is_counted, passes = step.plan.is_counted, part.looks_back or part.passes(row, at, ())
        for match in list(step.waiting):
            if (is_counted and self._has_gone_on(number, match)) or self._is_late(match, at):
                step.waiting.remove(match)
            elif passes and (not part.looks_back or part.passes(row, at, match.values())):
                if part.is_absent:
                    self._appeared(number, part, match, at)
                else:
                    self._filled(part, match, at, row)
                    self._extended(number, match)

    def _filled(self, part: Part, match: PartialMatch, at: int, row: Row) -> None:
        match.places[part.place].append((at, row))
        match.at = at
        if match.began is None:
            match.began = at
            # beside a step that needs no row it may be waiting elsewhere too
            for step in self._steps:
                step.oldest = min(step.oldest, at)

    def _appeared(self, number: int, part: Part, match: PartialMatch, at: int) -> None:
        """The row came that must be absent: beside `or` its part is over, otherwise the match. What waits at the
        pattern's start waits again from then on."""
        step = self._steps[number]
        if part.place in match.quiet:
            return
        if len(step.plan.parts) > 1 and step.plan.operator == "or":
            match.appeared.add(part.place)
            return
        step.waiting.remove(match)
        if number == 0 and (part.wait is not None or self._plan.starts_always):
            self._arrive(0, self._start(at))

    def _time_over(self, due: int, waited: tuple[int, PartialMatch]) -> None:
        """Of a place of `not` and its match."""
        place_of_part, match = waited
        number, part = self._parts[place_of_part]
        step = self._steps[number]
        place = next((one for one in (step.waiting, step.arriving) if match in one), None)
        if place is None or part.place in match.appeared:
            return
        if self._is_late(match, due):
            place.remove(match)
            return
        waits_until = match.at + (part.wait or 0)
        if len(step.plan.parts) == 1 and waits_until > due:
            # the counted step before it took another row since
            self._context.wake_at(waits_until, waited)
            return
        match.quiet.add(part.place)
        match.at = due
        if step.plan.operator == "or" or self._has_all(step, match):
            place.remove(match)
            self._completed(number, match)
            self._pass_on(together=False)

    def _has_gone_on(self, number: int, match: PartialMatch) -> bool:
        """From a step whose rows are counted: it takes no more of them then."""
        return any(match.places[part.place] for step in self._steps[number + 1 :] for part in step.plan.parts)

    def _is_late(self, match: PartialMatch, at: int) -> bool:
        within = self._plan.within
        return within is not None and match.began is not None and at - match.began > within

    def _extended(self, number: int, match: PartialMatch) -> None:
        step = self._steps[number]
        if step.plan.is_counted:
            self._counted(number, match)
        elif len(step.plan.parts) == 1 or step.plan.operator == "or" or self._has_all(step, match):
            step.waiting.remove(match)
            self._completed(number, match)
        elif self._plan.kind == "sequence":
            self._arrive_once(number, match)

    def _has_all(self, step: _Step, match: PartialMatch) -> bool:
        return all(
            match.places[part.place] or (part.is_absent and (part.wait is None or part.place in match.quiet))
            for part in step.plan.parts
        )

    def _counted(self, number: int, match: PartialMatch) -> None:
        step = self._steps[number]
        count = len(match.places[step.plan.parts[0].place])
        if count == step.plan.most:
            step.waiting.remove(match)
        if self._plan.kind == "sequence":
            if count != step.plan.most:
                self._arrive_once(number, match)
            if count >= step.plan.least and not (step.plan.least == 0 and number + 1 == len(self._steps)):
                self._completed(number, match)
        elif count == step.plan.least:
            self._completed(number, match)

    def _completed(self, number: int, match: PartialMatch) -> None:
        if number + 1 < len(self._steps):
            self._arrive(number + 1, match)
        else:
            self._out.append((CURRENT, match.at, match.values()))
        for first in self._steps[number].plan.restarts:
            self._arrive(first, match.without(self._steps[first].place))

    def _arrive(self, number: int, match: PartialMatch) -> None:
        """A step that needs no row is passed at once; with the last one the match is complete."""
        self._arrive_once(number, match)
        if self._steps[number].plan.least == 0:
            if number + 1 < len(self._steps):
                self._arrive(number + 1, match)
            elif number > 0:
                self._completed(number, match)

    def _arrive_once(self, number: int, match: PartialMatch) -> None:
        step = self._steps[number]
        if self._plan.kind == "sequence" and step.arriving:
            return
        step.arriving.append(match)
        self._has_arrived = True
        for part in step.plan.parts:
            if part.wait is not None:
                self._context.wake_at(match.at + part.wait, (part.place, match))
