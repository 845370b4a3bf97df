"""A group of published apps that share processes, one for each partition, which are started again if they end."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import psutil

from cep.apps.errors import AppFailedError
from cep.apps.resident.ended_apps import forget_end, note_end, noted_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker_files import taken_failure
from cep.apps.resident.worker_progress import forget_progress
from cep.apps.resident.worker_watch import WorkerWatch
from launch.published.process_ends import ProcessEnds, end_words
from launch.published.worker_link import END_SECONDS, RESTARTED, WorkerLink
from launch.published.worker_process import WorkerTask, started_worker
from market.time_units import MICROSECONDS
from runtime.app_door import AppDoorSilentError
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now
from runtime.tasks import run_again, run_all, run_until_first
from streams.topic_reader import TopicReader

WATCH_SECONDS = 1.0
STEADY_SECONDS = 10.0
"""A process that ran this long is started again at once."""
LEAVE_SECONDS = 30.0
"""So long an app that is to leave is waited for, if its process was just killed."""
LOOK_SECONDS = 0.05

log = logging.getLogger("launch")

TellEnd = Callable[[int, str], None]
"""Takes the place of an app that has ended by itself, and why."""


class WorkerGroup:
    """`folder`: of the group, named as it is. `tell`: called once for each app that ends by itself."""

    def __init__(
        self, context: ForkServerContext, kafka: str, folder: Path, partitions: Sequence[int], tell: TellEnd
    ) -> None:
        self._context, self._kafka, self._folder, self._tell = context, kafka, folder, tell
        self.partitions = tuple(partitions)
        self.apps: dict[int, PlacedApp] = {}
        """By place."""
        self.ends = ProcessEnds()
        self._kills: dict[int, str] = {}
        """By process, why it was killed."""
        self._links: dict[int, WorkerLink] = {}
        self._steps = asyncio.Lock()
        self._reported: set[int] = set()
        self._begun_again: set[tuple[int, int]] = set()
        """Place and partition of apps whose process was killed, and that may not have done yet what that one did."""

    @property
    def name(self) -> str:
        return self._folder.name

    async def run(self) -> None:
        """Keep the processes running until cancelled, whatever fails; they end with it."""

        def on_failure(failure: BaseException) -> None:
            self.ends.add(steady_now(), f"its processes cannot be run: {failure}")
            log.error("processes of apps failed, started again", exc_info=failure, extra={"group": self.name})

        forget_progress(self._folder)
        await run_again(self._run, on_failure)

    async def _run(self) -> None:
        try:
            await run_all(self._watch(), *(self._keep(partition) for partition in self.partitions))
        finally:
            for link in self._links.values():
                link.process.terminate()
            await asyncio.gather(*(asyncio.to_thread(_ended, link) for link in self._links.values()))
            self._begun_again |= {(place, partition) for place in self.apps for partition in self._links}

    async def begin(self, place: int, placed: PlacedApp, *, is_again: bool = False) -> None:
        """Run one more app, in each partition that it has. An app that cannot be begun ends by itself. `is_again`: its
        process before may have given more than its snapshots have."""
        async with self._steps:
            forget_end(placed.folder)
            self.apps[place] = placed
            self._reported.discard(place)
            if is_again:
                self._begun_again |= {(place, partition) for partition in self._partitions_of(placed)}
            for partition in self._partitions_of(placed):
                # a process that is being started begins it with the others
                with suppress(AppDoorSilentError):
                    await self._begin(partition, place, placed)

    async def leave(self, place: int) -> None:
        """End an app, with its state saved. A process that was just killed has saved it about a second before and
        written rows since, so the one after it first does what that one did; what cannot be had in time is left. Raises
        StreamUnavailableError if Kafka does not say how much that is; the app has left all the same."""
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                while cut := await self._cut_in_leaving(place):
                    await self._catch_up(place, cut)
                    self._begun_again -= {(place, partition) for partition in cut}
        except TimeoutError:
            log.warning("app left before it had done again what it did", extra={"group": self.name, "place": place})
        finally:
            self.apps.pop(place, None)
            self._begun_again = {one for one in self._begun_again if one[0] != place}

    async def _cut_in_leaving(self, place: int) -> list[int]:
        """Ask all its processes to end the app. Returns the partitions whose process was killed, which were not asked:
        the one after it begins the app with the others. None of them if the app has ended by itself: no process begins
        it any more, and nothing is to be waited for."""
        async with self._steps:
            placed, cut = self.apps.get(place), list[int]()
            for partition in () if placed is None else self._partitions_of(placed):
                link, is_again = self._links.get(partition), (place, partition) in self._begun_again
                try:
                    if link is not None and not is_again:
                        await link.leave(place)
                except AppDoorSilentError:
                    is_again = True
                has_ended = placed is None or noted_end(placed.folder) is not None
                cut += [partition] if is_again and not has_ended else []
            if not cut:
                self.apps.pop(place, None)
            return cut

    async def _catch_up(self, place: int, partitions: Sequence[int]) -> None:
        """Wait until the app has taken what is in these partitions of its log now, or has ended."""
        placed = self.apps[place]
        if noted_end(placed.folder) is not None:
            return
        async with TopicReader(self._kafka, (placed.source.topic,), "latest") as reader:
            ends = await reader.end_offsets()
        while noted_end(placed.folder) is None:
            await SystemClock().sleep(LOOK_SECONDS)
            found, name = await self.status(), str(place)
            taken = {one: counts[name]["offset"] for one, counts in found.items() if name in counts}
            if all(taken.get(one, -1) >= ends.get((placed.source.topic, one), 0) for one in partitions):
                return

    async def status(self) -> Mapping[int, Mapping[str, Any]]:
        """Return by partition the figures of its apps, by place as text."""
        found = {}
        for partition, link in list(self._links.items()):
            with suppress(AppDoorSilentError):
                found[partition] = await link.status()
        return found

    def process_of(self, partition: int) -> psutil.Process | None:
        """Return the process that runs the partition; None while it is being started again."""
        link = self._links.get(partition)
        with suppress(psutil.NoSuchProcess):
            return None if link is None or link.process.pid is None else psutil.Process(link.process.pid)
        return None

    def process_report(self, partition: int) -> Mapping[str, Any]:
        """Return the process of a partition, and its memory."""
        process = self.process_of(partition)
        memory = None
        with suppress(psutil.NoSuchProcess):
            memory = None if process is None else process.memory_info().rss
        return {"partition": partition, "pid": process and process.pid, "memory_bytes": memory}

    async def rows(self, place: int, stream: str, last: int) -> list[Mapping[str, Any]]:
        """Return the newest rows of all partitions, oldest first. Raises AppDoorSilentError, AppDoorRefusedError."""
        rows = [row for link in self._links_of(place) for row in await link.rows(place, stream, last)]
        return sorted(rows, key=lambda row: row["time"])[-last:] if len(self.partitions) > 1 else rows

    async def query(self, place: int, query: str, values: Mapping[str, Any], *, may_write: bool) -> Mapping[str, Any]:
        """Return the rows of all partitions, each of which answers for itself. Raises as `rows`."""
        answers = [await link.query(place, query, values, may_write=may_write) for link in self._links_of(place)]
        rows = [row for answer in answers for row in answer["rows"]]
        return {"columns": answers[0]["columns"], "rows": rows, "as_of": [answer["as_of"] for answer in answers]}

    async def follow(self, place: int, stream: str) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield the rows of all partitions as they come, until one of their processes ends. Raises as `rows`."""
        queue = asyncio.Queue[Mapping[str, Any]](1)

        async def one(link: WorkerLink) -> None:
            async with aclosing(link.follow(place, stream)) as rows:
                async for row in rows:
                    await queue.put(row)

        following = asyncio.ensure_future(run_until_first(*(one(link) for link in self._links_of(place))))
        try:
            while True:
                taking = asyncio.ensure_future(queue.get())
                await asyncio.wait({taking, following}, return_when="FIRST_COMPLETED")
                if not taking.done():
                    taking.cancel()
                    following.result()
                    return
                yield taking.result()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    def _links_of(self, place: int) -> list[WorkerLink]:
        placed = self.apps.get(place)
        wanted = () if placed is None else self._partitions_of(placed)
        found = [self._links[one] for one in wanted if one in self._links]
        if placed is None or len(found) < len(wanted):
            raise AppDoorSilentError(f"{RESTARTED}.")
        return found

    def _partitions_of(self, placed: PlacedApp) -> tuple[int, ...]:
        return tuple(partition for _, partition in placed.first if partition in self.partitions)

    async def _begin(self, partition: int, place: int, placed: PlacedApp) -> None:
        link = self._links.get(partition)
        if link is None:
            return
        try:
            await link.begin(place, placed)
        except AppFailedError as error:
            note_end(placed.folder, str(error).rstrip("."))

    async def _keep(self, partition: int) -> None:
        delays = backoff(first=0.1, longest=5.0)
        while True:
            began = steady_now()
            async with self._steps:
                task = WorkerTask(self._kafka, self._folder, partition, dict(self.apps))
                link = WorkerLink(*await self._started(task))
                await link.open()
                self._links[partition] = link
            await link.serve()
            await asyncio.to_thread(_ended, link)
            if steady_now() - began > STEADY_SECONDS * MICROSECONDS:
                delays = backoff(first=0.1, longest=5.0)
            process = link.process
            noted = self._kills.pop(process.pid or 0, "") or taken_failure(self._folder, partition)
            self.ends.add(steady_now(), end_words(process.exitcode, noted))
            self._begun_again |= {(place, partition) for place in self.apps}
            log.warning(
                "process of apps ended, started again",
                extra={"group": self.name, "partition": partition, "exit_code": process.exitcode},
            )
            await SystemClock().sleep(next(delays))

    async def _started(self, task: WorkerTask) -> tuple[ForkServerProcess, socket.socket]:
        """Return the process and our end of its sockets; cancelled meanwhile, leave neither behind."""
        starting = asyncio.create_task(asyncio.to_thread(started_worker, self._context, task))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # one that cannot be started either is cancelled all the same, not started again
            with suppress(OSError):
                process, connection = await starting
                connection.close()
                process.kill()
            raise

    async def _watch(self) -> None:
        watch = WorkerWatch(self._folder, self.apps)
        while True:
            await SystemClock().sleep(WATCH_SECONDS)
            for bad in list(watch.bad_workers()):
                # first noted, so that the process that comes after this one has it no more
                if bad.app is not None:
                    note_end(bad.app.folder, bad.problem)
                else:
                    log.warning(bad.problem, extra={"group": self.name})
                with suppress(psutil.NoSuchProcess):
                    self._kills[bad.process.pid] = bad.problem
                    bad.process.kill()
            for place, placed in list(self.apps.items()):
                problem = noted_end(placed.folder)
                if problem is not None and place not in self._reported:
                    self._reported.add(place)
                    self._tell(place, problem)


def _ended(link: WorkerLink) -> None:
    link.process.join(END_SECONDS)
    if link.process.is_alive():
        link.process.kill()
        link.process.join(END_SECONDS)
