"""Cuts the records of simulated and of paper accounts at the database's moment.

They are read after the database, so they may have orders that it does not know. A record is written in order, so
everything from the first such order on is later than the database's moment, and nothing before it is missing.
"""

import json
from collections.abc import Iterable, Iterator

from exchanges.ports.order_terms import whole_id


def until_first_unknown(lines: Iterable[bytes], unknown: frozenset[str]) -> Iterator[bytes]:
    """Return whole lines up to the first with an order of one of these ids, ours or the exchange's."""
    for line in lines:
        if not line.endswith(b"\n") or (unknown and not unknown.isdisjoint(_orders_in(line))):
            return
        yield line


def _orders_in(line: bytes) -> Iterator[str]:
    try:
        pending = [json.loads(line)]
    except ValueError:
        return
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
            for name in ("client_order_id", "order_id"):
                if value.get(name) is not None:
                    found = str(value[name])
                    # in an exchange's own records ours may have no hyphens
                    yield from (found, whole_id(found))
