"""Other people's packages at pinned versions, each set in a virtual environment of its own that the cache keeps."""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

_INSTALL_SECONDS = 900
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|Max retries|connection broken|from versions: none"
    r"|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|dial tcp|Unknown host|Could not transfer",
    re.IGNORECASE,
)


def python_of(version: str) -> Path:
    """Another Python of this machine, as `python3.12` or among pyenv's. Skips if there is none."""
    found = shutil.which(f"python{version}")
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for python in [*pyenv, *([Path(found)] if found else [])]:
        if subprocess.run([str(python), "-V"], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"there is no Python {version} on this machine")


def installed(cache: pytest.Cache, name: str, command: Sequence[str]) -> Path:
    """Return a folder of its own in which that command was run once, with its path in place of `{folder}`. Skips if
    the command is missing or has no registry."""
    folder = Path(cache.mkdir("clients")) / hashlib.sha256(name.encode()).hexdigest()[:16]
    if (folder / "complete").exists():
        return folder
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = [word.format(folder=folder) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode:
        _skip_or_fail(done.stdout + done.stderr)
    (folder / "complete").touch()
    return folder


def environment(cache: pytest.Cache, requirements: Sequence[str], of: Path = Path(sys.executable)) -> Path:
    """Return the Python of an environment with exactly these requirements, made from `of`. Skips if the package
    registry is out of reach."""
    name = hashlib.sha256(" ".join((str(of), sys.version, *requirements)).encode()).hexdigest()[:16]
    folder = Path(cache.mkdir("clients")) / name
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        subprocess.run([str(of), "-m", "venv", "--clear", str(folder)], check=True)
        _pip(python, "install", *requirements)
        complete.touch()
    return python


def source(cache: pytest.Cache, python: Path, requirement: str) -> Path:
    """Return the unpacked source distribution of a package, which has what its wheel leaves out."""
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
        _skip_or_fail(done.stderr)


def _skip_or_fail(words: str) -> NoReturn:
    if _UNREACHABLE.search(words):
        pytest.skip(f"the package registry cannot be reached: {words.strip().splitlines()[-1]}")
    pytest.fail(words)
