"""Rows of the log as a tick set holds them: what an importer or a session's recorder would make of them."""

from typing import Any

import pyarrow as pa

from streams.message_format import row_of
from tick_sets.sets.schema import TICK_SCHEMA

WHOLE = ("settings", "probe", "end")


def tick_table(messages: list[bytes], base: str, with_levels: bool = True) -> pa.Table:
    """TICK_SCHEMA; `offset` is the place in `messages`. `with_levels` False: of the levels the best alone."""
    rows = []
    for offset, message in enumerate(messages):
        row = row_of(message)
        if base in (row.get("bases") or [row["base"]]):
            rows.append(_tick(offset, row, message, with_levels))
    return pa.Table.from_pylist(rows, schema=TICK_SCHEMA)


def _tick(offset: int, row: dict[str, Any], message: bytes, with_levels: bool) -> dict[str, Any]:
    tick = {name: row.get(name) for name in TICK_SCHEMA.names} | {"offset": offset}
    if row["kind"] in WHOLE:
        return {
            "offset": offset,
            "kind": row["kind"],
            "received_time": row["received_time"],
            "document": message.decode(),
        }
    if row.get("bid") is not None:
        tick |= {"bid_price": float(row["bid"]), "ask_price": float(row["ask"])}
    if not with_levels:
        tick |= {"bids": None, "asks": None}
    return tick
