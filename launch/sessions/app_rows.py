"""The rows of stream apps, for people or programs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import orjson

Echo = Callable[[str], None]


class AppRows:
    """What became of the rows of a run's apps: into a file, or a line each for the terminal, which names the app where
    there are several."""

    def __init__(self, path: Path | None, echo: Echo, *, is_shared: bool = False) -> None:
        self._path, self._echo, self._is_shared = path, echo, is_shared
        self._file: BinaryIO | None = None
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, message: bytes) -> None:
        row = orjson.loads(message)
        self._counts[row["app"]][row["stream"]] += 1
        if self._path is None:
            self._echo(row_line(row, is_shared=self._is_shared))
        else:
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

    def summary_of(self, app: str) -> str:
        counts = self._counts[app]
        streams = ", ".join(f"{stream} {count:,}" for stream, count in sorted(counts.items()))
        return f"{counts.total():,} rows ({streams})" if streams else "no rows"


@contextmanager
def rows_to(path: Path | None, echo: Echo, *, is_shared: bool = False) -> Iterator[AppRows]:
    """A file that is there stays as it is where the apps cannot start."""
    rows = AppRows(path, echo, is_shared=is_shared)
    try:
        yield rows
        rows.finish()
    finally:
        rows.close()


def row_line(row: dict[str, object], *, is_shared: bool = False) -> str:
    """A message of the topic `apps` for people; with the app's name where several share the terminal."""
    values, time = row["values"], row["time"]
    if not isinstance(values, dict) or not isinstance(time, int):
        return str(row)
    at = datetime.fromtimestamp(time / 1_000, UTC).strftime("%H:%M:%S.%f")[:-3]
    stream = f"{row['app']} {row['stream']}" if is_shared else row["stream"]
    return f"{at} {stream} " + " ".join(f"{name}={value}" for name, value in values.items())
