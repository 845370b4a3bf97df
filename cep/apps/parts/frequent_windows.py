"""Windows that keep the keys which come most often, by approximate counts. Semantics are Siddhi 5.1's.

`frequent` is by Misra and Gries (https://doi.org/10.1016/0167-6423(82)90012-0), `lossyFrequent` by Manku and Motwani
(https://www.vldb.org/conf/2002/S10P03.pdf).
"""

import math
from collections.abc import Hashable, Iterable

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, Chunk, Event, Receiver, Row
from cep.apps.parts.windows import Key


class FrequentWindow(Stateful):
    """The last event of each of the `most` keys that come most often."""

    STATE = ("_last", "_counts")

    def __init__(self, context: PartContext, emit: Receiver, most: int, key: Key) -> None:
        self._context, self._emit, self._most, self._key = context, emit, most, key
        self._last: dict[Hashable, Event] = {}
        self._counts: dict[Hashable, int] = {}
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out += self._entered(self._key(row, at), at, row)
        if out:
            self._emit(out)

    def _entered(self, key: Hashable, at: int, row: Row) -> Chunk:
        event: Event = (EXPIRED, at, row)
        if key in self._counts:
            self._last[key] = event
            self._counts[key] += 1
            return [(CURRENT, at, row)]
        out = self._made_room() if len(self._counts) == self._most else []
        if len(self._counts) == self._most:
            return out
        self._last[key], self._counts[key] = event, 1
        return [*out, (CURRENT, at, row)]

    def _made_room(self) -> Chunk:
        """Every key is counted down; those at zero leave."""
        out: Chunk = []
        for key in list(self._counts):
            self._counts[key] -= 1
            if self._counts[key] == 0:
                del self._counts[key]
                out.append((EXPIRED, self._context.now, self._last.pop(key)[2]))
        return out

    def rows(self) -> Iterable[Event]:
        return self._last.values()


class LossyFrequentWindow(Stateful):
    """The last event of each key that makes up `support` of all events, to within `error`."""

    STATE = ("_last", "_counts", "_total", "_bucket")

    def __init__(self, context: PartContext, emit: Receiver, support: float, error: float, key: Key) -> None:
        self._context, self._emit, self._support, self._error, self._key = context, emit, support, error, key
        self._width = math.ceil(1 / error)
        self._last: dict[Hashable, Event] = {}
        self._counts: dict[Hashable, tuple[int, int]] = {}
        """Events, and the bucket before the first of them."""
        self._total, self._bucket = 0, 1
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            key = self._key(row, at)
            self._total += 1
            if self._total != 1:
                self._bucket = math.ceil(self._total / self._width)
            count, bucket = self._counts.get(key, (0, self._bucket - 1))
            self._last[key], self._counts[key] = (EXPIRED, at, row), (count + 1, bucket)
            if count + 1 >= (self._support - self._error) * self._total:
                out.append((CURRENT, at, row))
            if self._total % self._width == 0:
                out += self._pruned()
        if out:
            self._emit(out)

    def _pruned(self) -> Chunk:
        rare = [key for key, (count, bucket) in self._counts.items() if count + bucket <= self._bucket]
        for key in rare:
            del self._counts[key]
        return [(EXPIRED, self._context.now, self._last.pop(key)[2]) for key in rare]

    def rows(self) -> Iterable[Event]:
        return self._last.values()
