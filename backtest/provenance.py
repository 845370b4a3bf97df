"""Provenance of a result: the interpreter, the packages, this project's commit and the data."""

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tick_sets.file_names import MANIFEST
from tick_sets.sets.tick_set import TickSet

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = ("cross-exchange-arbitrage", "pyspark", "pyarrow", "numpy", "numba", "pandas", "matplotlib")
GIT_SECONDS = 10.0


def versions_of(tick_set: TickSet) -> dict[str, str]:
    """Return the versions by name; `commit` only if this project is a git checkout, with `-dirty` at its end if files
    were changed."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    commit = _commit()
    if commit is not None:
        found["commit"] = commit
    return found | {"tick_set_sha256": checksum_of(tick_set)}


def checksum_of(tick_set: TickSet) -> str:
    """Return a checksum of the manifest and every file of ticks: another one means other data."""
    digest = hashlib.sha256((tick_set.folder / MANIFEST).read_bytes())
    for partition in tick_set.manifest.partitions:
        with tick_set.path(partition).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _commit() -> str | None:
    command = ("git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None
