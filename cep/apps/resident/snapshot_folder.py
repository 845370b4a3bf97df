"""An app's snapshots on disk, one file a partition: the newest that was written whole."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    folder: Path

    def path(self, partition: int) -> Path:
        return self.folder / f"{partition}.snapshot"

    def save(self, partition: int, data: bytes) -> None:
        """Readers see the old file or the new one, after a loss of power too. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = self.path(partition).with_suffix(".new")
        with scratch.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
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
