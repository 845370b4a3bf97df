"""Which group of processes an app belongs into; pure."""

BEHIND_ROWS = 20_000
"""An app that has more rows of its log to catch up with does so in processes of its own."""
CAUGHT_UP_ROWS = 1_000
BUSY = 0.5
"""Of a core: more, and the others of a shared process would wait for it."""
QUIET = 0.25
LOOKS = 10
"""How many looks in a row, a second apart, it must belong elsewhere."""
MOST_ALONE = 24
"""Groups of one app; more apps stay with the others, however busy they are."""


def belongs_elsewhere(busy: float, lag_rows: int, *, is_alone: bool) -> bool:
    """`busy`: the share of a core that it takes."""
    if is_alone:
        return busy < QUIET and lag_rows < CAUGHT_UP_ROWS
    return busy > BUSY
