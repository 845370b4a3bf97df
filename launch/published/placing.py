"""Which group of processes an app belongs into; pure."""

from collections.abc import Sequence

BEHIND_ROWS = 20_000
"""An app that has more rows of its log to catch up with does so in processes of its own."""
CAUGHT_UP_ROWS = 1_000
BUSY = 0.5
"""Of a core: more, and the others of a shared process would wait for it."""
QUIET = 0.25
LOOKS = 10
"""How many looks in a row, a second apart, it must belong elsewhere."""
MOST_SHARED = 50
"""Apps of a shared group, which compute on one core for each partition: more have another one, a process of 30 MB."""
MOST_GROUPS = 8
"""Shared ones; beyond, each has more apps."""
MOST_ALONE = 24
"""Groups of one app; more apps stay with the others, however busy they are."""


def belongs_elsewhere(busy: float, lag_rows: int, *, is_alone: bool) -> bool:
    """`busy`: the share of a core that it takes."""
    if is_alone:
        return busy < QUIET and lag_rows < CAUGHT_UP_ROWS
    return busy > BUSY


def shared_place(counts: Sequence[int]) -> int:
    """Return the place of the shared group that one more app goes into. `counts`: the apps of each. The place behind
    the last one is that of a new group."""
    fewest = min(counts)
    return counts.index(fewest) if fewest < MOST_SHARED or len(counts) >= MOST_GROUPS else len(counts)
