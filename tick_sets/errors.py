"""Errors of recorded market data."""

from pathlib import Path
from typing import NoReturn

LONGEST_SENTENCE = 1_000
"""Characters: enough for two paths and a row, but not for a whole damaged file."""


class ImportRejectedError(Exception):
    """A recording cannot be used: one sentence that names the file, and the line if there is one.

    Quoted parts of a file are shortened to one line and contain no terminal control characters.
    """

    def __init__(self, sentence: str) -> None:
        plain = "".join(letter if letter.isprintable() else "?" for letter in sentence)
        super().__init__(plain if len(plain) <= LONGEST_SENTENCE else f"{plain[:LONGEST_SENTENCE]}…")


def reject(path: Path, line: int | None, why: str) -> NoReturn:
    """Raise the one sentence that names the file, and the line if there is one."""
    place = str(path) if line is None else f"{path}, line {line}"
    raise ImportRejectedError(f"{place}: {why}")
