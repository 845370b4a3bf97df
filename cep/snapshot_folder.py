"""Snapshots of a state on disk, one file for each partition of its log: the newest that was written whole. Beside it
are segments of what is kept by key (`cep.apps.engine.key_log`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


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

    def segments(self, partition: int) -> "SegmentFiles":
        return SegmentFiles(self.folder, partition)

    def size(self, partition: int) -> int:
        """In bytes, with its segments; 0 if there is none."""
        return sum(_size(one) for one in (self.path(partition), *self.segments(partition).paths()))


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """Of one partition."""

    folder: Path
    partition: int

    def path(self, number: int) -> Path:
        return self.folder / f"{self.partition}.{number}.keys"

    def paths(self) -> list[Path]:
        return list(self.folder.glob(f"{self.partition}.*.keys"))

    def numbers(self) -> list[int]:
        return [int(path.name.split(".")[1]) for path in self.paths()]

    def append(self, number: int, data: bytes) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path(number).open("ab") as file:
            file.write(data)

    def open(self, number: int) -> BinaryIO:
        return self.path(number).open("rb")

    def drop_before(self, number: int) -> None:
        for one in self.numbers():
            if one < number:
                self.path(one).unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
