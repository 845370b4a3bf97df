"""Other people's packages at pinned versions, each set in a virtual environment of its own that the cache keeps."""

import hashlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_INSTALL_SECONDS = 900
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|Max retries|connection broken|from versions: none", re.IGNORECASE
)


def environment(cache: pytest.Cache, requirements: Sequence[str]) -> Path:
    """The Python of an environment with exactly these requirements. Skips where the package registry is out of
    reach."""
    name = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:16]
    folder = Path(cache.mkdir("clients")) / name
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        _pip(python, "install", *requirements)
        complete.touch()
    return python


def source(cache: pytest.Cache, python: Path, requirement: str) -> Path:
    """The unpacked source distribution of a package, which has what its wheel leaves out."""
    folder = Path(cache.mkdir("clients")) / requirement.replace("==", "-")
    if not folder.exists():
        archives = folder.with_name(f"{folder.name}.archive")
        name = requirement.partition("==")[0]
        _pip(python, "download", "--no-deps", "--no-binary", name, "--dest", str(archives), requirement)
        with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
            archive.extractall(archives, filter="data")
        next(path for path in archives.iterdir() if path.is_dir()).rename(folder)
    return folder


def _pip(python: Path, *words: str) -> None:
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode:
        if _UNREACHABLE.search(done.stderr):
            pytest.skip(f"the package registry cannot be reached: {done.stderr.strip().splitlines()[-1]}")
        pytest.fail(done.stderr)
