"""The rows of a stream app, for people or programs."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import orjson

from cep.hosts.app_outside import AppOutside

Echo = Callable[[str], None]


class AppRows:
    """What became of the app's rows: into a file, or a line each for the terminal."""

    def __init__(self, path: Path | None, echo: Echo, outside: AppOutside) -> None:
        """`outside`: of the app. Rows of a sink `log` are lines in any case; what a stored table's rows become is left
        out."""
        self._path, self._echo = path, echo
        self._prefixes = {sink.stream: sink.prefix for sink in outside.logs}
        self._tables = frozenset(one.table for one in outside.tables)
        self._file: BinaryIO | None = None
        self._counts: Counter[str] = Counter()

    def add(self, message: bytes) -> None:
        row = orjson.loads(message)
        if row["stream"] in self._tables:
            return
        self._counts[row["stream"]] += 1
        prefix = self._prefixes.get(row["stream"])
        if self._path is None or prefix is not None:
            self._echo(row_line(row, prefix))
        if self._path is not None:
            self._opened(self._path).write(message + b"\n")

    def _opened(self, path: Path) -> BinaryIO:
        if self._file is None:
            self._file = path.open("wb")
        return self._file

    def finish(self) -> None:
        """An app that gave no row leaves an empty file."""
        if self._path is not None:
            self._opened(self._path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def summary(self) -> str:
        streams = ", ".join(f"{stream} {count:,}" for stream, count in sorted(self._counts.items()))
        return f"{self._counts.total():,} rows ({streams})" if streams else "no rows"


@contextmanager
def rows_to(path: Path | None, echo: Echo, outside: AppOutside) -> Iterator[AppRows]:
    """A file that is there stays as it is where the app cannot start."""
    rows = AppRows(path, echo, outside)
    try:
        yield rows
        rows.finish()
    finally:
        rows.close()


def row_line(row: dict[str, object], prefix: str | None = None) -> str:
    """A message of the topic `apps` for people. `prefix`: in place of the stream's name."""
    values, time = row["values"], row["time"]
    if not isinstance(values, dict) or not isinstance(time, int):
        return str(row)
    at = datetime.fromtimestamp(time / 1_000, UTC).strftime("%H:%M:%S.%f")[:-3]
    return f"{at} {prefix or row['stream']} " + " ".join(f"{name}={value}" for name, value in values.items())
