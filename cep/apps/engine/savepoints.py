"""Savepoints: what an app has kept in all partitions of its log at one moment, with its text, as one file.

A snapshot is the engine's own, overwritten every second, and belongs to one partition of one log. A savepoint is the
user's: it stays, and the app may go on from it in another session. It is JSON with a digest, so that reading one runs
nothing; the snapshots in it are read as snapshots are (`cep.apps.engine.snapshots`).
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cep.apps.engine.snapshots import SnapshotError

FORMAT = b"arbitrage app savepoint 1\n"
DIGEST_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Savepoint:
    """`digest`: of all that its rows follow from but the log, as in its snapshots. `log`: the label of the log that the
    positions in the snapshots are of; an app goes on at them on that log alone. `taken_at`: microseconds UTC. `parts`:
    a snapshot for each partition."""

    app: str
    text: str
    digest: str
    log: str
    taken_at: int
    parts: Mapping[int, bytes]


def savepoint_bytes(savepoint: Savepoint) -> bytes:
    body = json.dumps(
        {
            "app": savepoint.app,
            "text": savepoint.text,
            "digest": savepoint.digest,
            "log": savepoint.log,
            "taken_at": savepoint.taken_at,
            "parts": {str(partition): base64.b64encode(data).decode() for partition, data in savepoint.parts.items()},
        }
    ).encode()
    return FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read_savepoint(data: bytes) -> Savepoint:
    """Raise SnapshotError, with one sentence, if it is none."""
    if not data.startswith(FORMAT):
        raise SnapshotError("the file is no savepoint, or one of another version")
    digest, _, body = data[len(FORMAT) :].partition(b"\n")
    if len(digest) != DIGEST_CHARACTERS or hashlib.sha256(body).hexdigest().encode() != digest:
        raise SnapshotError("the savepoint is torn or was changed")
    try:
        return _read(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise SnapshotError(f"the savepoint cannot be read: {error}") from error


def _read(found: Mapping[str, Any]) -> Savepoint:
    """Raise ValueError, KeyError, TypeError or AttributeError."""
    parts = {int(partition): base64.b64decode(data, validate=True) for partition, data in found["parts"].items()}
    texts = [str(found[name]) for name in ("app", "text", "digest", "log")]
    return Savepoint(texts[0], texts[1], texts[2], texts[3], int(found["taken_at"]), parts)
