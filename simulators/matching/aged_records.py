"""Orders that ended a while ago and their fills, in a temporary file that is gone with the process: the journal has
them too."""

import sqlite3
from collections.abc import Iterable, Iterator
from weakref import finalize

from pydantic import TypeAdapter

from simulators.matching.order_records import SimulatedFill, SimulatedOrder

_ORDER, _FILL = TypeAdapter(SimulatedOrder), TypeAdapter(SimulatedFill)
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -256;
CREATE TABLE orders (number INTEGER PRIMARY KEY, id TEXT, client_id TEXT, symbol TEXT, ended_at INTEGER, row BLOB);
CREATE INDEX orders_id ON orders (id);
CREATE INDEX orders_client_id ON orders (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX orders_symbol ON orders (symbol, number);
CREATE INDEX orders_ended_at ON orders (ended_at);
CREATE TABLE fills (place INTEGER PRIMARY KEY, id TEXT, order_id TEXT, symbol TEXT, filled_at INTEGER, row BLOB);
CREATE INDEX fills_id ON fills (id);
CREATE INDEX fills_order_id ON fills (order_id);
CREATE INDEX fills_symbol ON fills (symbol, place);
CREATE INDEX fills_filled_at ON fills (filled_at);
"""
"""Nothing has to outlive the process, and a quarter of a megabyte is enough for what is asked for."""

PlacedFill = tuple[int, SimulatedFill]
"""A fill and its place among all of the account, in the order in which they were booked."""


class AgedRecords:
    """What does not change any more; nothing of it is in memory."""

    def __init__(self) -> None:
        # without a name it is a temporary file (sqlite.org, "In-Memory Databases")
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        finalize(self, self._database.close)
        self._database.executescript(_TABLES)

    def put(self, orders: Iterable[SimulatedOrder], fills: Iterable[PlacedFill]) -> None:
        """Add orders that have ended, and their fills."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?, ?, ?)",
            (
                (one.number, one.order_id, one.client_order_id, one.symbol, one.ended_at, _ORDER.dump_json(one))
                for one in orders
            ),
        )
        self._database.executemany(
            "INSERT OR REPLACE INTO fills VALUES (?, ?, ?, ?, ?, ?)",
            (
                (place, one.fill_id, one.order_id, one.symbol, one.filled_at, _FILL.dump_json(one))
                for place, one in fills
            ),
        )
        self._database.execute("COMMIT")

    def order(self, order_id: str) -> SimulatedOrder | None:
        return next(self._orders("id = ?", order_id), None)

    def orders_by_client_id(self, client_order_id: str) -> list[SimulatedOrder]:
        """Return them oldest first."""
        return list(self._orders("client_id = ? ORDER BY number", client_order_id))

    def newest_orders(self, symbol: str | None, ended_after: int | None) -> Iterator[SimulatedOrder]:
        """Return orders newest first, of one market or of all; `ended_after` in microseconds."""
        asked: dict[str, object] = {}
        if symbol is not None:
            asked["symbol = ?"] = symbol
        if ended_after is not None:
            asked["ended_at > ?"] = ended_after
        condition = " AND ".join(asked) or "1"
        return self._orders(f"{condition} ORDER BY number DESC", *asked.values())

    def order_ids(self) -> Iterator[str]:
        """Return the ids, oldest first."""
        return (str(order_id) for (order_id,) in self._database.execute("SELECT id FROM orders ORDER BY number"))

    def order_count(self) -> int:
        [(count,)] = self._database.execute("SELECT count(*) FROM orders")
        return int(count)

    def newest_fills(self, since: int, symbol: str | None) -> Iterator[PlacedFill]:
        """Return fills newest first, of one market or of all; `since` in microseconds."""
        if symbol is not None:
            return self._fills("symbol = ? AND filled_at >= ? ORDER BY place DESC", symbol, since)
        return self._fills("filled_at >= ? ORDER BY place DESC", since)

    def oldest_fills(self) -> Iterator[PlacedFill]:
        return self._fills("1 ORDER BY place")

    def fill(self, fill_id: str) -> SimulatedFill | None:
        return next((one for _, one in self._fills("id = ?", fill_id)), None)

    def fills_of(self, order_id: str) -> list[SimulatedFill]:
        """Return them oldest first."""
        return [one for _, one in self._fills("order_id = ? ORDER BY place", order_id)]

    def _orders(self, condition: str, *values: object) -> Iterator[SimulatedOrder]:
        found = self._database.execute(f"SELECT row FROM orders WHERE {condition}", values)  # noqa: S608 - our own words
        return (_ORDER.validate_json(row) for (row,) in found)

    def _fills(self, condition: str, *values: object) -> Iterator[PlacedFill]:
        found = self._database.execute(f"SELECT place, row FROM fills WHERE {condition}", values)  # noqa: S608 - likewise
        return ((place, _FILL.validate_json(row)) for place, row in found)
