"""Prints the matrix: `python -m tests.fault_matrix.table > docs/fault-matrix.md`."""

import sys
from collections.abc import Iterable

from simulators.faults.faults import FAULT_KINDS, FaultKind
from tests.fault_matrix.trials import EXCHANGES, FEED_TRIALS, ORDER_TRIALS

_HEAD = """# Fault matrix

How the feeds and the order path handle each injected fault. Printed from the table that `tests/fault_matrix/` checks
(`python -m tests.fault_matrix.table > docs/fault-matrix.md`): each line runs on all five simulated exchanges, with the
feeders' connection loop and the bots' account, over real sockets.

The limit is `stale_after_ms`, 3 s by default; the tests run with 1.2 s, measured on the feed's own clock.

## Prices

On every line and every exchange, the tests compare the published rows with the exchange's real books, step by step:

* no quote stays in force for longer than the limit after its five best levels a side stopped being the exchange's, or
  if they never were the exchange's;
* no quote is crossed, empty or without amounts;
* the feed is live again by itself after the fault.

*at once*: with the message, or the end of the connection, that shows the fault, without a row in between.
*within the limit*: by the watchdog, or by the comparison with the REST book. In brackets: the counter or the reject
reason that reports it; then the feed's status. A stream without sequence or checksum does not show a lost message: the
comparison with REST finds the wrong book, unless it is crossed or corrected by the next messages before. The
limit then holds where the exchange has one market; of many, each [has its turn](exchanges.md#feeds-of-many-markets).
"""
_ORDERS = """
## Orders

Results of placing an order and of looking it up. *rejected* and *account rejected*: there is no order; *unknown*: it
must be looked up. On every line and every exchange: the order arrived at the exchange once; its journal has it once, or
not at all where the look-up finds none; another order after it fills; balances are the opening ones plus fills minus
fees, to the last digit.
"""


_THROUGH_CCXT = """
## Through ccxt

The same tests with `adapter = "generic"` ([any exchange](any-exchange.md)): these lines differ. ccxt has no stream of
bitFlyer's books, which are fetched by REST: faults of streams do not concern it.

### Prices
"""
_ORDERS_THROUGH_CCXT = """
### Orders
"""

_Lines = list[tuple[str, dict[str, str]]]


def page() -> str:
    own = _table(_feeds(is_generic=False)), _table(_orders(is_generic=False))
    generic = (
        _table(_differing(_feeds(is_generic=False), _feeds(is_generic=True))),
        _table(_differing(_orders(is_generic=False), _orders(is_generic=True))),
    )
    return f"{_HEAD}\n{own[0]}{_ORDERS}\n{own[1]}{_THROUGH_CCXT}\n{generic[0]}{_ORDERS_THROUGH_CCXT}\n{generic[1]}"


def _feeds(*, is_generic: bool) -> _Lines:
    return [
        (
            trial.name,
            {name: trial.expected(name, is_generic=is_generic).text for name in trial.exchanges(is_generic=is_generic)},
        )
        for trial in FEED_TRIALS
    ]


def _orders(*, is_generic: bool) -> _Lines:
    return [
        (trial.name, {name: trial.expected(name, is_generic=is_generic).text for name in EXCHANGES})
        for trial in ORDER_TRIALS
    ]


def _differing(own: _Lines, generic: _Lines) -> _Lines:
    """The generic lines of which an exchange shows something else than with our own adapter."""
    return [
        (name, texts)
        for (_, own_texts), (name, texts) in zip(own, generic, strict=True)
        if any(own_texts[exchange] != text for exchange, text in texts.items())
    ]


def covered() -> tuple[FaultKind, ...]:
    """The kinds that have a line."""
    tried = {trial.kind for trial in FEED_TRIALS} | {trial.kind for trial in ORDER_TRIALS}
    return tuple(kind for kind in FAULT_KINDS if kind in tried)


def _table(lines: Iterable[tuple[str, dict[str, str]]]) -> str:
    """One column where all exchanges do the same, else what differs is said beside it."""
    rows = ["| fault | everywhere | but |", "|---|---|---|"]
    for name, texts in lines:
        said = list(texts.values())
        usual = max(said, key=said.count)
        others = [f"{exchange}: {text}" for exchange, text in texts.items() if text != usual]
        rows.append(f"| {name} | {usual} | {'<br>'.join(others)} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
