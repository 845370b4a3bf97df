"""The matrix for people: `python -m tests.fault_matrix.table > docs/fault-matrix.md`."""

import sys
from collections.abc import Iterable

from simulators.faults.faults import FAULT_KINDS, FaultKind
from tests.fault_matrix.trials import EXCHANGES, FEED_TRIALS, ORDER_TRIALS

_HEAD = """# Fault matrix

What the feeds and the order path do about each fault that an exchange can show. Printed from the table that
`tests/fault_matrix/` holds them to (`python -m tests.fault_matrix.table > docs/fault-matrix.md`): each line is run on
all five simulated exchanges, by the watch loop of the feeders and by the account of the bots, over real sockets.

The limit is `stale_after_ms`, 3 s where nothing else is set; the tests run with 1.2 s, measured on the
feed's own clock.

## Prices

On every line, on every exchange, the tests hold the published rows against the books that the exchange really had,
step by step:

* no quote is believed whose five best levels a side ceased to be the exchange's longer ago than the limit, and none
  that never were its for longer than that;
* no quote is crossed, empty or without amounts;
* the feed is live again by itself after the fault.

*at once*: with the very message, or the end of the connection, that shows the fault, and no row between them.
*within the limit*: by the watchdog, or by the comparison with the book by REST. Then the counter or the reason of a
rejection that tells of it, and the feed's state from then on. Where a stream carries neither number nor checksum, a
lost message shows by nothing that came: the comparison with REST finds the book that is wrong, unless it crosses
before, or the next messages mend it.
"""
_ORDERS = """
## Orders

What placing an order said, then what looking it up found. *rejected* and *account rejected* say that there is no order,
*unknown* that it must be looked up. On every line, on every exchange: the order came to the exchange's door once; its
journal has it once, or not at all where looking up finds none; another order, after it, fills; balances are those from
before, plus fills, minus fees, to the last digit.
"""


def page() -> str:
    feeds = _table((trial.name, [trial.expected(name).text for name in EXCHANGES]) for trial in FEED_TRIALS)
    orders = _table((trial.name, [trial.expected(name).text for name in EXCHANGES]) for trial in ORDER_TRIALS)
    return f"{_HEAD}\n{feeds}{_ORDERS}\n{orders}"


def covered() -> tuple[FaultKind, ...]:
    """The kinds that have a line."""
    tried = {trial.kind for trial in FEED_TRIALS} | {trial.kind for trial in ORDER_TRIALS}
    return tuple(kind for kind in FAULT_KINDS if kind in tried)


def _table(lines: Iterable[tuple[str, list[str]]]) -> str:
    """One column where all exchanges do the same, else what differs is said beside it."""
    rows = ["| fault | everywhere | but |", "|---|---|---|"]
    for name, texts in lines:
        usual = max(texts, key=texts.count)
        others = [f"{exchange}: {text}" for exchange, text in zip(EXCHANGES, texts, strict=True) if text != usual]
        rows.append(f"| {name} | {usual} | {'<br>'.join(others)} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
