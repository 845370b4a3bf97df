"""One call of an exchange's API: its handler and its fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.matching.order_records import RequestRejectedError

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """An unknown field is rejected, so that clients cannot rely on something that the exchange does not have."""

    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()

    def __call__(self, fields: Fields) -> object:
        """The response body. Raises RequestRejectedError."""
        for name in fields:
            if name not in self.known:
                raise RequestRejectedError("invalid_request", name)
        return self.answer(fields)


def known(*names: str) -> frozenset[str]:
    return frozenset(names)
