"""Keeps the processes of a session with regions running: a supervisor for each region, and one for what is outside."""

import asyncio
from collections.abc import Callable, Mapping

from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.readiness import IDLE_SECONDS
from launch.supervisor.supervisor import PROGRESS_SECONDS, Supervisor
from runtime.tasks import run_all

Mirrors = Callable[[], Mapping[str, ProcessSpec]]
"""Region → its mirror, once each region's Kafka is there."""


class RegionSupervisors:
    """Like one `Supervisor`: names and readiness are those of the first region's parts."""

    def __init__(self, outside: Supervisor, regions: Mapping[str, Supervisor], mirrors: Mirrors) -> None:
        self.outside = outside
        self.regions = dict(regions)
        self._mirrors = mirrors
        self._first = next(iter(self.regions.values()))

    @property
    def names(self) -> tuple[str, ...]:
        return self._first.names

    @property
    def restarts(self) -> dict[str, int]:
        """Return `region/part` → unrequested restarts."""
        found = dict(self.outside.restarts)
        for region, supervisor in self.regions.items():
            found |= {f"{region}/{name}": count for name, count in supervisor.restarts.items()}
        return found

    def idle_exchanges(self) -> frozenset[str]:
        return frozenset[str]().union(*(one.idle_exchanges() for one in self.regions.values()))

    async def start(self) -> None:
        """Start only what is outside; the regions follow once that is ready."""
        await self.outside.start()

    async def all_ready(
        self,
        idle_seconds: float = IDLE_SECONDS,
        progress_seconds: float = PROGRESS_SECONDS,
        exchange_seconds: float | None = None,
    ) -> None:
        """Wait until all are ready. Raises LaunchError as `Supervisor.all_ready`."""
        await self.outside.all_ready(idle_seconds, progress_seconds)
        for supervisor in self.regions.values():
            await supervisor.start()
        waits = (idle_seconds, progress_seconds, exchange_seconds)
        await run_all(self._mirror(), *(one.all_ready(*waits) for one in self.regions.values()))
        # the mirrors may have come after all else was ready
        await run_all(*(one.all_ready(*waits) for one in self.regions.values()))

    async def ready_of(self, names: tuple[str, ...]) -> None:
        await self._first.ready_of(names)

    async def stop(self) -> None:
        """Stop all parts, all regions' services last: MongoDB's members need each other for what bots still write."""
        try:
            await asyncio.gather(*(one.stop_dependents() for one in self.regions.values()))
            await asyncio.gather(*(one.stop_services() for one in self.regions.values()))
        finally:
            await self.outside.stop()

    async def _mirror(self) -> None:
        mirrored = [one for one in self.regions.values() if "kafka" in one.names]
        await run_all(*(one.ready_of(("kafka",)) for one in mirrored))
        for region, part in self._mirrors().items():
            self.regions[region].add([part])
