"""What a running app keeps, query by query, beside what it may."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import Stateful
from cep.apps.parts.app_limits import AppLimitError, AppLimits
from cep.apps.parts.frequent_windows import FrequentWindow, LossyFrequentWindow
from cep.apps.parts.patterns import Pattern
from cep.apps.parts.selector import Selector
from cep.apps.parts.session_window import SessionWindow
from cep.apps.parts.tables import Table
from cep.apps.parts.windows import TimeWindow

Amount = Literal["window_rows", "partial_matches", "keys", "table_rows"]
WORDS: Mapping[Amount, tuple[str, str]] = {
    "window_rows": ("rows", "window.rows"),
    "partial_matches": ("partial matches", "partial.matches"),
    "keys": ("keys", "keys"),
    "table_rows": ("rows", "table.rows"),
}
"""In a sentence, and the limit's name in an app's text."""


def check_amounts(kept: Iterable[tuple[str, Stateful]], keys: Iterable[tuple[str, int]], limits: AppLimits) -> None:
    """`kept`: parts, with what each belongs to; `keys`: how many each partition has. Raises AppLimitError."""
    counts: Counter[tuple[str, Amount]] = Counter()
    for owner, part in kept:
        for amount, count in _amounts(part):
            counts[owner, amount] += count
    for owner, count in keys:
        counts[owner, "keys"] += count
    for (owner, amount), count in counts.items():
        most = getattr(limits, amount)
        if count > most:
            what, name = WORDS[amount]
            raise AppLimitError(f"{owner} keeps {count:,} {what}, and {most:,} are allowed ({name})")


def _amounts(part: Stateful) -> Iterator[tuple[Amount, int]]:
    match part:
        case Table():
            yield "table_rows", _contained(part.state())
        case Pattern():
            yield "partial_matches", part.partial_matches
        case Selector() | Aggregation():
            yield "keys", part.group_count
        case SessionWindow():
            yield "window_rows", sum(1 for _ in part.rows())
            yield "keys", _contained(part.state())
        case FrequentWindow() | LossyFrequentWindow():
            yield "window_rows", sum(1 for _ in part.rows())
        case TimeWindow():
            yield "window_rows", part.row_count
        case _:
            yield "window_rows", _contained(part.state())


def _contained(state: object) -> int:
    """How much is in the containers that a state is made of."""
    if isinstance(state, tuple):
        return sum(map(_contained, state))
    return len(state) if isinstance(state, list | dict | deque) else 0
