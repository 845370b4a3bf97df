"""A table of results, handed out as pandas, polars or Arrow."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.errors import RefusedError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TIME = pa.timestamp("us", tz="UTC")
MONEY = pa.decimal128(38, 8)
"""Booked money has 8 digits; prices and amounts, which may have more, are doubles in tables."""


class Rows:
    """A table, one row per thing, oldest first.

    Times are timestamps in microseconds UTC, money is `decimal128(38, 8)` in the settlement currency, prices, amounts
    and bps are doubles; null where there is nothing. It has Arrow's C stream interface, so `polars.DataFrame(rows)`
    and `pyarrow.table(rows)` take it too.

    Example: `result.trades.to_pandas().groupby("base").net.sum()`.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return self._table.num_rows

    def __repr__(self) -> str:
        return f"Rows({len(self):,} × {', '.join(self.columns)})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in their order."""
        return tuple(self._table.column_names)

    def to_arrow(self) -> pa.Table:
        """Return the Arrow table itself."""
        return self._table

    def to_pandas(self, *, exact: bool = False) -> "pd.DataFrame":
        """Return a frame of shape (rows, columns). Money becomes doubles, or with `exact` Decimals."""
        frame: pd.DataFrame = (self._table if exact else _as_doubles(self._table)).to_pandas()
        return frame

    def to_polars(self) -> "pl.DataFrame":
        """Return a polars frame of shape (rows, columns); money is `Decimal`. Raises RefusedError without polars."""
        try:
            import polars  # noqa: PLC0415 - not a requirement of ours
        except ImportError:
            raise RefusedError("polars is not installed; install it (pip install polars), or use to_pandas.") from None
        return polars.DataFrame(self)


def rows_of(rows: Iterable[Mapping[str, object]], columns: Mapping[str, pa.DataType]) -> Rows:
    """Return a table with these columns; times in microseconds, a column that a row lacks is null."""
    schema = pa.schema(list(columns.items()))
    made: list[dict[str, Any]] = [dict(row) for row in rows]
    return Rows(pa.Table.from_pylist(made, schema=schema))


def _as_doubles(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            doubles: Any = pc.cast(table.column(place), pa.float64())
            table = table.set_column(place, field.name, doubles)
    return table
