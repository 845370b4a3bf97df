"""The file format of a recording: writing it, and reading it with truncated files included.

`<home>/recordings/<session>/<exchange>/<exchange>-0001.jsonl.gz`, `-0002`, …: gzip, one JSON object a line.

* The first line of each file: `{"format": 1, "session_id", "exchange", "part", "opened_at", "markets", "settings"}`.
* Then events: `symbol`, `kind`, `now` (microseconds UTC) and the data as `text`, as `bytes` (they were bytes, and
  UTF-8) or as `base64` (bytes that are not). What an exchange sent is recorded unchanged; what was sent to it is not
  recorded.
* The last line: `{"end": "closed"}`, `"continued"` if another file goes on, `"stopped"` if the recording ended
  before the feed did. A file without it was truncated by a crash.
"""

import base64
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import orjson
from pydantic import TypeAdapter, ValidationError

from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.quotes import Quote
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row
from streams.message_format import levels_of, levels_text, mark_row, quote_row, reject_row
from tick_sets.errors import reject

FORMAT = 1
SUFFIX = ".jsonl.gz"
CHUNK_BYTES = 1 << 16
GZIP = 31
"""zlib's `wbits` for gzip with the largest window."""

RecordedEventKind = Literal[
    "started",
    "opened",
    "frame",
    "snapshot",
    "book",
    "confirmed",
    "offset",
    "depth",
    "alive",
    "lost",
    "closed",
    "row",
]
"""What happened to a symbol's feed, and the event's data:

* `started`: a new SymbolFeed; the last sequence of the symbol in the log, in digits
* `opened`, `closed`: a new connection with a new Conversation, and its end; no data
* `frame`: a message of the exchange's stream, as received
* `snapshot`: the body of a REST response that the Conversation requested
* `book`: a book without a Conversation (`book_text`)
* `confirmed`: REST confirmed the newest book; the time at which it was in force, in microseconds UTC
* `offset`: the exchange's clock was measured; its offset to ours in microseconds
* `depth`: how deep trades reach into the book, as notional in quote currency, from now on
* `alive`: renewal of the quote, once a second, or a newer one in its place; no data
* `lost`: the quote was withdrawn; the feed's new status
* `row`: a row that was published (`row_text`)
"""
EndReason = Literal["closed", "continued", "stopped"]

EVENT_KINDS: tuple[str, ...] = get_args(RecordedEventKind)
END_REASONS: tuple[str, ...] = get_args(EndReason)
_PART_NUMBER = re.compile(r"-(\d+)" + re.escape(SUFFIX) + "$")


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """The first line of every file of a recording. Contains no secret."""

    session_id: str
    exchange: str
    markets: tuple[Market, ...]
    settings: dict[str, str] = field(default_factory=dict)
    """The feeds' settings: `late_after`, the maximum age of a book in microseconds, and the `adapter` and `ccxt`'s
    exchange whose frames they are; older recordings are of the exchange itself by its own adapter."""
    part: int = 1
    opened_at: int = 0
    """Microseconds UTC of the first event; 0 if there is none."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event of a symbol's feed at `now` (microseconds UTC)."""

    symbol: str
    kind: RecordedEventKind
    now: int
    data: str | bytes = b""


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The end of a file; `reason` None if it was truncated: rows of the last event may be missing."""

    path: Path
    reason: EndReason | None


_HEADER = TypeAdapter(RecordingHeader)


def row_text(row: Row) -> bytes:
    """Return a published row as written, without the `bases` that each partition of the log adds to an FX row."""
    if isinstance(row, Quote):
        return quote_row(row)
    return reject_row(row.quote, row.reason) if isinstance(row, RejectedQuote) else mark_row(row)


def book_text(top: BookTop) -> bytes:
    book = {"bids": levels_text(top.bids), "asks": levels_text(top.asks), "exchange_time": top.exchange_time}
    return orjson.dumps(book)


def book_of(text: str | bytes) -> BookTop:
    """Raise ValueError for anything that `book_text` did not write."""
    try:
        book = orjson.loads(text)
        return BookTop(levels_of(book["bids"]), levels_of(book["asks"]), book["exchange_time"])
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"not a book: {error!r}") from error


def header_line(header: RecordingHeader) -> bytes:
    return _HEADER.dump_json(header) + b"\n"


def event_line(event: RecordedEvent) -> bytes:
    """Raise TypeError for a text with half a surrogate pair, which valid UTF-8 cannot contain."""
    line: dict[str, object] = {"symbol": event.symbol, "kind": event.kind, "now": event.now} | _encoded(event.data)
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def end_line(reason: EndReason) -> bytes:
    return orjson.dumps({"end": reason}, option=orjson.OPT_APPEND_NEWLINE)


def part_path(folder: Path, exchange: str, part: int) -> Path:
    return folder / f"{exchange}-{part:04}{SUFFIX}"


def parts_of(folder: Path) -> list[Path]:
    """Return the files of one exchange's recording in the order of writing."""
    numbered = ((_PART_NUMBER.search(path.name), path) for path in folder.glob(f"*{SUFFIX}"))
    return [path for _, path in sorted((int(found.group(1)), path) for found, path in numbered if found)]


def recorded_folders(folder: Path) -> list[Path]:
    """Every folder at or below `folder` with a recording of one exchange. Raises ImportRejectedError if there is
    none."""
    if not folder.is_dir():
        reject(folder, None, "is not a folder; name one below `recordings` of the data folder")
    folders = sorted({path.parent for path in folder.rglob(f"*{SUFFIX}")})
    if not folders:
        reject(folder, None, f"contains no recording (files named …-0001{SUFFIX})")
    return folders


def read_recording(folder: Path) -> Iterator[RecordingHeader | RecordedEvent | PartEnd]:
    """One exchange's recording, file by file. Raises ImportRejectedError for damaged or missing files."""
    parts = parts_of(folder)
    if not parts:
        reject(folder, None, f"contains no recording (files named …-0001{SUFFIX})")
    for expected, path in enumerate(parts, start=1):
        if path != part_path(folder, path.name.rpartition("-")[0], expected):
            reject(folder, None, f"part {expected} is missing; the parts after it cannot be read without it")
        yield from read_part(path)


def read_part(path: Path) -> Iterator[RecordingHeader | RecordedEvent | PartEnd]:
    """One file: its header, its events and its end; a truncated file is read up to its last complete line.

    A file truncated within its first line yields a PartEnd alone. Raises ImportRejectedError.
    """
    number, reason = 0, None
    for number, line in enumerate(_whole_lines(path), start=1):
        if reason is not None:
            reject(path, number, "is after the end of the recording")
        if number == 1:
            yield _header_of(path, line)
            continue
        fields = _object_of(path, number, line)
        if "end" in fields:
            reason = _end_of(path, number, fields)
        else:
            yield _event_of(path, number, fields)
    yield PartEnd(path, reason)


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Raise ImportRejectedError if the file is damaged rather than truncated."""
    unpacker, rest, lines = zlib.decompressobj(wbits=GZIP), b"", 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                *whole, rest = (rest + unpacker.decompress(chunk)).split(b"\n")
                lines += len(whole)
                yield from whole
    except zlib.error:
        reject(path, lines + 1, "is not valid gzip data")
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    if unpacker.unused_data:
        reject(path, lines + 1, "has other data after the end of the gzip data")


def _header_of(path: Path, line: bytes) -> RecordingHeader:
    file_format = _object_of(path, 1, line).get("format")
    if file_format != FORMAT:
        reject(path, 1, f"has format {file_format!r}; this version reads format {FORMAT}")
    try:
        return _HEADER.validate_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        reject(path, 1, f"is not a header of a recording ({'.'.join(map(str, fault['loc']))}: {fault['msg']})")


def _object_of(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        reject(path, number, "is not JSON")
    if not isinstance(fields, dict):
        reject(path, number, "is not a JSON object")
    return fields


def _end_of(path: Path, number: int, fields: Mapping[str, Any]) -> EndReason:
    reason: EndReason = fields["end"]
    if reason not in END_REASONS:
        reject(path, number, f"has an unknown end {reason!r}")
    return reason


def _event_of(path: Path, number: int, fields: Mapping[str, Any]) -> RecordedEvent:
    try:
        symbol, kind, now, data = fields["symbol"], fields["kind"], fields["now"], _decoded(fields)
    except (KeyError, AttributeError, TypeError, ValueError):
        reject(path, number, "lacks one of symbol, kind, now and data")
    if kind not in EVENT_KINDS or not isinstance(symbol, str) or not isinstance(now, int):
        reject(path, number, f"is not an event of a known kind ({kind!r})")
    return RecordedEvent(symbol, kind, now, data)


def _encoded(data: str | bytes) -> dict[str, object]:
    if isinstance(data, str):
        return {"text": data}
    try:
        return {"bytes": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _decoded(fields: Mapping[str, Any]) -> str | bytes:
    """Raise KeyError, AttributeError, TypeError, ValueError for invalid data."""
    if "text" in fields:
        text: str = fields["text"]
        if not isinstance(text, str):
            raise TypeError("text must be a string")
        return text
    if "bytes" in fields:
        encoded: bytes = fields["bytes"].encode()
        return encoded
    return base64.b64decode(fields["base64"], validate=True)
