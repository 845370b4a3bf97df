"""A stamp of the code on disk: a process that has imported some of it must not import the rest once it has changed."""

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = (
    *("market", "runtime", "wording", "session", "streams", "store", "exchanges", "simulators", "tick_sets"),
    *("pricefeeds", "cep", "bots", "backtest", "notices", "ui", "launch", "remote", "arbitrage"),
)
SETUP_STAMP = Path(sys.prefix) / "setup.stamp"
"""`make` writes it once it has installed other versions of what we import."""


def code_stamp() -> str:
    """Return a stamp of our packages and of the installed ones. It takes some 30 ms: a thousand times stat(2)."""
    installed = Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    return stamp_of((PROJECT / name for name in PACKAGES), (SETUP_STAMP, *installed))


def stamp_of(folders: Iterable[Path], others: Iterable[Path]) -> str:
    """Return what changes with each module in `folders` that is added, removed or written, and with `others`, each of
    which may be missing."""
    modules = (
        os.path.join(path, name)
        for folder in folders
        for path, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py")
    )
    # sorted: byte code that is written beside them may change their order
    lines = sorted(filter(None, map(_line_of, (*modules, *map(str, others)))))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _line_of(path: str) -> str | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{path} {found.st_mtime_ns} {found.st_size}"
