"""Schema files of the operator's folder, as `schema.file` of a text names them."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from cep.apps.formats.map_options import MapOptions
from cep.apps.language.app_ends import AppEnd

SCHEMA_FILE = "schema.file"
MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


def schema_bytes(options: MapOptions, folder: Path | None) -> bytes:
    """Return the content of the file that the text names. Raises AppUnsupportedError if there is none."""
    name = options.text(SCHEMA_FILE, "")
    if not _NAME.fullmatch(name):
        raise options.refused(f"{SCHEMA_FILE} = {name!r}: write the name of a file of the operator's folder of schemas")
    if folder is None:
        raise options.refused("there is no folder of schemas: the operator names one as `schemas` below [apps]")
    path = folder / name
    try:
        if not _is_schema(path):
            known = ", ".join(sorted(one.name for one in folder.iterdir() if _is_schema(one))[:20]) or "none"
            raise options.refused(f"{path} is missing; there are {known}")
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise options.refused(f"{path} cannot be read: {error.strerror}") from error
    if len(found) > MOST_BYTES:
        raise options.refused(f"{path} has more than {MOST_BYTES:,} bytes")
    return found


def _is_schema(path: Path) -> bool:
    # a link would let who writes into the folder name any file of this machine
    return path.is_file() and not path.is_symlink()


def schema_digests(ends: Iterable[AppEnd], folder: Path | None) -> tuple[tuple[str, str], ...]:
    """Return the schema files that the ends name, each with a digest of its content. Raises OSError if one is gone."""
    if folder is None:
        return ()
    named = {end.options[f"map.{SCHEMA_FILE}"] for end in ends if f"map.{SCHEMA_FILE}" in end.options}
    return tuple((name, hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in sorted(named))
