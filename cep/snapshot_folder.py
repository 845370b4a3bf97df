"""Snapshots of a state on disk, one file for each partition of its log: the newest that was written whole."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    folder: Path

    def path(self, partition: int) -> Path:
        return self.folder / f"{partition}.snapshot"

    def save(self, partition: int, data: bytes) -> None:
        """Readers see the old file or the new one. After a loss of power it may be torn, which its digest shows; but
        with the machine the session ends, and nobody reads it. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = self.path(partition).with_suffix(".new")
        scratch.write_bytes(data)
        scratch.replace(self.path(partition))

    def load(self, partition: int) -> bytes | None:
        """None if there is none. Raises OSError."""
        try:
            return self.path(partition).read_bytes()
        except FileNotFoundError:
            return None

    def size(self, partition: int) -> int:
        """In bytes; 0 if there is none."""
        try:
            return self.path(partition).stat().st_size
        except FileNotFoundError:
            return 0
