"""Patterns and sequences: partial matches move from step to step. Semantics are Siddhi 5.1's.

A row is offered to the steps from the last to the first, so that it fills one place of a partial match at most. In a
sequence every row of its streams must be the next step's: a partial match that it does not extend is over.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, cast

from cep.apps.parts.absent_stages import AbsentLogicalStage, AbsentStage
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, Chunk, Receiver, Row, RowTaker
from cep.apps.parts.pattern_stages import (
    NEVER,
    CountedStage,
    LogicalStage,
    Part,
    PartialMatch,
    Passes,
    Shared,
    Stage,
    StepsLimit,
)

Offered = tuple[Stage, Passes | None, RowTaker]
"""A stage, what decides alone whether it takes a row, and how it does."""
Watch = Callable[
    [Sequence[Stage], list[float], RowTaker, Callable[[int], None], Callable[[Stage, int, Row], None]], RowTaker
]
"""Made of the stages that read a stream, the time up to which rows were seen, what the stages do with a row, what drops
those that are late, and what tells a stage of a row that it takes."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """`restarts`: steps that begin again once this one is complete, as `every` says."""

    parts: tuple[Part, ...]
    operator: Literal["and", "or"] = "and"
    least: int = 1
    most: int | None = 1
    is_counted: bool = False
    restarts: tuple[int, ...] = ()
    limits: tuple[StepsLimit, ...] = ()
    """Of the parentheses around it."""

    @property
    def ordered(self) -> tuple[Part, ...]:
        """Its parts in the order of their stages: the first one, to which matches are given, comes last. Where one is
        absent, it is that."""
        left, right = self.parts[0], self.parts[-1]
        if left is right:
            return self.parts
        return (left, right) if right.is_absent and not left.is_absent else (right, left)


@dataclass(frozen=True, slots=True)
class PatternPlan:
    kind: Literal["pattern", "sequence"]
    steps: tuple[StepPlan, ...]
    places: int
    within: int | None
    watches: Mapping[str, Watch] = field(default_factory=dict)
    """By stream, of those whose rows mostly do not matter."""

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


class Pattern(Stateful):
    """The partial matches of one pattern or sequence."""

    def __init__(self, plan: PatternPlan, context: PartContext, emit: Receiver) -> None:
        """`emit` is given the matches that a stage completes with one row, as a chunk."""
        self._plan, self._emit = plan, emit
        self._is_sequence = plan.kind == "sequence"
        self._out: Chunk = []
        self._seen: list[float] = [-math.inf]
        """The time of the last row, also of one that the stages did not have. A list, since generated functions hold
        it."""
        starts = tuple(part.place for part in plan.steps[0].ordered)
        within = math.inf if plan.within is None else plan.within
        shared = Shared(self._is_sequence, within, starts, plan.places, context, self._finish)
        self._stages, self._steps = _linked(plan, shared)
        # what waits at a plain first stage has no row from whose time it could be late
        self._expiring = tuple(self._stages[1:] if type(self._stages[0]) is Stage else self._stages)
        self._limited = tuple(stage for stage in self._stages if stage.limits)
        self._has_limit = plan.within is not None or bool(self._limited)
        self._shared_streams = plan.shared
        # of several steps under one `every` a row moves the first alone, as in Siddhi
        inside = {
            one for last, step in enumerate(plan.steps) for first in step.restarts for one in range(first + 1, last + 1)
        }
        self._moved = [step for number, step in enumerate(self._steps) if number not in inside]
        context.keep(self, self._on_time)
        for stage in self._stages:
            stage.start()

    @property
    def partial_matches(self) -> int:
        """How many wait, with those that are late since a row that mattered; both parts of `and` and `or` have the
        same ones."""
        return sum(max(len(stage.pending) + len(stage.arriving) for stage in step) for step in self._steps)

    def state(self) -> object:
        if self._plan.watches and self._seen[0] > NEVER:
            # as if the stages had had all rows
            self._expire(int(self._seen[0]))
        return [stage.state() for stage in self._stages]

    def restore(self, state: Any) -> None:
        for stage, of_stage in zip(self._stages, state, strict=True):
            stage.restore(of_stage)

    def taker(self, stream: str, *, is_fused: bool) -> RowTaker:
        """`is_fused`: by a shorter way, if there is one."""
        own = [stage for stage in self._stages if stage.part.stream == stream]
        offered: list[Offered] = [
            (one, one.test, one.take if one.test is None else one.take_passing) for one in own[::-1]
        ]
        take = partial(self._take, own, offered, stream in self._shared_streams)
        watch = self._plan.watches.get(stream) if is_fused else None
        if watch is None:
            return take
        return watch(own[::-1], self._seen, take, self._expire, partial(self._tell, stream in self._shared_streams))

    def receiver(self, stream: str) -> Receiver:
        take = self.taker(stream, is_fused=False)

        def receive(chunk: Chunk) -> None:
            for _, at, row in chunk:
                take(at, row)

        return receive

    def _take(self, own: list[Stage], offered: list[Offered], together: bool, at: int, row: Row) -> None:
        if at < self._seen[0] and self._plan.watches:
            self._expire(int(self._seen[0]))
        self._expire(at)
        self._seen[0] = at
        if self._is_sequence:
            self._move_on()
        for stage in own:
            # in a sequence what is inside `every` and was not moved hears its own stream all the same
            stage.let_arrive()
        for stage, test, take in offered:
            if (stage.pending or stage.hears_all) and (test is None or test(row, at, ())):
                take(at, row)
                if self._out:
                    self._pass_on(together=together)

    def _tell(self, together: bool, stage: Stage, at: int, row: Row) -> None:
        """Let a stage take a row for which its test holds, unless all that waited was late."""
        if stage.pending:
            stage.take_passing(at, row)
            if self._out:
                self._pass_on(together=together)

    def _expire(self, at: int) -> None:
        if not self._has_limit:
            return
        for stage in self._expiring:
            if stage.pending or stage.arriving:
                stage.expire(at)
        for stage in self._limited:
            if stage.pending or stage.arriving:
                stage.expire_in_parentheses(at)

    def _move_on(self) -> None:
        for step in reversed(self._moved):
            step[0].reset()
        for step in self._moved:
            step[0].let_arrive()

    def _finish(self, match: PartialMatch) -> None:
        self._out.append((CURRENT, match.at, match.values()))

    def _pass_on(self, *, together: bool) -> None:
        """Pass on a chunk for each match, but one for all that a stage completes if several steps read the stream."""
        matches, self._out = self._out, []
        chunks = [matches] if together else [[match] for match in matches]
        for chunk in chunks:
            self._emit(chunk)

    def _on_time(self, due: int, number: int) -> None:
        """Go on with stage `number`, which waited for the time `due`."""
        cast(AbsentStage | AbsentLogicalStage, self._stages[number]).on_time(due)
        if self._out:
            self._pass_on(together=False)


def _linked(plan: PatternPlan, shared: Shared) -> tuple[list[Stage], list[list[Stage]]]:
    """All stages in their order, and those of each step."""
    stages, steps = list[Stage](), list[list[Stage]]()
    for number, step in enumerate(plan.steps):
        of_step = list[Stage]()
        for part in step.ordered:
            of_step.append(_stage(shared, step, part, len(stages) + len(of_step), is_start=number == 0))
        steps.append(of_step)
        stages += of_step
    for number, step in enumerate(plan.steps):
        for stage in steps[number]:
            stage.next = steps[number + 1][-1] if number + 1 < len(steps) else None
            stage.restarts = tuple(steps[first][-1] for first in step.restarts)
            stage.limits = step.limits
            _link(stage, stages, steps[number])
        for first in step.restarts:
            for stage in (one for around in steps[first : number + 1] for one in around):
                stage.again = steps[first][-1]
    first_stage = stages[0]
    if shared.is_sequence and isinstance(first_stage, CountedStage) and plan.steps[0].least == 0 and len(steps) > 1:
        steps[1][-1].asks = first_stage
    return stages, steps


def _link(stage: Stage, stages: list[Stage], of_step: list[Stage]) -> None:
    """With those beside it."""
    stage.from_here = tuple(one.part.place for one in stages[stage.number :])
    if isinstance(stage, CountedStage):
        stage.later = tuple(one.part.place for one in stages[stage.number + 1 : stage.number + 3])
    if isinstance(stage, LogicalStage):
        stage.partner = cast(LogicalStage, of_step[1 - of_step.index(stage)])


def _stage(shared: Shared, step: StepPlan, part: Part, number: int, *, is_start: bool) -> Stage:
    if step.is_counted:
        return CountedStage(shared, part, number, is_start=is_start, least=step.least, most=step.most)
    if len(step.parts) == 1:
        kind = AbsentStage if part.is_absent else Stage
        return kind(shared, part, number, is_start=is_start)
    of_two = AbsentLogicalStage if part.is_absent else LogicalStage
    return of_two(shared, part, number, is_start=is_start, operator=step.operator)
