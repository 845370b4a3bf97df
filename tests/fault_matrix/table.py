"""Prints the matrix: `python -m tests.fault_matrix.table > docs/fault-matrix.md`."""

import sys
from collections.abc import Iterable

from exchanges.catalogue import EXCHANGES
from simulators.faults.fault_kinds import FAULT_KINDS, FaultKind
from tests.fault_matrix.trials import FEED_TRIALS, ORDER_TRIALS

_HEAD = """# Fault matrix

How feeds and the order path handle each injected fault, printed from the table that `tests/fault_matrix/` checks
(`python -m tests.fault_matrix.table > docs/fault-matrix.md`). Every fault runs on all simulated exchanges, with
the feeders' connection loop and the bots' account, over real sockets. The limit is `stale_after_ms`, 3 s by default.
The tests take 1.2 s, by the feed's own clock; if the sign is a message or the end of the connection they take 9 s, so
that nothing but the sign can withdraw the quote.

## Prices

The tests compare the published rows with the exchange's real books, step by step:

* no quote stays in force for longer than the limit after its five best levels a side stopped being the exchange's, or
  if they never were;
* no quote is crossed, empty or without amounts;
* the feed recovers by itself after the fault.

*at once*: with the message, or the end of the connection, that shows the fault, without a row in between. *within the
limit*: by the watchdog, or by the comparison with REST (with many markets each [has its
turn](exchanges.md#feeds-of-many-markets)), which finds a lost message of a stream without sequence or checksum unless
the book is crossed or corrected before. In brackets: the counter or reject reason that reports it; then the feed's
status.
"""
_ORDERS = """
## Orders

Results of placing an order, then of looking it up. *rejected*, *account rejected*: there is no order; *unknown*: it
must be looked up. Always: the order arrived once; the exchange's journal has it once, or not at all if the look-up
finds none; another order after it fills; balances are the opening ones plus fills minus fees, to the last digit.
"""


_THROUGH_CCXT = """
## Through ccxt

What differs in the same tests with `adapter = "generic"` ([any exchange](any-exchange.md)). bitFlyer's books come by
REST there: faults of streams do not concern it.

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
    """Return the generic lines of which an exchange shows something else than with our own adapter."""
    return [
        (name, texts)
        for (_, own_texts), (name, texts) in zip(own, generic, strict=True)
        if any(own_texts[exchange] != text for exchange, text in texts.items())
    ]


def covered() -> tuple[FaultKind, ...]:
    """Return the kinds that have a line."""
    tried = {trial.kind for trial in FEED_TRIALS} | {trial.kind for trial in ORDER_TRIALS}
    return tuple(kind for kind in FAULT_KINDS if kind in tried)


def _table(lines: Iterable[tuple[str, dict[str, str]]]) -> str:
    """One row for all faults with the same results; if exchanges differ, those that do stand beside it."""
    faults: dict[tuple[str, str], list[str]] = {}
    for name, texts in lines:
        said = list(texts.values())
        usual = max(said, key=said.count)
        others = [f"{exchange}: {text}" for exchange, text in texts.items() if text != usual]
        faults.setdefault((usual, "<br>".join(others)), []).append(name)
    rows = [f"| {'; '.join(names)} | {usual} | {others} |" for (usual, others), names in faults.items()]
    return "\n".join(["| faults | everywhere | but |", "|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
