"""Walk-forward: the best set of each time span is tested on the span that follows it.

    |-- span 0 --|-- span 1 --|-- span 2 --|-- span 3 --|
     train 1      test 1
                  train 2      test 2
                               train 3      test 3

Every span is traded on its own: it starts with the opening balances and sees no quote after its end, so a choice has no
information about its test span.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.results import SetResult, best_first
from market.money import total

MAX_FOLDS = 1_000


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end), microseconds UTC."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fold:
    """The set chosen on a training span, and its result on the test span."""

    training: Span
    test: Span
    chosen: SetResult
    """The best set on the training span, with its result there."""
    tested: SetResult
    """The same set on the test span."""


@dataclass(frozen=True, slots=True)
class WalkForward:
    """All folds; nets in the settlement currency."""

    folds: tuple[Fold, ...]

    @property
    def in_sample(self) -> Decimal:
        """Return the net profit of the chosen sets on their training spans."""
        return total(fold.chosen.net for fold in self.folds)

    @property
    def out_of_sample(self) -> Decimal:
        """Return the net profit of the chosen sets on their test spans."""
        return total(fold.tested.net for fold in self.folds)


def spans_of(start: int, end: int, folds: int) -> tuple[Span, ...]:
    """Return `folds` + 1 spans of equal length that cover [start, end] together. Raises SweepRejectedError."""
    if not 1 <= folds <= MAX_FOLDS:
        raise SweepRejectedError(f"--walk-forward {folds}: takes 1 to {MAX_FOLDS:,} folds")
    length = end + 1 - start
    if length < folds + 1:
        raise SweepRejectedError(f"--walk-forward {folds}: the tick set is too short to be cut into {folds + 1} spans")
    edges = [start + length * number // (folds + 1) for number in range(folds + 2)]
    return tuple(Span(number, edges[number], edges[number + 1]) for number in range(folds + 1))


def walk_forward(spans: Sequence[Span], results: Mapping[int, Sequence[SetResult]]) -> WalkForward:
    """Choose and test; `results`: span number → the results of all sets on it."""
    folds = []
    for training, test in pairwise(spans):
        chosen = best_first(results[training.number])[0]
        tested = next(result for result in results[test.number] if result.number == chosen.number)
        folds.append(Fold(training, test, chosen, tested))
    return WalkForward(tuple(folds))
