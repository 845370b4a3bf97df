"""The peers' own environment, below the data folder: with the newest Python available, since some of them need it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "peers" / "requirements.txt"
WANTED = ("python3.13", "python3.12")
PYENV = Path.home() / ".pyenv" / "versions"
COMPLETE = "requirements.txt"
"""A copy of the requirements that were installed, written last."""


@dataclass(frozen=True, slots=True)
class Peers:
    """The environment's Python, and its version, such as `3.13`."""

    python: Path
    python_version: str


def peers_environment(folder: Path) -> Peers:
    """Return the environment; make it if it is missing or the requirements have changed since. Raises
    CalledProcessError."""
    python = folder / "bin" / "python"
    complete = folder / COMPLETE
    if not complete.is_file() or complete.read_text() != REQUIREMENTS.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run((newest_python(), "-m", "venv", str(folder)), check=True)
        install = (str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(REQUIREMENTS))
        subprocess.run(install, check=True)
        shutil.copyfile(REQUIREMENTS, complete)
    return Peers(python, _version(str(python)))


def newest_python() -> str:
    """Return the newest Python that the peers support; else the one that runs this."""
    for name in WANTED:
        candidates = [shutil.which(name), *sorted(map(str, PYENV.glob(f"{name.removeprefix('python')}.*/bin/{name}")))]
        for path in candidates:
            if path is not None and _version(path):
                return path
    return sys.executable


def _version(python: str) -> str:
    """Return its version; empty if it does not start: a shim may stand for a Python that is not there."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    started = subprocess.run((python, "-c", code), capture_output=True, text=True, check=False)
    return started.stdout.strip()
