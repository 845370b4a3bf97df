"""Progress of a backtest: a bar on a terminal, lines in a log, a small file for the supervisor."""

import json
import sys
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self

from launch.setup.data_dir import write_atomically
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

if TYPE_CHECKING:
    from tqdm import tqdm

LINE_EVERY_SECONDS = 10.0


class Progress:
    """Shows progress: call it with a stage and the share of it that is done, from any thread. Without a terminal there
    is no bar, but with `in_lines` a line every ten seconds."""

    def __init__(self, file: Path | None, *, in_lines: bool = False) -> None:
        self._file = file
        self._in_lines = in_lines
        self._line = ""
        self._line_at = 0
        self._stage = ""
        self._bar: tqdm[Never] | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def __call__(self, stage: str, share: float, words: str = "") -> None:
        """Show the progress; `words`: in place of the percentage."""
        with self._lock:
            if self._file is not None:
                write_atomically(self._file, json.dumps({"stage": stage, "share": round(share, 4)}).encode())
            if sys.stderr.isatty():
                self._draw(stage, share, words)
            elif self._in_lines:
                done = words or (f"{share:.0%}" if share else "")
                self._write(stage, f"{stage}: {done}" if done else stage)

    def _write(self, stage: str, line: str) -> None:
        is_due = stage != self._stage or wall_now() - self._line_at >= LINE_EVERY_SECONDS * MICROSECONDS
        if is_due and line != self._line:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
            self._stage, self._line, self._line_at = stage, line, wall_now()

    def _draw(self, stage: str, share: float, words: str) -> None:
        if stage != self._stage:
            self._close()
            self._stage = stage
        if self._bar is None:
            form = "{desc:<16} {percentage:3.0f} % |{bar}| {elapsed}"
            from tqdm import tqdm

            self._bar = tqdm(total=100, desc=stage, file=sys.stderr, leave=False, bar_format=form)
        self._bar.set_description_str(f"{stage}: {words}" if words else stage, refresh=False)
        self._bar.update(100 * share - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
