"""One call of an exchange's API: what answers it, and which fields it knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.matching.order_records import RequestRejectedError

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A field that the call does not know is rejected, so that nobody relies on what the exchange does not have."""

    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()

    def __call__(self, fields: Fields) -> object:
        """What goes on the wire. Raises RequestRejectedError."""
        for name in fields:
            if name not in self.known:
                raise RequestRejectedError("invalid_request", name)
        return self.answer(fields)


def known(*names: str) -> frozenset[str]:
    return frozenset(names)
