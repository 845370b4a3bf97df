"""The last matching lines of a process's log, within bounded memory."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from typing_extensions import TypedDict

from ui.services.redaction import HIDDEN, follows_secret, is_secret_name, may_hold_secret, without_secrets

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
LEVELS: tuple[Level, ...] = get_args(Level)
MAX_LINES = 500
MAX_BYTES = 1024**2
"""Bytes of a log and its rotated predecessor together; a filter searches no further back."""
SHARED_BYTES = 128 * 1024
"""Of each log if all are searched together, every few seconds."""
TIME = re.compile(r"\d{4}-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d[.,]\d{3}([+-]\d\d:\d\d)?")
MAX_CHARACTERS = 2_000
"""Characters of one line; a longer one is shortened in the middle."""
MAX_READ = 5 * MAX_CHARACTERS
NO_PASSWORDS = frozenset({"user", "mechanism", "protocol"})
"""Fields of a login that are not secret."""
MONGOD_LEVELS = {"F": "CRITICAL", "E": "ERROR", "W": "WARNING", "I": "INFO"}
JVM_LEVELS = {"FATAL": "CRITICAL", "WARN": "WARNING", "TRACE": "DEBUG"}


class LogLineRow(TypedDict):
    """One event. For a line that is not ours (a JVM's, a trace) `time` and `logger` are None, and `level` is that of
    the line before unless it names its own. `fields`: ids and the like, as text."""

    time: str | None
    level: str | None
    logger: str | None
    event: str
    fields: dict[str, str]


_Timed = tuple[float, LogLineRow]
"""A line with its time, seconds UTC: that of the line before it if it has none, 0 if none before it has."""


class LogTailRow(TypedDict):
    """Oldest first. `is_complete`: no matching line comes before them."""

    part: str
    lines: list[LogLineRow]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class LogQuestion:
    """Filter of lines: maximum number, minimum level, and a text in them, case-insensitive."""

    lines: int = 100
    level: Level = "DEBUG"
    text: str = ""
    most_bytes: int = MAX_BYTES
    """How far back a log is searched."""


@dataclass(frozen=True, slots=True)
class _Hidden:
    """Secret values, which must appear nowhere; and the data folder, whose paths are not secret."""

    secrets: tuple[str, ...]
    folder: str


class NoLogError(Exception):
    """There is no such log; the message says why in one sentence."""


def log_names(home: Path, parts: frozenset[str]) -> tuple[str, ...]:
    """Return those of `parts` that have a log."""
    return tuple(sorted(parts & {path.stem for path in (home / "logs").glob("*.log") if _is_plain(path)}))


def log_tail(home: Path, part: str, parts: frozenset[str], question: LogQuestion) -> LogTailRow:
    """Return the last matching lines; blocks on the disk. `parts` are those of the session; no other name is opened.

    Raises NoLogError.
    """
    if part not in parts:
        raise NoLogError(f"This session has no part {part[:40]!r}.")
    if part not in log_names(home, parts):
        raise NoLogError(f"{part} has no log here: it has written none yet, or runs on another machine.")
    found, is_complete = _tail(home, part, question)
    return LogTailRow(part=part, lines=[row for _, row in found], is_complete=is_complete)


def newest_of_all(
    home: Path, parts: frozenset[str], question: LogQuestion
) -> tuple[list[tuple[str, LogLineRow]], bool]:
    """Return the last matching lines of all logs with their parts, oldest first, and whether no matching line comes
    before them. Each log is searched a share as far back; a line without a time stands after the one before it."""
    found: list[tuple[float, str, LogLineRow]] = []
    is_complete = True
    for part in log_names(home, parts):
        lines, is_whole = _tail(home, part, replace(question, most_bytes=SHARED_BYTES))
        is_complete = is_complete and is_whole
        found += [(moment, part, row) for moment, row in lines]
    found.sort(key=lambda one: one[0])
    newest = [(part, row) for _, part, row in found[-question.lines :]]
    return newest, is_complete and len(newest) == len(found)


def _tail(home: Path, part: str, question: LogQuestion) -> tuple[list[_Timed], bool]:
    """Return the last matching lines of one log, and whether no matching line comes before them."""
    path = home / "logs" / f"{part}.log"
    current, is_cut = _end_of(path, question.most_bytes)
    before = b""
    if not is_cut:
        before, is_cut = _end_of(path.with_suffix(".log.1"), question.most_bytes - len(current))
    fitting, is_all = _fitting((before + current).splitlines(), question, _hidden_here(home))
    return fitting[-question.lines :], is_all and not is_cut and len(fitting) <= question.lines


def _fitting(lines: Sequence[bytes], question: LogQuestion, hidden: _Hidden) -> tuple[list[_Timed], bool]:
    """Return matching lines, oldest first, and whether these are all. Parses from the end: mostly the newest lines
    suffice."""
    looked_at = 4 * question.lines
    while True:
        newest = lines[-looked_at:]
        fitting = [one for one in _rows(newest, hidden) if _fits(one[1], question.level, question.text)]
        is_all = len(newest) == len(lines)
        # one more than wanted: the first of them may not know the level of the line before it
        if is_all or len(fitting) > question.lines:
            return fitting, is_all
        looked_at *= 4


def _end_of(path: Path, most: int) -> tuple[bytes, bool]:
    """Return the last whole lines, and whether there are more before them. Empty if there is no file."""
    if not _is_plain(path):
        return b"", False
    try:
        # follow no link that has just taken its place
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b"", False
    with os.fdopen(descriptor, "rb") as log:
        begin = max(0, log.seek(0, os.SEEK_END) - most)
        log.seek(begin)
        end = log.read(most)
    if begin == 0:
        return end, False
    _, newline, rest = end.partition(b"\n")
    # a secret cannot be recognised in a line without its beginning
    return (rest if newline else b"(a line too long to be shown)\n"), True


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _rows(lines: Sequence[bytes], hidden: _Hidden) -> Iterator[_Timed]:
    level: str | None = None
    before, moment = "", 0.0
    for line in lines:
        row = _row_of(line, hidden)
        if follows_secret(row["event"], before):
            row["event"] = HIDDEN
        before = row["event"]
        if row["event"]:
            level = row["level"] = row["level"] or level
            moment = _moment_in(row["time"] or row["event"]) or moment
            yield moment, row


def _moment_in(text: str) -> float | None:
    """Return the time at the beginning of a text, seconds UTC. Ours and the JVM's have none of their offset: they are
    of this machine's zone. mongod's has."""
    found = TIME.match(text)
    return None if found is None else datetime.fromisoformat(found[0]).timestamp()


def _row_of(line: bytes, hidden: _Hidden) -> LogLineRow:
    if line.startswith(b"{"):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if isinstance(event, dict):
            row = _our_row(event, hidden) or _mongod_row(event, hidden)
            if row is not None:
                return row
    text = _shown(line.decode(errors="replace"), hidden)
    return LogLineRow(time=None, level=_level_in(text), logger=None, event=text, fields={})


def _our_row(event: dict[str, object], hidden: _Hidden) -> LogLineRow | None:
    if not {"time", "level", "event"} <= event.keys():
        return None
    known = ("time", "level", "logger", "event")
    return LogLineRow(
        time=_shown(str(event["time"]), hidden),
        level=_shown(str(event["level"]), hidden),
        logger=_shown(str(event.get("logger", "")), hidden),
        event=_shown(str(event["event"]), hidden),
        fields={
            _shown(name, hidden): _shown_field(name, value, hidden)
            for name, value in event.items()
            if name not in known
        },
    )


def _mongod_row(event: dict[str, object], hidden: _Hidden) -> LogLineRow | None:
    """mongod's format since 4.4: `t`, `s` (severity), `c` (component), `msg`, `attr`."""
    time = event.get("t")
    if not isinstance(time, dict) or "msg" not in event:
        return None
    attributes = event.get("attr")
    return LogLineRow(
        time=_shown(str(time.get("$date")), hidden),
        level=MONGOD_LEVELS.get(str(event.get("s"))[:1], "DEBUG"),
        logger=_shown(str(event.get("c", "")), hidden),
        event=_shown(str(event["msg"]), hidden),
        fields={} if not attributes else {"attr": _shown(json.dumps(attributes), hidden)},
    )


def _shown_field(name: str, value: object, hidden: _Hidden) -> str:
    """Return the field's text; hidden if its name says that it is a secret."""
    text = value if isinstance(value, str) else json.dumps(value)
    if value is not None and not isinstance(value, (bool, int, float)) and is_secret_name(name):
        return HIDDEN
    return _shown(text, hidden)


def _level_in(text: str) -> str | None:
    """Return the level of a line that is not JSON: a JVM's logger and Python's warnings name it near the front."""
    for word in text[:80].replace("[", " ").replace("]", " ").replace(":", " ").split():
        found = JVM_LEVELS.get(word, word)
        if found in LEVELS:
            return found
    return "ERROR" if text.startswith(("Traceback ", "Exception in thread")) else None


def _fits(row: LogLineRow, level: Level, text: str) -> bool:
    own = row["level"]
    # a line without a level is kept: it may say why a process did not start
    is_high = own is None or own not in LEVELS or LEVELS.index(own) >= LEVELS.index(level)
    if not is_high or not text:
        return is_high
    wanted = text.casefold()
    return any(wanted in shown.casefold() for shown in (row["event"], row["logger"] or "", *row["fields"].values()))


def _shown(text: str, hidden: _Hidden) -> str:
    """Return one printable line without secrets; shortened last, so that no half of a secret is left."""
    for secret in hidden.secrets:
        text = text.replace(secret, HIDDEN)
    text = text[:MAX_READ].strip()
    if may_hold_secret(text):
        text = "\n".join(
            without_secrets(one, hidden.folder) for one in without_secrets(text, hidden.folder).splitlines()
        )
    if not text.isprintable():
        text = " ⏎ ".join(line.strip() for line in text.splitlines() if line.strip())
        text = "".join(sign if sign.isprintable() or sign == "\t" else "�" for sign in text)
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"


def _hidden_here(home: Path) -> _Hidden:
    """Return the owner's key and the passwords to the services (`launch.setup.login_files` writes them)."""
    try:
        key = (home / "api_key").read_text().strip()
    except OSError:
        key = ""
    found = {key, *(word for path in (home / "logins").glob("*.json") for word in _passwords(path))} - {""}
    # the longest first: it may contain another
    return _Hidden(tuple(sorted(found, key=len, reverse=True)), str(home))


def _passwords(path: Path) -> Iterator[str]:
    """Yield every text of the file except user names and the like, which are in many lines."""
    try:
        waiting: list[object] = [json.loads(path.read_bytes())]
    except (OSError, ValueError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(inner for name, inner in value.items() if name not in NO_PASSWORDS)
        elif isinstance(value, str):
            yield value
