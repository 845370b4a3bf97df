"""What the page asks for and a process of its own does, at low priority: it reads `request.json` of its folder and
writes `result.json` there, or ends with one sentence on its error output."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from launch.setup.data_dir import write_atomically
from launch.setup.parent_watch import end_with_parent

NICENESS = 15
"""As a backtest's: trading takes precedence on every core."""
Row = dict[str, Any]


def begin_asked(folder: Path) -> Row:
    """Return the request. The process has its priority then, and ends with the one that started it."""
    os.nice(NICENESS)
    end_with_parent()
    request: Row = orjson.loads((folder / "request.json").read_bytes())
    return request


def finish_asked(folder: Path, work: Callable[[], Row], refusals: tuple[type[Exception], ...]) -> int:
    """Write what `work` returns, or the sentence of one of the `refusals`. Return the exit code."""
    try:
        result = work()
    except refusals as error:
        sys.stderr.write(f"{str(error).rstrip('.') or 'it needs too much memory'}.\n")
        return 1
    write_atomically(folder / "result.json", orjson.dumps(result))
    return 0
