"""Who reads one partition of a topic, by how far each has come: one reader reads for all that keep up with it, and
those that are further behind catch up by a second one. Pure."""

from bisect import insort
from typing import Generic, Protocol, TypeVar


class ComesFar(Protocol):
    next: int
    """Offset of the next row."""


Kernel = TypeVar("Kernel", bound=ComesFar)


class PartitionReaders(Generic[Kernel]):
    """Rows go to those that have come so far. Those that are further cost nothing until the reader has caught up with
    them. Those that are behind it get none of its rows: they take turns with the second reader until they are where it
    is. No reader's rows go to who came since it began."""

    def __init__(self) -> None:
        self.next: int | None = None
        """Offset of the next row of the reader; None before it has begun."""
        self.late: dict[int, Kernel] = {}
        """Those that are behind."""
        self._turn: dict[int, Kernel] = {}
        """Those of the latter to whom the second reader's rows go."""
        self._here: dict[int, Kernel] = {}
        self._further: dict[int, Kernel] = {}
        self._ahead: list[tuple[int, int]] = []
        """Where each of the latter goes on, negative, and its place: the nearest last."""
        self._due: list[tuple[int, Kernel]] | None = None
        """What `due` returned last, while it holds."""

    def __bool__(self) -> bool:
        return bool(self._here or self._further or self.late)

    def add(self, place: int, kernel: Kernel) -> None:
        """Let it read from its own next row on, whenever that comes."""
        if self.next is not None and kernel.next < self.next:
            self.late[place] = kernel
        else:
            self._wait(place, kernel)

    def remove(self, place: int) -> None:
        for some in (self.late, self._turn, self._further):
            some.pop(place, None)
        if self._here.pop(place, None) is not None:
            self._due = None

    def begin(self) -> int:
        """Return the offset from which the reader reads on: at first that of who is furthest, so that fresh rows wait
        for no past. Somebody is there to read for."""
        if self.next is None:
            self.next = max(kernel.next for kernel in self._further.values())
            for place, kernel in list(self._further.items()):
                if kernel.next < self.next:
                    self.late[place] = self._further.pop(place)
        return self.next

    def due(self, offset: int) -> list[tuple[int, Kernel]]:
        """Return those that take the reader's row at the offset, each with its place. The offsets grow."""
        if self.next is None:
            return []
        self.next = offset + 1
        while self._ahead and -self._ahead[-1][0] <= offset:
            _, place = self._ahead.pop()
            if place in self._further:
                self._here[place] = self._further.pop(place)
                self._due = None
        if self._due is None:
            self._due = list(self._here.items())
        return self._due

    def begin_turn(self) -> int:
        """Return the offset from which the second reader reads for those that are behind now. There is one."""
        self._turn = dict(self.late)
        return min(kernel.next for kernel in self._turn.values())

    def due_in_turn(self, offset: int) -> list[tuple[int, Kernel]]:
        """As `due`, of the second reader's row."""
        if self.next is None or offset >= self.next:
            # whatever lay between them and the reader is not in the log any more
            self._join(list(self._turn))
        return [(place, kernel) for place, kernel in self._turn.items() if kernel.next <= offset]

    def is_in_turn(self) -> bool:
        """Let those read with the others that are where the reader is; return whether others are not yet."""
        self._join([place for place, kernel in self._turn.items() if self.next is None or kernel.next >= self.next])
        return bool(self._turn)

    def _join(self, places: list[int]) -> None:
        for place in places:
            del self.late[place]
            self._wait(place, self._turn.pop(place))

    def _wait(self, place: int, kernel: Kernel) -> None:
        self._further[place] = kernel
        insort(self._ahead, (-kernel.next, place))
