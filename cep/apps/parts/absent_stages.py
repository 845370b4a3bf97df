"""Parts of a pattern's steps for which no row may come: for so long, or until another part's row. Semantics are
Siddhi 5.1's, but for what is said."""

from typing import Any, Literal

from cep.apps.parts.chunks import Row
from cep.apps.parts.pattern_stages import NEVER, NO_ROW, LogicalStage, Part, PartialMatch, Shared, Stage


class AbsentStage(Stage):
    """A step that is complete if no row came for so long. At the pattern's start it waits from when the app began.
    It has one timer at a time, however many rows move what waits on."""

    def __init__(self, shared: Shared, part: Part, number: int, *, is_start: bool) -> None:
        super().__init__(shared, part, number, is_start=is_start)
        self._wait = part.wait or 0
        self._is_active, self._due = True, 0
        self._timer: int | None = None
        """When it will be called first."""
        self.hears_all = is_start
        """What must not come before the pattern has begun moves its time on, whether a match waits or not. Siddhi
        would not notice it then, and be too early."""

    def state(self) -> Any:
        return super().state(), self._is_active, self._due, self._timer

    def restore(self, state: Any) -> None:
        of_stage, self._is_active, self._due, self._timer = state
        super().restore(of_stage)

    def start(self) -> None:
        super().start()
        if self.is_start:
            self._wake_after(self.shared.context.now)

    def _wake_after(self, at: int) -> None:
        self._due = at + self._wait
        self._wake_at(self._due)

    def _wake_at(self, due: int) -> None:
        if self._timer is not None and self._timer <= due:
            # that one comes first, and asks for the next
            return
        self._timer = due
        self.shared.context.wake_at(due, self.number)

    def add(self, match: PartialMatch) -> None:
        if not self._is_active:
            return
        if self.shared.is_sequence:
            self.arriving.clear()
        self.append(match)
        if not self.is_start:
            self._wake_after(match.at)

    def add_again(self, match: PartialMatch) -> None:
        super().add_again(match)
        self._wake_after(match.at)

    def reset(self) -> None:
        self.pending = []
        if self.is_start and not self._waits_elsewhere():
            self.begin()

    def on_time(self, due: int) -> None:
        if self._timer is not None and due >= self._timer:
            self._timer = None
        if not self._is_active:
            return
        self._made_ready()
        quiet = self._quiet(due)
        for match in quiet:
            self._over(match)
        if not quiet and self._due < due:
            self._wake_after(due)
        elif self._is_active:
            self._wake_for_next(due, was_quiet=bool(quiet))

    def _made_ready(self) -> None:
        is_sequence, restarts = self.shared.is_sequence, self.restarts
        is_empty = self.is_start and not self.arriving and not self.pending
        if is_empty and not (is_sequence and not restarts and self._due > 0):
            self.add(self.shared.new_match())
        elif is_sequence and self.arriving:
            self.reset()
        self.let_arrive()

    def _quiet(self, due: int) -> list[PartialMatch]:
        """Return what this completes."""
        quiet, waiting = list[PartialMatch](), list[PartialMatch]()
        for match in self.pending:
            if self._is_late(match, due):
                for first in self.restarts if self.again is not None else ():
                    if first is not self:
                        first.add_again(match)
            elif due >= self._due_of(match):
                match.at = due
                quiet.append(match)
            else:
                waiting.append(match)
        self.pending = waiting
        if self.again is not None:
            self.again.let_arrive()
        return quiet

    def _due_of(self, match: PartialMatch) -> int:
        return self._due if match.at == NEVER else match.at + self._wait

    def _wake_for_next(self, due: int, *, was_quiet: bool) -> None:
        """For the first of what waits; at the start also if nothing does, unless that is complete."""
        waiting = (self._due_of(match) for match in (*self.pending, *self.arriving))
        following = min(waiting, default=self._due if self.is_start and not was_quiet else due)
        if following > due:
            self._wake_at(following)

    def _over(self, match: PartialMatch) -> None:
        self.complete(match)
        if not self.restarts and self.is_start and self.again is None:
            self._is_active = False
        self._had_a_row()

    def take(self, at: int, row: Row) -> None:
        """Take the row that must not come."""
        if not self._is_active:
            return
        if self.is_start and not self.pending and self.part.passes(row, at, ()):
            self._due = at + self._wait
        for match in self._passing(at, row):
            match.at, self._due = at, at + self._wait
            if self.is_start and self in self.restarts:
                self.add_again(match)
        if self.shared.is_sequence and self.pending:
            self._had_a_row()


class AbsentLogicalStage(LogicalStage):
    """A part of `and` or `or` for which no row may come: for so long, or until the other part's row."""

    def __init__(self, shared: Shared, part: Part, number: int, *, is_start: bool, operator: Literal["and", "or"]):
        super().__init__(shared, part, number, is_start=is_start, operator=operator)
        self._wait = part.wait
        self._is_active = True
        self._last: int | None = None
        """When the row came that must not."""

    def state(self) -> Any:
        return super().state(), self._is_active, self._last

    def restore(self, state: Any) -> None:
        of_stage, self._is_active, self._last = state
        super().restore(of_stage)

    def start(self) -> None:
        super().start()
        if self.is_start:
            self._wake_after(self.shared.context.now)

    def _wake_after(self, at: int) -> None:
        if self._wait is not None:
            self.shared.context.wake_at(at + self._wait, self.number)

    def add(self, match: PartialMatch) -> None:
        if not self._is_active:
            return
        super().add(match)
        if not self.is_start and self._wait is not None:
            self._wake_after(match.at)
            if isinstance(self.partner, AbsentLogicalStage):
                self.partner._wake_after(match.at)

    def add_again(self, match: PartialMatch) -> None:
        new = match.without((self.part.place, self.partner.part.place))
        rows = match.places[self.part.place]
        if rows:
            new.at = rows[0][0]
        self.append(new)
        self.partner.append(new)

    def on_time(self, due: int) -> None:
        if not self._is_active or self._wait is None:
            return
        has_gone_on = False
        if due >= (self._last or 0) + self._wait:
            self._made_ready()
            quiet = self._quiet(due, self._wait)
            for match in quiet:
                match.at = due
                self._over(match)
            self.partner.forget(set(quiet))
            has_gone_on, self._last = bool(quiet), None
        if self.restarts or (self.is_start and not has_gone_on):
            self._wake_after(self.shared.context.now if self._last is None else self._last)

    def _made_ready(self) -> None:
        if self.shared.is_sequence and self.is_start and not self.arriving and not self.pending:
            self.add(self.shared.new_match())
        elif self.shared.is_sequence and self.arriving:
            self.reset()
        self.let_arrive()

    def _quiet(self, due: int, wait: int) -> list[PartialMatch]:
        """Return what this completes; what waits for the other part's row has NO_ROW of this one from now on."""
        quiet, waiting = list[PartialMatch](), list[PartialMatch]()
        late: PartialMatch | None = None
        own, other = self.part.place, self.partner.part.place
        for match in self.pending:
            since = match.places[own][0][0] if match.places[own] else match.at
            if self._is_late(match, due):
                late = match
            elif due < since + wait:
                waiting.append(match)
            elif self.is_or and match.places[other]:
                continue
            else:
                if self.is_or or not match.places[other]:
                    match.places[own] = [NO_ROW]
                if self.is_or or match.places[other]:
                    quiet.append(match)
        self.pending = waiting
        if late is not None and self.again is not None:
            self.again.add_again(late)
            self.again.let_arrive()
        return quiet

    def _over(self, match: PartialMatch) -> None:
        self.complete(match)
        if not self.restarts and self.is_start and self.again is None:
            self._is_active = False
            if self.is_or and isinstance(self.partner, AbsentLogicalStage):
                self.partner._is_active = False
        self._had_a_row()

    def take(self, at: int, row: Row) -> None:
        """Take the row that must not come."""
        if not self._is_active:
            return
        if self.is_or:
            self.pending = [match for match in self.pending if not match.places[self.partner.part.place]]
        passed = self._passing(at, row)
        if self.shared.is_sequence:
            self.pending = []
        for match in passed:
            self._last = at
            self._appeared(match, at, row)

    def _appeared(self, match: PartialMatch, at: int, row: Row) -> None:
        begins_again = self.shared.is_sequence and not self.is_or and bool(self.restarts)
        if self._wait is None and not begins_again:
            match.places[self.part.place] = [(at, row)]
        if self.is_start and self.number > self.partner.number:
            # the pattern's first stage: that the row came is known by `_last`, or by the row
            self.pending.append(match)
        elif self.shared.is_sequence and match in self.partner.pending:
            self.partner.pending.remove(match)

    @property
    def may_let_go(self) -> bool:
        return self._wait is not None

    def lets_go(self, match: PartialMatch) -> bool:
        is_there = bool(match.places[self.part.place])
        if self.shared.is_sequence and not self.restarts and self._last is not None:
            return False
        if self._wait is not None:
            return is_there
        if not self.restarts:
            return not is_there
        if self._last is not None:
            self._last = None
            self.begin()
            return False
        return True
