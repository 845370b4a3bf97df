"""What one on-demand query may take. It is asked between two rows, in the process that computes them, so it has limits
of its own: one that asks for too much is refused, and the app goes on as if it had not been asked.
"""

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from cep.apps.errors import AppFailedError
from cep.apps.parts.chunks import Row
from cep.apps.parts.selector import SelectorPlan

STEPS_BETWEEN_LOOKS = 8
"""To ask for the CPU that a thread has used is a system call."""
_VALUE_BYTES = 40
"""Of one value in a row, and of the row itself, about; texts and lists are measured."""


class QuestionRefusedError(AppFailedError):
    """The query takes more than it may. The app goes on, and nothing of it has changed."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """`seconds`: CPU. `rows`: of an answer. `answer_bytes`: of an answer, about. `selected_bytes`: of all that is
    selected, of which `limit` then leaves a part."""

    seconds: float = 0.2
    rows: int = 10_000
    answer_bytes: int = 8 * 1024**2
    selected_bytes: int = 48 * 1024**2


QUESTION_LIMITS = QuestionLimits()
NO_LIMITS = QuestionLimits(math.inf, sys.maxsize, sys.maxsize, sys.maxsize)


class QuestionMeter:
    """Counts while one query selects. `cpu`: seconds of CPU of this thread."""

    def __init__(self, limits: QuestionLimits, cpu: Callable[[], float]) -> None:
        self._limits, self._cpu = limits, cpu
        self._until = cpu() + limits.seconds
        self._is_open = True
        self._steps = self._bytes = 0
        self._group: Hashable = None
        self._of_groups: dict[Hashable, int] = {}
        """Bytes of the newest row of each group."""

    def close(self) -> None:
        """From here on `look` refuses nothing: what the query does is done whole."""
        self._is_open = False

    def look(self) -> None:
        """To be called from wherever the query may be. Raises QuestionRefusedError."""
        if self._is_open and self._cpu() > self._until:
            raise QuestionRefusedError(
                f"the on-demand query takes more than {self._limits.seconds:g} s of CPU; ask for less, by a condition"
            )

    def step(self) -> None:
        """Count a row that was looked at. Raises QuestionRefusedError."""
        self._steps += 1
        if self._steps % STEPS_BETWEEN_LOOKS == 0:
            self.look()

    def made(self, row: Row) -> None:
        """Count a row that was made and stays. Raises QuestionRefusedError."""
        self.step()
        self._add(bytes_of(row))

    def counted(self, plan: SelectorPlan) -> SelectorPlan:
        """Return the selection, whose rows are counted as they are made."""
        outputs, group, having = plan.outputs, plan.group, plan.having
        made = self._made_of_group if plan.kinds else self.made

        def counted_outputs(row: Row, at: int, aggregated: Sequence[object]) -> Row:
            out = outputs(row, at, aggregated)
            if having is None:
                made(out)
            else:
                self.step()
            return out

        def counted_having(out: Row, row: Row, at: int, aggregated: Sequence[object]) -> bool:
            if having is None or not having(out, row, at, aggregated):
                return False
            made(out)
            return True

        def noted_group(row: Row, at: int) -> Hashable:
            self._group = None if group is None else group(row, at)
            return self._group

        return replace(
            plan,
            outputs=counted_outputs,
            group=None if group is None else noted_group,
            having=None if having is None else counted_having,
        )

    def check_answer(self, rows: list[Row]) -> None:
        """Raise QuestionRefusedError if an answer is too large."""
        most = self._limits
        if len(rows) > most.rows:
            problem = f"the answer has {len(rows):,} rows, and {most.rows:,} are given"
            raise QuestionRefusedError(f"{problem}; add a limit")
        if sum(map(bytes_of, rows)) > most.answer_bytes:
            problem = f"the answer has more than {most.answer_bytes:,} bytes"
            raise QuestionRefusedError(f"{problem}; select less, or add a limit")

    def _made_of_group(self, row: Row) -> None:
        """Of the rows of a group the last one stays."""
        self.step()
        size = bytes_of(row)
        self._add(size - self._of_groups.get(self._group, 0))
        self._of_groups[self._group] = size

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limits.selected_bytes:
            problem = f"the on-demand query selects more than {self._limits.selected_bytes:,} bytes"
            raise QuestionRefusedError(f"{problem}; ask for less, by a condition")


def bytes_of(row: Row) -> int:
    """Return about how much memory a row takes, with what is in it."""
    size = _VALUE_BYTES * (len(row) + 1)
    for value in row:
        if isinstance(value, str):
            size += sys.getsizeof(value)
        elif isinstance(value, list | tuple):
            size += bytes_of(tuple(value))
        elif isinstance(value, dict):
            size += bytes_of((*value, *value.values()))
    return size
