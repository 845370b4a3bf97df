"""Snapshots of an app's state as bytes. They are read only whole, and only by the app that they are of.

The state is written by pickle, which keeps what parts share. It is read by an unpickler that makes no object but those
named here, as Python's documentation advises (https://docs.python.org/3/library/pickle.html#restricting-globals): a
snapshot that somebody else wrote runs nothing.
"""

import hashlib
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass

from cep.apps.errors import AppError

FORMAT = b"arbitrage app snapshot 5\n"
DIGEST_BYTES = 32
_ALLOWED: Mapping[str, frozenset[str]] = {
    "builtins": frozenset(("set", "frozenset")),
    "collections": frozenset(("deque", "Counter")),
    "decimal": frozenset(("Decimal",)),
    "cep.apps.parts.chunks": frozenset(("Kind",)),
    "cep.apps.parts.session_window": frozenset(("EventSession",)),
    "cep.apps.parts.pattern_stages": frozenset(("PartialMatch",)),
    "cep.apps.engine.snapshots": frozenset(("Snapshot", "KeysApart", "Segment")),
}


_BEFORE_0_2 = "cep."
"""Where 0.1 had these modules; a snapshot of then is still read."""


class SnapshotError(AppError):
    """A snapshot that cannot be used: the app's log is read from an earlier place."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`app`: a digest of its text. `position`: the next row to be read of the log, by partition; of an
    input log also the next one of each topic in it, and in a session with regions the last sequence of each market,
    `exchange:symbol`."""

    app: str
    position: Mapping[str, int]
    state: object


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of entries of keys, as a snapshot knows it: its first `length` bytes, which have that digest."""

    number: int
    length: int
    digest: bytes
    entries: int


Segments = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class KeysApart:
    """A state whose keys are in segments (`cep.apps.engine.key_log`), of which later ones count."""

    state: object
    segments: Segments


def app_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def written(snapshot: Snapshot) -> bytes:
    body = pickle.dumps(snapshot, protocol=5)
    return FORMAT + hashlib.sha256(body).digest() + body


def read(data: bytes, app: str) -> Snapshot:
    """Raise SnapshotError."""
    if not data.startswith(FORMAT):
        raise SnapshotError("the snapshot is of another version")
    digest, body = data[len(FORMAT) : len(FORMAT) + DIGEST_BYTES], data[len(FORMAT) + DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != digest:
        raise SnapshotError("the snapshot is torn or was changed")
    snapshot = unpickled(body)
    if not isinstance(snapshot, Snapshot) or snapshot.app != app:
        raise SnapshotError("the snapshot is of another app")
    return snapshot


def unpickled(body: bytes) -> object:
    """Raise SnapshotError."""
    try:
        return _Unpickler(io.BytesIO(body)).load()
    except (pickle.UnpicklingError, ValueError, TypeError, AttributeError, EOFError, IndexError, ImportError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if module.startswith(_BEFORE_0_2) and not module.startswith("cep.apps."):
            module = module.replace(_BEFORE_0_2, "cep.apps.", 1)
        if name not in _ALLOWED.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} does not belong in a snapshot")
        return super().find_class(module, name)
