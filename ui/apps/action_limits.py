"""What rows of apps need not ask the store, because the answer is known: so a row for each tick costs next to nothing.

By the times of the rows, like the store's own limit: rows that are read again are answered as before. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from store.app_actions import MINUTE, AppActionName, Refusal

ASKED_AGAIN = 5 * MICROSECONDS
"""So long after a refusal, by the rows' times, the store is asked again."""
_OF_ANY_VALUE: Sequence[Refusal] = ("not_its_own", "held")


@dataclass(frozen=True, slots=True)
class AskedAction:
    """What a row asks for, as far as an answer depends on it. `at`: its time, microseconds by the app's clock.
    `value`: what the target is to be; None takes the app's own entry back."""

    name: AppActionName
    target: str
    value: object
    at: int


@dataclass(frozen=True, slots=True)
class _Refused:
    refusal: Refusal
    at: int
    value: object

    def answers(self, value: object) -> bool:
        return self.refusal in _OF_ANY_VALUE or self.value == value


@dataclass(slots=True)
class ActionLimits:
    """Of one app, each kind of action apart. What takes back is never one too many."""

    _done: dict[AppActionName, list[int]] = field(default_factory=dict)
    _full: dict[AppActionName, int] = field(default_factory=dict)
    """The time of the last row that the store refused as one too many."""
    _refused: dict[str, _Refused] = field(default_factory=dict)
    """By target."""

    def known(self, asked: AskedAction, per_minute: int) -> Refusal | None:
        """Return what the store would answer; None if it is to be asked."""
        before = self._refused.get(asked.target)
        if before is not None and _is_near(before.at, asked.at) and before.answers(asked.value):
            return before.refusal
        if asked.value is None:
            return None
        full = self._full.get(asked.name)
        is_full = full is not None and _is_near(full, asked.at)
        return "too_many" if is_full or len(self._beside(asked)) >= per_minute else None

    def note(self, asked: AskedAction, refused: Refusal | None) -> None:
        """Keep what the store answered; `refused` None: it was done."""
        match refused:
            case None:
                self._refused.pop(asked.target, None)
                if asked.value is not None:
                    self._done[asked.name] = [*self._beside(asked), asked.at]
            case "too_many":
                self._full[asked.name] = asked.at
            case "unchanged" | "not_its_own" | "held":
                self._refused[asked.target] = _Refused(refused, asked.at, asked.value)
            case "repeated" | "overtaken":
                # says nothing of the next row
                pass

    def _beside(self, asked: AskedAction) -> list[int]:
        return [one for one in self._done.get(asked.name, ()) if abs(one - asked.at) < MINUTE]


def _is_near(before: int, at: int) -> bool:
    return abs(at - before) < ASKED_AGAIN
