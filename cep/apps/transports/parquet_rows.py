"""Rows as a file of Parquet: the columns of a stream, before them the row's id and its time. Its library is imported
when a file is written."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cep.apps.ends.sink_ends import Columns
from cep.apps.transports.ports import OutgoingRow

if TYPE_CHECKING:
    import pyarrow as pa

MEDIA_TYPE = "application/vnd.apache.parquet"
ID, TIME = "row_id", "row_time"
"""Columns before those of the stream, unless it has columns of these names."""


def parquet_file(columns: Columns, rows: Sequence[OutgoingRow]) -> bytes:
    """Raise ValueError if a value does not fit its column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(columns)
    found = [{ID: row.id, TIME: row.time, **row.values} for row in rows]
    try:
        table = pa.Table.from_pylist(found, schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise ValueError(f"a value does not fit its column ({error})") from None
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    return bytes(buffer.getvalue().to_pybytes())


def _schema(columns: Columns) -> "pa.Schema":
    import pyarrow as pa

    types = {
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bool": pa.bool_(),
    }
    names = [name for name, _ in columns]
    own: list[Any] = [pa.field(ID, pa.string()), pa.field(TIME, pa.timestamp("ms", "UTC"))]
    # a decimal is a text, as in the topic
    stream = [pa.field(name, types.get(kind, pa.string())) for name, kind in columns]
    return pa.schema([*(one for one in own if one.name not in names), *stream])
