"""How busy this machine is."""

import os
from dataclasses import dataclass

from runtime.linux_calls import usable_cores

OVERLOAD = 1.5
"""Processes that want to run, per core: above it each waits, and what takes milliseconds takes seconds."""


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """`load`: processes that ran or wanted to, in the mean of the last minute."""

    load: float
    cores: int

    @property
    def is_overload(self) -> bool:
        return self.load > OVERLOAD * self.cores


def machine_load() -> MachineLoad | None:
    """None if the system does not say."""
    try:
        return MachineLoad(os.getloadavg()[0], usable_cores())
    except OSError:
        return None
