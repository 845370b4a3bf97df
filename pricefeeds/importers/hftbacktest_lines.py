"""Raw streams as hftbacktest records them, line by line: `<local nanoseconds> <raw JSON message>`, mostly in gzip.

The time is the recorder's own, floored to microseconds: two lines of one microsecond keep their order.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from pricefeeds.importers.fileblocks import blocks
from pricefeeds.importers.mapped_books import shown
from pricefeeds.importers.rows import refuse

_START = re.compile(rb"\d{16,20} \{")


class RawMessage(NamedTuple):
    """One line: microseconds received, the message, and the line itself, shortened."""

    line: int
    received_time: int
    message: Mapping[str, Any]
    text: str


def looks_raw(head: bytes) -> bool:
    return _START.match(head) is not None


def raw_messages(path: Path) -> Iterator[RawMessage]:
    """Every line. Raises ImportRefusedError at the first that is not of this form."""
    for block in blocks(path):
        for number, line in enumerate(block.data.splitlines(), start=block.line):
            yield _message(path, number, line)


def _message(path: Path, number: int, line: bytes) -> RawMessage:
    stamp, _, text = line.partition(b" ")
    if not stamp.isdigit():
        refuse(path, number, "does not begin with the time in nanoseconds")
    nanoseconds = int(stamp)
    if not 10**18 <= nanoseconds < 10**19:
        refuse(path, number, f"its time {nanoseconds} is not in nanoseconds since 1970")
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        refuse(path, number, "is not JSON behind the time")
    if not isinstance(message, dict):
        refuse(path, number, "is not a JSON object behind the time")
    return RawMessage(number, nanoseconds // 1_000, message, shown(line))
