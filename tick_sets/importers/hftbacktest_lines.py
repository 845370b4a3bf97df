"""Raw streams as hftbacktest records them, line by line: `<local nanoseconds> <raw JSON message>`, mostly in gzip.

The time is the recorder's own, floored to microseconds: two lines of one microsecond keep their order.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tick_sets.errors import reject
from tick_sets.mapped.books import shown
from tick_sets.rows.damaged_lines import DamagedLines
from tick_sets.rows.file_blocks import blocks

_START = re.compile(rb"\d{16,20} \{")
LONGEST_STAMP = 30
"""Most digits of a time; more are damage, and may be too many for a number."""


class RawMessage(NamedTuple):
    """One line: microseconds received, the message, and the line itself, shortened."""

    line: int
    received_time: int | None
    message: Mapping[str, Any]
    text: str
    is_damaged: bool = False
    """It has no message, and perhaps no time."""


def looks_raw(head: bytes) -> bool:
    return _START.match(head) is not None


def raw_messages(path: Path) -> Iterator[RawMessage]:
    """Return every line, also damaged ones. Raises ImportRejectedError at a time in another unit, and if half of the
    lines or more are not of this form."""
    damage = DamagedLines(path)
    for block in blocks(path):
        for number, line in enumerate(block.data.splitlines(), start=block.line):
            yield _message(path, number, line, damage)
    damage.check()


def _message(path: Path, number: int, line: bytes, damage: DamagedLines) -> RawMessage:
    damage.lines += 1
    stamp, _, text = line.partition(b" ")
    if not stamp.isdigit() or len(stamp) > LONGEST_STAMP:
        damage.note(number, "does not begin with the time in nanoseconds")
        return RawMessage(number, None, {}, shown(line), is_damaged=True)
    nanoseconds = int(stamp)
    if not 10**18 <= nanoseconds < 10**19:
        reject(path, number, f"its time {nanoseconds} is not in nanoseconds since 1970")
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        damage.note(number, "is not JSON behind the time")
        message = None
    else:
        if not isinstance(message, dict):
            damage.note(number, "is not a JSON object behind the time")
    is_damaged = not isinstance(message, dict)
    return RawMessage(number, nanoseconds // 1_000, {} if is_damaged else message, shown(line), is_damaged)
