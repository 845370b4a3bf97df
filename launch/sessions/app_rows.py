"""The rows of stream apps, for people or programs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import orjson

from cep.apps.hosts.hosted_app import AppSource

Echo = Callable[[str], None]
MOST_SEEN = 100_000
"""Far more ids than rows come again after a kill."""


class AppRows:
    """Writes the rows of a run's apps to a file, or as a line each to the terminal, which names the app if there are
    several."""

    def __init__(self, path: Path | None, echo: Echo, sources: Collection[AppSource]) -> None:
        """Take the file and the apps. Rows of a sink `log` are lines in any case; what a stored table's rows become is
        left out."""
        self._path, self._echo, self._is_shared = path, echo, len(sources) > 1
        self._prefixes = {(one.name, sink.stream): sink.prefix for one in sources for sink in one.outside.logs}
        self._tables = frozenset((one.name, table.table) for one in sources for table in one.outside.tables)
        self._file: BinaryIO | None = None
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._seen: dict[str, None] = {}
        """The newest ids, oldest first."""

    def add(self, message: bytes) -> None:
        """Take a row; one that a process gave again, because the one before was killed, is left out."""
        row = orjson.loads(message)
        stream = row["app"], row["stream"]
        if stream in self._tables or row["id"] in self._seen:
            return
        self._seen[row["id"]] = None
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._counts[row["app"]][row["stream"]] += 1
        prefix = self._prefixes.get(stream)
        if self._path is None or prefix is not None:
            self._echo(row_line(row, prefix, is_shared=self._is_shared))
        if self._path is not None:
            self._opened(self._path).write(message + b"\n")

    def _opened(self, path: Path) -> BinaryIO:
        if self._file is None:
            self._file = path.open("wb")
        return self._file

    def finish(self) -> None:
        """End the file; an app that gave no row leaves an empty one."""
        if self._path is not None:
            self._opened(self._path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def summary_of(self, app: str) -> str:
        counts = self._counts[app]
        streams = ", ".join(f"{stream} {count:,}" for stream, count in sorted(counts.items()))
        return f"{counts.total():,} rows ({streams})" if streams else "no rows"


@contextmanager
def rows_to(path: Path | None, echo: Echo, sources: Collection[AppSource]) -> Iterator[AppRows]:
    """Return the rows' writer; an existing file stays as it is if the apps cannot start."""
    rows = AppRows(path, echo, sources)
    try:
        yield rows
        rows.finish()
    finally:
        rows.close()


def row_line(row: dict[str, object], prefix: str | None = None, *, is_shared: bool = False) -> str:
    """Return a message of the topic `apps` for people. `prefix`: in place of the stream's name; with the app's name
    if several share the terminal."""
    values, time = row["values"], row["time"]
    if not isinstance(values, dict) or not isinstance(time, int):
        return str(row)
    at = datetime.fromtimestamp(time / 1_000, UTC).strftime("%H:%M:%S.%f")[:-3]
    stream = prefix or row["stream"]
    shown = f"{row['app']} {stream}" if is_shared else stream
    return f"{at} {shown} " + " ".join(f"{name}={value}" for name, value in values.items())
