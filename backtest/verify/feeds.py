"""Compares the ticks of the log with the feeds' own recordings, if there are any.

Detection notices an altered tick only if it changes an opportunity; this check notices every one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from backtest.verify.first_difference import FirstDifference, first_unlike
from backtest.verify.opportunities import digest_of
from pricefeeds.recording.feed_recording import RecordedEvent, parts_of, read_recording
from streams.message_format import row_of
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.schema import TICK_FIELDS
from tick_sets.sets.tick_set import TickSet, batches

Place = tuple[str, str, int, int]
"""Symbol, kind, sequence, received time."""
PRICES = {"bid_price": "bid", "ask_price": "ask"}


def feed_difference(folder: Path, tick_set: TickSet) -> tuple[int, FirstDifference | None]:
    """Return the number of compared ticks, and the first difference. `folder`: the session's, with one folder per
    exchange."""
    compared = 0
    for exchange in sorted(path for path in folder.iterdir() if path.is_dir() and parts_of(path)):
        published = _published(exchange)
        for base in tick_set.manifest.bases:
            for row in _ticks(tick_set, base, exchange.name):
                place = _place(row)
                if place not in published:
                    continue
                compared += 1
                found = _difference(exchange, row, place, published[place])
                if found is not None:
                    return compared, found
    return compared, None


def _difference(exchange: Path, row: Mapping[str, object], place: Place, digest: bytes) -> FirstDifference | None:
    where = f"tick {exchange.name}:{place[0]}:{place[2]}"
    for double, text in PRICES.items():
        if row[text] is not None and row[double] != float(str(row[text])):
            return FirstDifference(where, double, row[text], row[double])
    if _digest(row) == digest:
        return None
    original = next(
        (published for published in _rows(exchange) if _place(published) == place and _digest(published) == digest), {}
    )
    own = {name: original.get(name) for name in TICK_FIELDS}
    found = first_unlike(own, {name: row.get(name) for name in TICK_FIELDS})
    return (
        None
        if found is None
        else FirstDifference(where, found[0], f"{found[1]} by its feeder", f"{found[2]} in the log")
    )


def _published(exchange: Path) -> dict[Place, bytes]:
    """Return the feed's published rows, without those that it published twice with different content."""
    published: dict[Place, bytes] = {}
    ambiguous: set[Place] = set()
    for row in _rows(exchange):
        place, digest = _place(row), _digest(row)
        if published.setdefault(place, digest) != digest:
            ambiguous.add(place)
    return {place: digest for place, digest in published.items() if place not in ambiguous}


def _rows(exchange: Path) -> Iterator[Mapping[str, object]]:
    try:
        for entry in read_recording(exchange):
            if isinstance(entry, RecordedEvent) and entry.kind == "row":
                row = row_of(entry.data.encode() if isinstance(entry.data, str) else entry.data)
                if "kind" in row:
                    yield row
    except ImportRejectedError:
        # a damaged recording of a feed proves nothing about the log
        return


def _ticks(tick_set: TickSet, base: str, exchange: str) -> Iterator[Mapping[str, object]]:
    for rows in batches(tick_set, base, [*TICK_FIELDS, *PRICES]):
        for row in rows.to_pylist():
            if row["exchange"] == exchange:
                yield row


def _place(row: Mapping[str, object]) -> Place:
    return str(row["symbol"]), str(row["kind"]), _integer(row.get("sequence")), _integer(row["received_time"])


def _digest(row: Mapping[str, object]) -> bytes:
    return digest_of(repr([row.get(name) for name in TICK_FIELDS]).encode())


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
