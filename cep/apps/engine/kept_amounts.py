"""What a running app keeps, query by query, beside what it may."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from cep.apps.engine.partition_instances import PartitionInstances
from cep.apps.functions.key_processors import Processors
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import AppContext, Stateful
from cep.apps.parts.app_limits import AppLimitError, AppLimits
from cep.apps.parts.frequent_windows import FrequentWindow, LossyFrequentWindow
from cep.apps.parts.patterns import Pattern
from cep.apps.parts.selector import Selector
from cep.apps.parts.session_window import SessionWindow
from cep.apps.parts.tables import Table
from cep.apps.parts.unique_windows import Deduplication
from cep.apps.parts.windows import TimeWindow

Amount = Literal["window_rows", "partial_matches", "keys", "table_rows"]
WORDS: Mapping[Amount, tuple[str, str]] = {
    "window_rows": ("rows", "window.rows"),
    "partial_matches": ("partial matches", "partial.matches"),
    "keys": ("keys", "keys"),
    "table_rows": ("rows", "table.rows"),
}
"""In a sentence, and the limit's name in an app's text."""


class KeptAmounts:
    """Of one app, with the limits that its text and the operator's terms have."""

    def __init__(self, context: AppContext, partitions: Sequence[PartitionInstances], limits: AppLimits) -> None:
        self._context, self._partitions, self.limits = context, partitions, limits

    def counts(self) -> Counter[tuple[str, Amount]]:
        """Count by what keeps it, such as a query, and what it is. Takes time in proportion to the number of parts: to
        be called now and then."""
        counts: Counter[tuple[str, Amount]] = Counter()
        for owner, part in self._context.kept():
            for amount, count in _amounts(part):
                counts[owner, amount] += count
            if isinstance(part, Selector) and part.kept_values:
                # beside the window's, so that a window may be as long as without them
                counts[f"an aggregator of {owner}", "window_rows"] += part.kept_values
        for partition in self._partitions:
            counts[partition.name, "keys"] += len(partition.by_key)
        return counts

    def check(self) -> None:
        """Raise AppLimitError if a query, a table or a partition keeps more than it may. As slow as `counts`."""
        for (owner, amount), count in self.counts().items():
            most = getattr(self.limits, amount)
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
        case Deduplication() | Processors():
            yield "keys", part.key_count
        case TimeWindow():
            yield "window_rows", part.row_count
        case _:
            yield "window_rows", _contained(part.state())


def _contained(state: object) -> int:
    """How much is in the containers that a state is made of."""
    if isinstance(state, tuple):
        return sum(map(_contained, state))
    return len(state) if isinstance(state, list | dict | deque) else 0
