"""Calls of Linux that other systems lack. What is lost without them: docs/machines.md."""

import ctypes
import os

_PRCTL = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
"""Looked up once: a child before it becomes its program must not load anything."""


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process (prctl(2)); nothing on a system without it."""
    if _PRCTL is not None:
        _PRCTL(option, value, 0, 0, 0)


def usable_cores() -> int:
    """Return how many cores this process may run on; all of the machine's on a system that does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
