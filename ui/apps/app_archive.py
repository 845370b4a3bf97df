"""Texts of apps as a zip: a file `NAME.app` for each. What comes in is not trusted: neither names nor sizes."""

import io
import zipfile
import zlib
from collections.abc import Mapping

from store.records.apps import MOST_TEXT_BYTES
from ui.apps.stored_apps import AppAnswerError, check_name

MOST_ENTRIES = 100
MOST_TOTAL_BYTES = 8 * 1024**2
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
SUFFIX = ".app"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that equal texts are equal archives."""


def packed(texts: Mapping[str, str]) -> bytes:
    """Return the zip of the texts, by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(f"{name}{SUFFIX}", EPOCH), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def unpacked(body: bytes) -> dict[str, str]:
    """Return the texts by name. Raises AppAnswerError 422 for what is no zip of apps, or becomes too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            entries = archive.infolist()
            if not 0 < len(entries) <= MOST_ENTRIES:
                raise AppAnswerError(422, f"The zip has {len(entries)} files; 1 to {MOST_ENTRIES} are expected.")
            found: dict[str, str] = {}
            total = 0
            for entry in entries:
                name = _name(entry, found)
                found[name] = _text(archive, entry)
                total += len(found[name])
                if total > MOST_TOTAL_BYTES:
                    raise AppAnswerError(422, f"The zip becomes more than {MOST_TOTAL_BYTES:,} bytes.")
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError) as error:
        # RuntimeError: it is encrypted; NotImplementedError: packed in an unknown way
        raise AppAnswerError(422, f"The body is no zip that can be read ({type(error).__name__}).") from None


def _name(entry: zipfile.ZipInfo, found: Mapping[str, str]) -> str:
    name = entry.filename.removesuffix(SUFFIX)
    if not entry.filename.endswith(SUFFIX):
        raise AppAnswerError(422, f"{entry.filename[:80]!r} in the zip is no file NAME{SUFFIX}.")
    check_name(name)
    if name in found:
        raise AppAnswerError(422, f"The zip has {entry.filename!r} twice.")
    return name


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    if entry.compress_type not in PACKINGS:
        raise AppAnswerError(422, f"{entry.filename!r} in the zip is packed in an unusual way; use stored or deflated.")
    # what the zip says of its sizes may be a lie: no more is unpacked than may be there
    with archive.open(entry) as file:
        content = file.read(MOST_TEXT_BYTES + 1)
    if len(content) > MOST_TEXT_BYTES:
        raise AppAnswerError(422, f"{entry.filename!r} in the zip is larger than {MOST_TEXT_BYTES:,} bytes.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise AppAnswerError(422, f"{entry.filename!r} in the zip is no text in UTF-8.") from None
