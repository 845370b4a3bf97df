"""A set of the newest names, in memory of a fixed size."""

from array import array
from collections.abc import Hashable

_FOR_ZERO = 0x5BD1E995A7C3F1D5 >> 1
"""In place of a hash of 0, which marks a free slot."""


class RecentNames:
    """At least the newest `most` names, at most twice as many. Of each only its hash is kept, 64 bits, in a table: as
    texts in a dictionary a hundred thousand take 28 MB, so 2. That two names are taken for one happens once in a
    billion sets."""

    __slots__ = ("_count", "_most", "_newer", "_older", "_slots")

    def __init__(self, most: int) -> None:
        self._most = most
        self._slots = 1 << (most * 3 // 2).bit_length()
        """More than names by half, so that a free one is near; a power of two."""
        self._newer: array[int] | None = None
        self._older: array[int] | None = None
        self._count = 0

    def is_new(self, name: Hashable) -> bool:
        """Whether `name` was not in the set; adds it."""
        key = hash(name) or _FOR_ZERO
        if self._newer is None:
            self._newer = array("q", bytes(8 * self._slots))
        place = _place_of(key, self._newer)
        if self._newer[place] or (self._older is not None and self._older[_place_of(key, self._older)]):
            return False
        self._newer[place] = key
        self._count += 1
        if self._count >= self._most:
            self._newer, self._older, self._count = None, self._newer, 0
        return True


def _place_of(key: int, slots: "array[int]") -> int:
    """Return where the key is, or the free slot where it belongs."""
    last = len(slots) - 1
    place = key & last
    while (found := slots[place]) and found != key:
        place = (place + 1) & last
    return place
