"""Tables of an app: rows that queries write and read. With a primary key a row whose key is there already is dropped,
as in Siddhi 5.1."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cep.apps.parts.app_context import Stateful
from cep.apps.parts.chunks import CURRENT, Chunk, Event, Row
from cep.apps.parts.scope import Columns

Meets = Callable[[Row, int, Row], bool]
"""Takes a query's row, its time and a row of the table."""
Changed = Callable[[Row, int, Row], Row]
"""What becomes of a row of the table."""
TableListener = Callable[[Hashable, Row | None], None]
"""Takes a row's key, and what the row is by now; None: it is gone. Without a primary key rows are numbered."""


class Table(Stateful):
    """The rows in the order in which they came."""

    STATE = ("_rows", "_number")

    def __init__(self, columns: Columns, key: tuple[int, ...] = ()) -> None:
        self.columns = columns
        self._key = key
        self._rows: dict[Hashable, Row] = {}
        self._number = 0
        self._listener: TableListener | None = None

    def listen(self, listener: TableListener) -> None:
        """Call `listener` with each change from now on; there is one at most."""
        self._listener = listener

    def fill(self, row: Row, number: int) -> None:
        """Fill in a row that was there before, with the number that it had, 0 if it had a key; no listener hears of it.
        Raises ValueError if the table had another key."""
        key = tuple(row[place] for place in self._key) if self._key else number
        if bool(self._key) == bool(number) or key in self._rows:
            raise ValueError("kept with another key: give the table another collection")
        self._number = max(self._number, number)
        self._rows[key] = row

    def clear(self) -> None:
        """Forget all rows; no listener hears of it."""
        self._rows.clear()
        self._number = 0

    @property
    def key_columns(self) -> Columns:
        """Return the columns of the primary key; none if rows are numbered."""
        return tuple(self.columns[place] for place in self._key)

    def put(self, key: Hashable, row: Row | None) -> None:
        """Put a row as a change made elsewhere left it; None: it is gone. No listener hears of it. Raises
        ValueError if the row has another key."""
        if row is not None and self._key and tuple(row[place] for place in self._key) != key:
            raise ValueError("kept with another key: give the table another collection")
        if isinstance(key, int):
            self._number = max(self._number, key)
        if row is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = row

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @contextmanager
    def whole(self, settle: Callable[[], None]) -> Iterator[None]:
        """Write what is written while it lasts whole, or if anything is raised not at all; the listener hears of it at
        its end. `settle`: called before either, after which nothing more may be raised from outside."""
        rows, number, listener = dict(self._rows), self._number, self._listener
        reported = list[tuple[Hashable, Row | None]]()
        self._listener = None if listener is None else lambda key, row: reported.append((key, row))
        try:
            yield
            settle()
        except BaseException:
            try:
                settle()
            finally:
                self._rows, self._number, self._listener = rows, number, listener
            raise
        self._listener = listener
        for key, row in reported:
            self._tell(key, row)

    def rows(self) -> Iterable[Event]:
        return [(CURRENT, 0, row) for row in self._rows.values()]

    def has(self, meets: Callable[[Row], bool]) -> bool:
        return any(meets(row) for row in self._rows.values())

    def insert(self, row: Row) -> None:
        key = self._key_of(row)
        if key not in self._rows:
            self._rows[key] = row
            self._tell(key, row)

    def update(self, row: Row, at: int, meets: Meets, changed: Changed) -> bool:
        """Whether a row met the condition. Nothing changes if two rows would have one key then."""
        met = [key for key, kept in self._rows.items() if meets(row, at, kept)]
        after = [changed(row, at, self._rows[key]) for key in met]
        keys = [self._key_of(one) for one in after] if self._key else met
        if keys != met and self._collide(met, keys):
            return True
        for key, new_key in zip(met, keys, strict=True):
            # all of them first: two rows may change their keys with each other
            if new_key != key:
                del self._rows[key]
                self._tell(key, None)
        for new_key, one in zip(keys, after, strict=True):
            self._rows[new_key] = one
            self._tell(new_key, one)
        return bool(met)

    def _collide(self, before: Sequence[Hashable], after: Sequence[Hashable]) -> bool:
        others = self._rows.keys() - set(before)
        return len(set(after)) < len(after) or not others.isdisjoint(after)

    def delete(self, row: Row, at: int, meets: Meets) -> None:
        for key in [key for key, kept in self._rows.items() if meets(row, at, kept)]:
            del self._rows[key]
            self._tell(key, None)

    def _tell(self, key: Hashable, row: Row | None) -> None:
        if self._listener is not None:
            self._listener(key, row)

    def _key_of(self, row: Row) -> Hashable:
        if self._key:
            return tuple(row[place] for place in self._key)
        self._number += 1
        return self._number


def _always(_: Row, __: int, ___: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class TableWrite:
    """What a query does to a table with each of its rows. Inserts alone if `changed` is None and nothing is
    deleted."""

    table: Table
    meets: Meets = _always
    changed: Changed | None = None
    deletes: bool = False
    inserts: bool = True
    """Also of an update that met no row."""

    def receive(self, chunk: Chunk) -> None:
        for _, at, row in chunk:
            if self.deletes:
                self.table.delete(row, at, self.meets)
            elif self.changed is None or (not self.table.update(row, at, self.meets, self.changed) and self.inserts):
                self.table.insert(row)
