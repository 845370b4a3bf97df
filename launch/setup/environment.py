"""The virtual environment: made once from the pinned packages, known by its stamp the second time.

Runs on the bare interpreter (`python3 -m launch.setup.environment FOLDER`), so all it imports is the standard
library, and then has the new environment do the rest (`launch.commands.setup`).
"""

import hashlib
import platform
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.setup.prerequisites import checked_java, python_fault

PROJECT = Path(__file__).resolve().parents[2]
PINS = PROJECT / "requirements.lock"
Echo = Callable[[str], None]


def make_environment(folder: Path, echo: Echo) -> None:
    """Make a virtual environment with the pinned packages, unless its stamp says that it is up to date. Raises
    CannotStartError."""
    fault = python_fault(sys.version_info[:3])
    if fault is not None:
        raise CannotStartError(fault)
    checked_java()
    stamp = folder / "setup.stamp"
    if stamp.exists() and stamp.read_text() == _fingerprint(folder):
        return
    echo(f"[1/4] Python {platform.python_version()} and Java found")
    _create(folder, echo)
    echo(f"[3/4] installing {len(pinned_packages(PINS.read_text()))} pinned packages (a minute or two) ...")
    # what is downloaded must have one of the lock's checksums
    _install(folder, "--require-hashes", "-r", str(PINS))
    _install(folder, "--no-deps", "-e", str(PROJECT))
    echo("[4/4] caching byte code (ccxt alone would cost 10 s at every start) ...")
    _compile(folder)
    stamp.write_text(_fingerprint(folder))


def pinned_packages(lock: str) -> list[str]:
    """Return the requirements of a lock file, without their checksums: `name==version`, with a marker if there is
    one."""
    lines = lock.replace("\\\n", " ").splitlines()
    whole = (line.partition(" --hash=")[0].strip() for line in lines)
    return [one for one in whole if one and not one.startswith("#")]


def _fingerprint(folder: Path) -> str:
    """Return a stamp that changes with the pins, the project's metadata, the interpreter and the place (scripts hold
    absolute paths)."""
    digest = hashlib.sha256()
    for content in (PINS.read_bytes(), (PROJECT / "pyproject.toml").read_bytes()):
        digest.update(content)
    digest.update(f"{sys.version}{folder.resolve()}".encode())
    return digest.hexdigest()


def _create(folder: Path, echo: Echo) -> None:
    echo(f"[2/4] virtual environment {folder}")
    if _answers(_python(folder)):
        return
    if folder.is_symlink():
        raise CannotStartError(
            f"{folder} is a link to {folder.resolve()}, which would be emptied; "
            "remove the link, or name another folder: make setup VENV=/path/to/folder."
        )
    try:
        venv.create(folder, with_pip=True, clear=folder.exists())
    except (subprocess.CalledProcessError, OSError) as error:
        raise CannotStartError(
            f"Python could not make the environment {folder} ({error}); on Debian, install python3-venv."
        ) from error


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _answers(python: Path) -> bool:
    """Return whether an environment is there whose interpreter is this one and has pip, and that was made in this
    place."""
    try:
        if not (python.parent / "pip").read_text().startswith(f"#!{python.absolute()}\n"):
            return False
    except OSError:
        return False
    command = (str(python), "-c", "import pip, sys; print(sys.version)")
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == sys.version.strip()


def _install(folder: Path, *what: str) -> None:
    # byte code comes after, with all cores
    options = ("--quiet", "--disable-pip-version-check", "--no-compile")
    command = (str(_python(folder)), "-m", "pip", "install", *options, *what)
    if subprocess.run(command, check=False).returncode != 0:
        raise CannotStartError(
            "pip could not install the pinned packages (see its error above); check the network and run it again."
        )


def _compile(folder: Path) -> None:
    """Compile byte code of all packages; templates among them that are no Python do no harm."""
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    command = (str(_python(folder)), "-m", "compileall", "-q", "-j", "0", packages)
    subprocess.run(command, capture_output=True, check=False)


def main(words: list[str]) -> int:
    folder = Path(words[0] if words else ".venv")
    try:
        make_environment(folder, _say)
    except LaunchError as error:
        sys.stderr.write(f"setup: {error}\n")
        return error.exit_code
    return subprocess.run((str(_python(folder)), "-m", "launch.commands.setup"), check=False, cwd=PROJECT).returncode


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
