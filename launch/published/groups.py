"""The groups of processes of this part: those that quiet apps share, and those of one app alone."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

from launch.published.placing import MOST_ALONE, shared_place
from launch.published.worker_group import TellEnd, WorkerGroup

SHARED = "shared"


class WorkerGroups:
    """`folder`: of the session's apps. `tell`: as of `WorkerGroup`."""

    def __init__(
        self, context: ForkServerContext, kafka: str, folder: Path, partitions: Sequence[int], tell: TellEnd
    ) -> None:
        self._terms = context, kafka, partitions, tell
        self._folder = folder
        self._first = self._new(SHARED)
        self._shared = [self._first]
        self._alone: list[WorkerGroup] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Keep all processes running until cancelled; they end with it."""
        try:
            await self._first.run()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    @property
    def all(self) -> tuple[WorkerGroup, ...]:
        return *self._shared, *self._alone

    @property
    def has_place_alone(self) -> bool:
        return len(self._alone) < MOST_ALONE

    def is_alone(self, group: WorkerGroup) -> bool:
        """Whether it is of one app."""
        return group in self._alone

    def shared(self, running: Iterable[WorkerGroup]) -> WorkerGroup:
        """Return the shared group that one more app goes into. `running`: the group of each app that runs, or is being
        begun."""
        counts = Counter(group.name for group in running)
        place = shared_place([counts[group.name] for group in self._shared])
        if place == len(self._shared):
            self._shared.append(self._begun(f"{SHARED}-{place + 1}"))
        return self._shared[place]

    def own(self, label: str) -> WorkerGroup:
        """Return a group of one app, by the label of its version."""
        group = self._begun(label)
        self._alone.append(group)
        return group

    async def close(self, group: WorkerGroup) -> None:
        """End the group of an app that has left it, unless others share it."""
        if group in self._alone:
            self._alone.remove(group)
            task = self._tasks.pop(group.name)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _begun(self, name: str) -> WorkerGroup:
        group = self._new(name)
        self._tasks[group.name] = asyncio.create_task(group.run())
        return group

    def _new(self, name: str) -> WorkerGroup:
        context, kafka, partitions, tell = self._terms
        return WorkerGroup(context, kafka, self._folder / f"group-{name}", partitions, tell)
