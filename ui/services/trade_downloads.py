"""Trades and arbitrages as CSV and Parquet files, written while they are sent: only a bounded part is in memory.

Money stays exact. In CSV every amount is the decimal string that REST shows. In Parquet realised P&L is
`decimal128(38, 8)`, since it is rounded to 8 digits when it is booked; prices, amounts and fees are strings, since an
exchange may report more digits than one decimal type holds.
"""

import asyncio
import csv
import io
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from market.money import optional_text, text_of
from market.time_units import MICROSECONDS
from market.trade.arbitrages import PROFIT_PARTS, Leg, LegRole
from runtime.clock import wall_now
from store.queries.trade_history import ArbitrageSummary, BookedFill

Row = TypeVar("Row")
Kind = Literal["text", "amount", "number", "money", "time"]
"""`amount`: a decimal with all its digits; `money`: one of at most 8 decimals; `time`: microseconds."""

FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet evaluates a cell that begins with these; OWASP, "CSV Injection"."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    name: str
    kind: Kind
    value: Callable[[Row], str | float | int | Decimal | None]


@dataclass(frozen=True, slots=True)
class DownloadTable(Generic[Row]):
    """The columns of a file; its name begins with `name`."""

    name: str
    columns: tuple[Column[Row], ...]


FILLS: DownloadTable[BookedFill] = DownloadTable(
    "trades",
    (
        Column("filled_at", "time", lambda one: one.fill.filled_at),
        Column("arbitrage_id", "text", lambda one: one.arbitrage_id),
        Column("strategy", "text", lambda one: one.strategy),
        Column("state", "text", lambda one: one.state),
        Column("base", "text", lambda one: one.base),
        Column("role", "text", lambda one: one.role),
        Column("exchange", "text", lambda one: one.fill.exchange),
        Column("symbol", "text", lambda one: one.fill.symbol),
        Column("side", "text", lambda one: one.fill.side),
        Column("price", "amount", lambda one: one.fill.price),
        Column("amount", "amount", lambda one: one.fill.amount),
        Column("cost", "amount", lambda one: one.fill.cost),
        Column("fee", "amount", lambda one: one.fill.fee),
        Column("fee_currency", "text", lambda one: one.fill.fee_currency),
        Column("fill_id", "text", lambda one: one.fill.fill_id),
        Column("outcome", "text", lambda one: one.outcome),
        Column("arbitrage_net", "money", lambda one: one.net),
    ),
)


def _part(name: str) -> Column[ArbitrageSummary]:
    def value(one: ArbitrageSummary) -> Decimal | None:
        return None if one.profit is None else getattr(one.profit, name)

    return Column(name, "money", value)


def _leg_columns(role: LegRole) -> tuple[Column[ArbitrageSummary], ...]:
    """Return what the first order of that side filled, and its mean price."""

    def of_leg(value: Callable[[Leg], Decimal | None]) -> Callable[[ArbitrageSummary], Decimal | None]:
        return lambda one: None if (leg := one.leg(role)) is None else value(leg)

    return (
        Column(f"{role}_filled", "amount", of_leg(lambda leg: leg.filled)),
        Column(f"{role}_price", "amount", of_leg(lambda leg: leg.mean_price)),
    )


def _order_words(leg: Leg) -> str:
    """Return a third order in words: `complete sell 0.01 at 101.5 on kraken`."""
    return f"{leg.role} {leg.side} {text_of(leg.filled)} at {optional_text(leg.mean_price)} on {leg.exchange}"


ARBITRAGES: DownloadTable[ArbitrageSummary] = DownloadTable(
    "arbitrages",
    (
        Column("reserved_at", "time", lambda one: one.reserved_at),
        Column("ended_at", "time", lambda one: one.times.get("ended")),
        Column("arbitrage_id", "text", lambda one: one.arbitrage_id),
        Column("strategy", "text", lambda one: one.strategy),
        Column("state", "text", lambda one: one.state),
        Column("reason", "text", lambda one: one.reason),
        Column("base", "text", lambda one: one.base),
        Column("buy_exchange", "text", lambda one: one.buy_exchange),
        Column("buy_symbol", "text", lambda one: one.buy_symbol),
        Column("sell_exchange", "text", lambda one: one.sell_exchange),
        Column("sell_symbol", "text", lambda one: one.sell_symbol),
        Column("amount", "amount", lambda one: one.amount),
        Column("net_bps_seen", "number", lambda one: one.net_bps),
        Column("event_time", "time", lambda one: one.event_time),
        Column("currency", "text", lambda one: None if one.profit is None else one.profit.currency),
        *map(_part, PROFIT_PARTS),
        Column("outcome", "text", lambda one: one.outcome),
        *_leg_columns("buy"),
        *_leg_columns("sell"),
        Column("third_orders", "text", lambda one: "; ".join(map(_order_words, one.third_orders))),
    ),
)


async def csv_parts(table: DownloadTable[Row], lists: AsyncIterator[Sequence[Row]]) -> AsyncGenerator[bytes]:
    """Yield CSV as in RFC 4180, in UTF-8; times as ISO 8601 in UTC; an empty cell if there is nothing."""
    yield _csv([[column.name for column in table.columns]])
    async for rows in lists:
        yield await asyncio.to_thread(_csv_rows, table, rows)


async def parquet_parts(
    table: DownloadTable[Row], lists: AsyncIterator[Sequence[Row]], metadata: Mapping[str, str]
) -> AsyncGenerator[bytes]:
    """Yield the file: one row group per list; `metadata` is kept with the schema."""
    sink = _Sink()
    writer = await asyncio.to_thread(_ParquetFile, table, metadata, sink)
    try:
        async for rows in lists:
            await asyncio.to_thread(writer.write, rows)
            yield sink.taken()
    finally:
        await asyncio.to_thread(writer.close)
    yield sink.taken()


def file_name(table_name: str, session_id: str, suffix: str) -> str:
    """Return a name with the session and the time of the request."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", session_id).strip("-") or "session"
    asked = datetime.fromtimestamp(wall_now() / MICROSECONDS, UTC)
    return f"{table_name}_{plain}_{asked:%Y%m%dT%H%M%SZ}.{suffix}"


def formula_safe(text: str) -> str:
    """Return text that no spreadsheet evaluates as a formula."""
    return f"'{text}" if text.startswith(FORMULA_MARKS) else text


class _Sink(io.RawIOBase):
    """Keeps what was written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: object) -> int:
        self._parts.append(bytes(part))  # type: ignore[call-overload]  # Arrow gives a buffer
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


class _ParquetFile(Generic[Row]):
    """Writes rows into `sink`; to be made and used in a thread."""

    def __init__(self, table: DownloadTable[Row], metadata: Mapping[str, str], sink: _Sink) -> None:
        # Arrow takes 40 MB of a process that may never be asked for such a file
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        types: dict[Kind, pa.DataType] = {
            "text": pa.string(),
            "amount": pa.string(),
            "number": pa.float64(),
            "money": pa.decimal128(38, 8),
            "time": pa.timestamp("us", tz="UTC"),
        }
        self._columns = [(column, types[column.kind]) for column in table.columns]
        self._schema = pa.schema(
            [pa.field(column.name, type_) for column, type_ in self._columns],
            metadata={name.encode(): value.encode() for name, value in metadata.items()},
        )
        self._arrow = pa
        self._writer = pq.ParquetWriter(pa.PythonFile(sink, "w"), self._schema, compression="zstd")

    def write(self, rows: Sequence[Row]) -> None:
        """Write one row group."""
        columns = [
            self._arrow.array([_stored(column.kind, column.value(row)) for row in rows], type_)
            for column, type_ in self._columns
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _csv_rows(table: DownloadTable[Row], rows: Sequence[Row]) -> bytes:
    return _csv([[_cell(column.kind, column.value(row)) for column in table.columns] for row in rows])


def _csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(kind: Kind, value: str | float | Decimal | None) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        # a number, and so no formula even if it is negative
        return text_of(value)
    if kind == "time":
        return _iso(int(value))
    return formula_safe(value) if isinstance(value, str) else repr(value)


def _iso(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, MICROSECONDS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"


def _stored(kind: Kind, value: str | float | Decimal | None) -> str | float | Decimal | None:
    return text_of(value) if kind == "amount" and isinstance(value, Decimal) else value
