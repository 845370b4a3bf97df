"""The files of a recording: what stands in them, how it is written and how it is read again, torn ends included.

`<home>/recordings/<session>/<exchange>/<exchange>-0001.jsonl.gz`, `-0002`, …: gzip, one JSON object a line.

* The first line of each file: `{"format": 1, "session_id", "exchange", "part", "opened_at", "markets", "settings"}`.
* Then notes: `symbol`, `kind`, `now` (microseconds UTC) and the data as `text`, as `bytes` (they were bytes, and UTF-8)
  or as `base64` (bytes that are not). What an exchange sent stands there unchanged; what was sent to it does not.
* The last line: `{"end": "closed"}`, `"continued"` where another file goes on, `"stopped"` where the recording ended
  before the feed did. A file without it was cut off by a crash.
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

from datasets.rows.quote_rows import reject
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.quotes import Quote
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row
from streams.message_format import levels_of, levels_text, mark_row, quote_row, reject_row

FORMAT = 1
SUFFIX = ".jsonl.gz"
CHUNK_BYTES = 1 << 16
GZIP = 31
"""zlib's word for a gzip file of the largest window."""

NoteKind = Literal[
    "started", "opened", "frame", "snapshot", "book", "confirmed", "offset", "alive", "lost", "closed", "row"
]
"""What happened to a symbol's feed, with its data:

* `started`: a new SymbolFeed; the last sequence of the symbol in the log, in digits
* `opened`, `closed`: a new connection and so a new conversation, and its end; no data
* `frame`: a message of the exchange's stream, as it came
* `snapshot`: the body of an answer that the conversation asked for
* `book`: a book that came without a conversation (`book_text`)
* `confirmed`: the newest book is the exchange's, as REST shows; since when it held, in microseconds UTC
* `offset`: the exchange's clock was measured; how many microseconds it is ahead of ours
* `alive`: the second's renewal; no data
* `lost`: the status that the feed went into
* `row`: a row that was published (`row_text`)
"""
EndReason = Literal["closed", "continued", "stopped"]

NOTE_KINDS: tuple[str, ...] = get_args(NoteKind)
END_REASONS: tuple[str, ...] = get_args(EndReason)
_PART_NUMBER = re.compile(r"-(\d+)" + re.escape(SUFFIX) + "$")


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """What every file of a recording begins with. Holds no secret."""

    session_id: str
    exchange: str
    markets: tuple[Market, ...]
    settings: dict[str, str] = field(default_factory=dict)
    """What the feeds were made with: `late_after`, in microseconds, how old a book may be."""
    part: int = 1
    opened_at: int = 0
    """Microseconds UTC of the first note; 0 where there is none."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that happened to a symbol's feed at `now` (microseconds UTC)."""

    symbol: str
    kind: NoteKind
    now: int
    data: str | bytes = b""


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The end of a file; `reason` None where it was cut off: what the last note led to may be missing."""

    path: Path
    reason: EndReason | None


_HEADER = TypeAdapter(RecordingHeader)


def row_text(row: Row) -> bytes:
    """A published row as it goes out, but for the `bases` that each partition of the log adds to an FX row."""
    if isinstance(row, Quote):
        return quote_row(row)
    return reject_row(row.quote, row.reason) if isinstance(row, RejectedQuote) else mark_row(row)


def book_text(top: BookTop) -> bytes:
    book = {"bids": levels_text(top.bids), "asks": levels_text(top.asks), "exchange_time": top.exchange_time}
    return orjson.dumps(book)


def book_of(text: str | bytes) -> BookTop:
    """Raises ValueError for what `book_text` never wrote."""
    try:
        book = orjson.loads(text)
        return BookTop(levels_of(book["bids"]), levels_of(book["asks"]), book["exchange_time"])
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"no book: {error!r}") from error


def header_line(header: RecordingHeader) -> bytes:
    return _HEADER.dump_json(header) + b"\n"


def note_line(note: Note) -> bytes:
    """Raises TypeError for a text with half a surrogate pair, which no sound UTF-8 frame holds."""
    line: dict[str, object] = {"symbol": note.symbol, "kind": note.kind, "now": note.now} | _encoded(note.data)
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def end_line(reason: EndReason) -> bytes:
    return orjson.dumps({"end": reason}, option=orjson.OPT_APPEND_NEWLINE)


def part_path(folder: Path, exchange: str, part: int) -> Path:
    return folder / f"{exchange}-{part:04}{SUFFIX}"


def parts_of(folder: Path) -> list[Path]:
    """The files of one exchange's recording in the order in which they were written."""
    numbered = ((_PART_NUMBER.search(path.name), path) for path in folder.glob(f"*{SUFFIX}"))
    return [path for _, path in sorted((int(found.group(1)), path) for found, path in numbered if found)]


def recorded_folders(folder: Path) -> list[Path]:
    """Every folder at or below `folder` that holds one exchange's recording. Raises ImportRejectedError for none."""
    if not folder.is_dir():
        reject(folder, None, "is no folder; name one below `recordings` of the data folder")
    folders = sorted({path.parent for path in folder.rglob(f"*{SUFFIX}")})
    if not folders:
        reject(folder, None, f"holds no recording (files named …-0001{SUFFIX})")
    return folders


def read_recording(folder: Path) -> Iterator[RecordingHeader | Note | PartEnd]:
    """One exchange's recording, file by file. Raises ImportRejectedError for what is damaged, or not there."""
    parts = parts_of(folder)
    if not parts:
        reject(folder, None, f"holds no recording (files named …-0001{SUFFIX})")
    for expected, path in enumerate(parts, start=1):
        if path != part_path(folder, path.name.rpartition("-")[0], expected):
            reject(folder, None, f"part {expected} is missing; what follows cannot be understood without it")
        yield from read_part(path)


def read_part(path: Path) -> Iterator[RecordingHeader | Note | PartEnd]:
    """One file: its header, its notes and its end; a torn end is left out up to the last whole line.

    A file that was cut off before its first line was there is a PartEnd alone. Raises ImportRejectedError.
    """
    number, reason = 0, None
    for number, line in enumerate(_whole_lines(path), start=1):
        if reason is not None:
            reject(path, number, "stands behind the end of the recording")
        if number == 1:
            yield _header_of(path, line)
            continue
        fields = _object_of(path, number, line)
        if "end" in fields:
            reason = _end_of(path, number, fields)
        else:
            yield _note_of(path, number, fields)
    yield PartEnd(path, reason)


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Raises ImportRejectedError where the file is damaged rather than cut off."""
    unpacker, rest, lines = zlib.decompressobj(wbits=GZIP), b"", 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                *whole, rest = (rest + unpacker.decompress(chunk)).split(b"\n")
                lines += len(whole)
                yield from whole
    except zlib.error:
        reject(path, lines + 1, "is not sound gzip data")
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    if unpacker.unused_data:
        reject(path, lines + 1, "other data follow the end of the gzip data")


def _header_of(path: Path, line: bytes) -> RecordingHeader:
    told = _object_of(path, 1, line).get("format")
    if told != FORMAT:
        reject(path, 1, f"is of format {told!r}, while this version reads format {FORMAT}")
    try:
        return _HEADER.validate_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        reject(path, 1, f"is no header of a recording ({'.'.join(map(str, fault['loc']))}: {fault['msg']})")


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
        reject(path, number, f"knows no end {reason!r}")
    return reason


def _note_of(path: Path, number: int, fields: Mapping[str, Any]) -> Note:
    try:
        symbol, kind, now, data = fields["symbol"], fields["kind"], fields["now"], _decoded(fields)
    except (KeyError, AttributeError, TypeError, ValueError):
        reject(path, number, "lacks one of symbol, kind, now and its data")
    if kind not in NOTE_KINDS or not isinstance(symbol, str) or not isinstance(now, int):
        reject(path, number, f"is no note of a known kind ({kind!r})")
    return Note(symbol, kind, now, data)


def _encoded(data: str | bytes) -> dict[str, object]:
    if isinstance(data, str):
        return {"text": data}
    try:
        return {"bytes": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _decoded(fields: Mapping[str, Any]) -> str | bytes:
    """Raises KeyError, AttributeError, TypeError, ValueError for what is no data."""
    if "text" in fields:
        text: str = fields["text"]
        if not isinstance(text, str):
            raise TypeError("text must be a string")
        return text
    if "bytes" in fields:
        encoded: bytes = fields["bytes"].encode()
        return encoded
    return base64.b64decode(fields["base64"], validate=True)
