"""Who reads one partition of a topic, by how far each has come: one consumer reads for all, from where the one that is
furthest behind goes on. Pure."""

from typing import Generic, Protocol, TypeVar


class ComesFar(Protocol):
    next: int
    """Offset of the next row."""


Kernel = TypeVar("Kernel", bound=ComesFar)


class PartitionReaders(Generic[Kernel]):
    """Rows go to those that have come so far. Those that are further cost nothing until the reader has caught up with
    them: an app that begins is thousands of rows behind two hundred others."""

    def __init__(self) -> None:
        self._all: dict[int, Kernel] = {}
        self._here: dict[int, Kernel] = {}
        self._ahead: list[tuple[int, int]] = []
        """Where each of the others goes on and its place, the nearest last."""
        self._due: list[tuple[int, Kernel]] | None = None
        """What `due` returned last, while it holds."""

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, place: int, kernel: Kernel) -> None:
        """Let it read from the next `begin` on: rows that come until then may be behind its own next one."""
        self._all[place] = kernel

    def remove(self, place: int) -> None:
        self._all.pop(place, None)
        if self._here.pop(place, None) is not None:
            self._due = None

    def begin(self) -> int:
        """Return the offset from which is read on for all of them. There is at least one."""
        self._here, self._due = {}, None
        self._ahead = sorted(((kernel.next, place) for place, kernel in self._all.items()), reverse=True)
        return self._ahead[-1][0]

    def due(self, offset: int) -> list[tuple[int, Kernel]]:
        """Return those that take the row at the offset, each with its place. The offsets grow."""
        while self._ahead and self._ahead[-1][0] <= offset:
            _, place = self._ahead.pop()
            if place in self._all:
                self._here[place] = self._all[place]
                self._due = None
        if self._due is None:
            self._due = list(self._here.items())
        return self._due
