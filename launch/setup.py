"""What an environment with the pinned packages still needs; `python -m launch.setup` brings it."""

import sys
from collections.abc import Callable
from pathlib import Path

from launch.errors import LaunchError
from launch.home import home_folder
from launch.jars import resolve_jars
from store.embedded_mongod import mongod_program
from store.errors import StoreError


def prepare(home: Path, say: Callable[[str], None]) -> None:
    """An executable mongod, where there is one for this system, and the jars in `home`. Raises CannotStartError."""
    try:
        mongod_program()
    except StoreError as error:
        say(f"[5/5] {error}")
    resolve_jars(home, lambda line: say(f"[5/5] {line}"))


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
