"""The key with which a session is asked: given, from a file, or from the environment."""

from collections.abc import Mapping
from pathlib import Path

from runtime.errors import RefusedError

VARIABLE = "ARBITRAGE_API_KEY"
LONGEST_KEY = 4_096


def key_from(key: str | None, key_file: Path | None, environment: Mapping[str, str]) -> str | None:
    """Return the key; None if none is given anywhere. Raises RefusedError if the file has none, or both are given."""
    if key is not None and key_file is not None:
        raise RefusedError("Give a key or a file that holds it, not both.")
    if key_file is not None:
        return key_in(key_file)
    return key or environment.get(VARIABLE, "").strip() or None


def key_in(path: Path) -> str:
    """Return the key that a file holds. Raises RefusedError."""
    try:
        with path.open() as file:
            key = file.read(LONGEST_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise RefusedError(f"{path}: cannot be read as a key ({why}).") from error
    if not key or len(key.split()) != 1:
        raise RefusedError(f"{path}: holds no key; `arbitrage keys add NAME --role operator` shows one.")
    return key
