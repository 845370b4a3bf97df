"""Rows that are kept long and read seldom, as text: there are 253 markets, and a Decimal alone has 104 bytes."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Row = TypeVar("Row")


class PackedRows(Generic[Row]):
    """The newest `most` rows, oldest first; `unpack` makes of a row's text what `pack` was given."""

    def __init__(self, most: int, pack: Callable[[Row], str], unpack: Callable[[str], Row]) -> None:
        self._texts: deque[str] = deque(maxlen=most)
        self._pack = pack
        self._unpack = unpack

    def append(self, row: Row) -> None:
        self._texts.append(self._pack(row))

    def pop_oldest(self) -> Row:
        """Raises IndexError where there is none."""
        return self._unpack(self._texts.popleft())

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[Row]:
        return map(self._unpack, self._texts)

    def __reversed__(self) -> Iterator[Row]:
        return map(self._unpack, reversed(self._texts))
