"""The peers' own environment, below the data folder: the newest Python there is, since some of them want it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "peers" / "requirements.txt"
WANTED = ("python3.13", "python3.12")
PYENV = Path.home() / ".pyenv" / "versions"
COMPLETE = "requirements.txt"
"""A copy of what was installed, written last."""


@dataclass(frozen=True, slots=True)
class Peers:
    """Where it is, and `3.13` and the like."""

    python: Path
    python_version: str


def peers_environment(folder: Path) -> Peers:
    """Made if it is not there or the requirements have changed since. Raises CalledProcessError."""
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
    """Of those that the peers know; else the one that runs this."""
    for name in WANTED:
        candidates = [shutil.which(name), *sorted(map(str, PYENV.glob(f"{name.removeprefix('python')}.*/bin/{name}")))]
        for path in candidates:
            if path is not None and _version(path):
                return path
    return sys.executable


def _version(python: str) -> str:
    """Empty if it does not start: a shim may stand for a Python that is not there."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    started = subprocess.run((python, "-c", code), capture_output=True, text=True, check=False)
    return started.stdout.strip()
