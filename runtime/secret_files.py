"""Files of the owner's with secrets: outside the project, readable by nobody else."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]


class PrivateFileError(Exception):
    """Why a file with secrets is not used, in one sentence without any of them."""


def private_toml(path: Path) -> dict[str, Any]:
    """Return what the file has. Raises PrivateFileError."""
    try:
        path = path.expanduser()
        resolved = path.resolve(strict=True)
        mode, owner = resolved.stat().st_mode, resolved.stat().st_uid
        if resolved.is_relative_to(PROJECT):
            raise PrivateFileError(f"{path} lies within the project; keep secrets outside of it")
        if mode & (stat.S_IRWXG | stat.S_IRWXO) or owner != os.getuid():
            raise PrivateFileError(f"{path} must be yours alone: chmod 600 {path}")
        return tomllib.loads(resolved.read_text())
    except OSError as error:
        raise PrivateFileError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        # what the parser says may quote the secret
        raise PrivateFileError(f"{path} is not valid TOML") from None
    except RuntimeError:
        raise PrivateFileError(f"{path}: nobody of that name has a home folder here; write the whole path") from None
