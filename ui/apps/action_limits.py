"""What rows of apps need not ask the store, because the answer is known: so a row for each tick costs next to nothing.

By the times of the rows, like the store's own limit: rows that are read again are answered as before. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from store.app_actions import MINUTE, Refusal

ASKED_AGAIN = 5 * MICROSECONDS
"""So long after a refusal, by the rows' times, the store is asked again."""
_OF_ANY_VALUE: Sequence[Refusal] = ("not_its_own", "held")


@dataclass(frozen=True, slots=True)
class _Refused:
    refusal: Refusal
    at: int
    value: object

    def answers(self, value: object) -> bool:
        return self.refusal in _OF_ANY_VALUE or self.value == value


@dataclass(slots=True)
class ActionLimits:
    """Of one app. `at`: a row's time, microseconds by the app's clock. `value`: what it asks for."""

    _done: list[int] = field(default_factory=list)
    _full: int | None = None
    """The time of the last row that the store refused as one too many."""
    _refused: dict[str, _Refused] = field(default_factory=dict)
    """By target."""

    def known(self, target: str, value: object, at: int, per_minute: int) -> Refusal | None:
        """Return what the store would answer; None if it is to be asked."""
        before = self._refused.get(target)
        if before is not None and _is_near(before.at, at) and before.answers(value):
            return before.refusal
        is_full = self._full is not None and _is_near(self._full, at)
        return "too_many" if is_full or len(self._beside(at)) >= per_minute else None

    def note(self, target: str, value: object, at: int, refused: Refusal | None) -> None:
        """Keep what the store answered; `refused` None: it was done."""
        match refused:
            case None:
                self._done = [*self._beside(at), at]
                self._refused.pop(target, None)
            case "too_many":
                self._full = at
            case "unchanged" | "not_its_own" | "held":
                self._refused[target] = _Refused(refused, at, value)
            case "repeated" | "overtaken":
                # says nothing of the next row
                pass

    def _beside(self, at: int) -> list[int]:
        return [one for one in self._done if abs(one - at) < MINUTE]


def _is_near(before: int, at: int) -> bool:
    return abs(at - before) < ASKED_AGAIN
