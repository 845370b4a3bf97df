"""How much room the data folder's disk must have, and what less of it means for a session."""

from dataclasses import dataclass
from typing import Literal

from runtime.disk_space import MEGABYTE

DiskLevel = Literal["enough", "low", "reduce_only", "stop"]


@dataclass(frozen=True, slots=True)
class DiskBounds:
    """Bytes below which people are warned, nothing new is traded, and the session is ended in good order.

    Reduce-only alone does not stop what feeds, detection and recordings write; the last bound is what keeps mongod
    alive, which aborts on a full disk. Its journal takes 100 MB at once.
    """

    warn: int = 2_000 * MEGABYTE
    reduce: int = 600 * MEGABYTE
    stop: int = 300 * MEGABYTE

    def level(self, free: int) -> DiskLevel:
        if free < self.stop:
            return "stop"
        if free < self.reduce:
            return "reduce_only"
        return "low" if free < self.warn else "enough"
