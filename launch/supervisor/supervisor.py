"""Keeps the processes of a session running: starts them in order, restarts those that die, leaves none behind."""

import asyncio
import json
import logging
import signal
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import psutil

from launch.errors import LaunchError
from launch.setup.data_dir import ready_file, write_atomically
from launch.supervisor.children import Child, ExitWatch, reap_group, reap_orphans, watched_exit
from launch.supervisor.failure_log import end_reason, last_log_lines
from launch.supervisor.forks import TEMPLATE, Template
from launch.supervisor.priorities import AutogroupNice
from launch.supervisor.process_groups import STOP_SECONDS, ProcessSpec, group_members, signal_group
from launch.supervisor.process_states import ProcessStates
from launch.supervisor.readiness import IDLE_SECONDS, StartTimeouts, until_it_works, until_ready
from launch.supervisor.recorded_processes import PROCESSES_FILE, kill_recorded
from launch.supervisor.slow_steps import reported_if_slow
from launch.supervisor.status_writer import StatusWriter
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now, wall_now
from session.session import Session

PROGRESS_SECONDS = 10.0
"""Interval of the progress messages during a start. On a busy machine Spark takes more than a minute."""
POLL_SECONDS = 0.1
ORDERS_SECONDS = 0.5
"""Interval at which a process that works is looked at for orders, which come so often; its end is reported at once."""
CHECK_SECONDS = 2.0
STEADY_SECONDS = 30.0
"""A process that ran this long restarts with the shortest back-off."""
FEWEST_FORKS = 4
"""Below, a template takes more memory than its forks share."""
STOP_REQUESTED = "not wanted any more"

log = logging.getLogger("launch")


class Supervised(Protocol):
    """The processes of a session, under one supervisor or several."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def restarts(self) -> Mapping[str, int]: ...

    def idle_exchanges(self) -> frozenset[str]: ...

    async def start(self) -> None: ...

    async def all_ready(
        self,
        idle_seconds: float = IDLE_SECONDS,
        progress_seconds: float = PROGRESS_SECONDS,
        exchange_seconds: float | None = None,
    ) -> None: ...

    async def ready_of(self, names: tuple[str, ...]) -> None: ...

    async def stop(self) -> None: ...


class Supervisor:
    """Runs the processes of one session. `echo` prints a line for the user at each start and restart.

    With `session` it reports their states to the store, and stops and starts those that a user ordered to.
    """

    def __init__(
        self, home: Path, parts: Iterable[ProcessSpec], echo: Callable[[str], None], session: Session | None = None
    ) -> None:
        self._home = home
        self._parts = tuple(parts)
        self._say = echo
        self._clock = SystemClock()
        self._autogroups = AutogroupNice()
        self._children: dict[str, Child] = {}
        self._template = Template(home)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.states = ProcessStates(is_ordered=session is not None)
        self._status_writer = None if session is None else StatusWriter(session, self.states)
        self._status_task: asyncio.Task[None] | None = None
        self._template_tasks: tuple[asyncio.Task[None], ...] = ()
        self.restarts: dict[str, int] = {}

    async def start(self) -> None:
        kill_leftovers(self._home)
        parts, self._parts = self._parts, ()
        if sum(part.own_words is not None for part in parts) >= FEWEST_FORKS:
            self._template.start()
            keeping, reaping = self._template.keep_running(self._write_process_ids), self._reap()
            self._template_tasks = (asyncio.create_task(keeping), asyncio.create_task(reaping))
        self.add(parts)
        if self._status_writer is not None:
            self._status_task = asyncio.create_task(self._status_writer.run())

    def add(self, parts: Iterable[ProcessSpec]) -> None:
        """Start further processes."""
        for part in parts:
            ready_file(self._home, part.name).unlink(missing_ok=True)
            self._parts = (*self._parts, part)
            self.states.add(part)
            self._tasks[part.name] = asyncio.create_task(self._keep_supervising(part))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self._parts)

    def idle_exchanges(self) -> frozenset[str]:
        """Return exchanges all of whose bots are stopped on a user's order."""
        return self.states.idle_exchanges()

    def group_of(self, name: str) -> int | None:
        """Return the process group of a process, which equals its process id; None while it is down."""
        child = self._children.get(name)
        return None if child is None or child.poll() is not None else child.pid

    async def all_ready(
        self,
        idle_seconds: float = IDLE_SECONDS,
        progress_seconds: float = PROGRESS_SECONDS,
        exchange_seconds: float | None = None,
    ) -> None:
        """Wait until every process that is to run has reported ready, and print every `progress_seconds` what is
        missing.

        With `exchange_seconds`, wait no longer than that for the processes of single exchanges once all others are
        ready: these wait for an exchange that may be down.

        Raises LaunchError with the likely cause only if a missing process is dead: it was idle for `idle_seconds`, or
        keeps ending.
        """
        began, reported_at = wall_now(), steady_now()
        checked_at = others_at = reported_at
        of_exchanges = self._of_exchanges() if exchange_seconds is not None else frozenset()
        timeouts, logs = StartTimeouts(idle_seconds, self.restarts), self._home / "logs"
        while missing := self._missing():
            now = steady_now()
            others_at = others_at if of_exchanges.issuperset(missing) else now
            if exchange_seconds is not None and now - others_at > exchange_seconds * MICROSECONDS:
                self._say(started_without(missing, last_log_lines(logs, missing, began)))
                return
            if now - checked_at >= min(CHECK_SECONDS, idle_seconds) * MICROSECONDS:
                checked_at = now
                groups = {name: self.group_of(name) for name in self._startable(missing)}
                why = timeouts.check(groups, now, may_idle=of_exchanges)
                if why is not None:
                    raise LaunchError(f"{why}. {last_log_lines(logs, missing, began)}. Logs: {logs}")
            if now - reported_at >= progress_seconds * MICROSECONDS:
                reported_at = now
                self._say(f"still waiting for {', '.join(missing)}: {last_log_lines(logs, missing, began)}")
            await self._clock.sleep(POLL_SECONDS)

    def _of_exchanges(self) -> frozenset[str]:
        return frozenset(part.name for part in self._parts if part.exchange is not None)

    def _missing(self) -> list[str]:
        return [part.name for part in self._parts if not self._is_settled(part.name)]

    def _startable(self, missing: list[str]) -> list[str]:
        """Return the missing processes that do not wait for other missing ones."""
        waiting = {part.name for part in self._parts if not all(map(self._is_ready, part.after + part.awaits))}
        return [name for name in missing if name not in waiting]

    async def stop(self) -> None:
        """Stop all processes, those that depend on others first."""
        await self.stop_dependents()
        await self.stop_services()

    async def stop_dependents(self) -> None:
        """Stop all but the services; what was never started has nothing to end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for name in self._tasks:
            self.states.set_stopping(name)
        services = self._services()
        await self._end_all(part.name for part in self._parts if part.name not in services)
        if self._status_task is not None:
            # MongoDB is stopped with the services
            self._status_task.cancel()
            await asyncio.gather(self._status_task, return_exceptions=True)

    async def stop_services(self) -> None:
        """Stop the services once nobody needs them any more, also in other regions."""
        services = self._services()
        await self._end_all(part.name for part in self._parts if part.name in services)
        for task in self._template_tasks:
            task.cancel()
        await asyncio.gather(*self._template_tasks, return_exceptions=True)
        self._template.stop()
        (self._home / PROCESSES_FILE).unlink(missing_ok=True)

    async def _end_all(self, names: Iterable[str]) -> None:
        ending = tuple(names)

        def left() -> str:
            living = ", ".join(name for name in ending if name in self._children)
            return living and f"waiting for {living} to end, each killed after {STOP_SECONDS:.0f} s"

        async def all_ended() -> None:
            await asyncio.gather(*map(self._end, ending))

        await reported_if_slow(all_ended(), left, self._say)

    def _services(self) -> frozenset[str]:
        """Return the services, which others depend on: also in a region if nothing but MongoDB runs."""
        return frozenset({"mongodb"}).union(*(part.after + part.awaits for part in self._parts))

    async def _reap(self) -> None:
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            reap_orphans()

    async def _keep_supervising(self, part: ProcessSpec) -> None:
        """Go on after a fault of our own: a part without a supervising task would be neither restarted nor stopped."""
        delays = backoff()
        while True:
            supervising = asyncio.create_task(self._supervise(part))
            try:
                await asyncio.wait((supervising,))
            finally:
                supervising.cancel()
                await asyncio.gather(supervising, return_exceptions=True)
            fault = supervising.exception()
            log.error("supervising failed", extra={"part": part.name, "error": repr(fault)}, exc_info=fault)
            self.states.set_ended(part.name, f"supervising it failed: {fault}")
            await self._clock.sleep(next(delays))

    async def _supervise(self, part: ProcessSpec) -> None:
        delays = backoff()
        # never two of one part: what a failed supervising task had started runs on
        await self._end(part.name)
        while True:
            await self._wait_until_due(part)
            started = steady_now()
            self.states.set_starting(part.name)
            why = await self._run_once(part)
            if why == STOP_REQUESTED:
                await self._stop_part(part)
                delays = backoff()
                continue
            if steady_now() - started > STEADY_SECONDS * MICROSECONDS:
                delays = backoff()
            delay = next(delays)
            self.restarts[part.name] = self.restarts.get(part.name, 0) + 1
            self.states.set_ended(part.name, why)
            self._say(f"{part.name} ended ({why}); restarting in {delay:.1f} s")
            # never two writers on one checkpoint or data folder: kill the whole group before the next start
            await self._end(part.name)
            await self._pause(part.name, delay)

    async def _stop_part(self, part: ProcessSpec) -> None:
        """Stop a process on a user's order, within its own `stop_seconds`."""
        order = self.states.stop_order(part.name)
        why = STOP_REQUESTED if order is None else f"stopped by {order.by}"
        self._say(f"{part.name}: {why}")
        self.states.set_stopping(part.name)
        await self._end(part.name, part.stop_seconds)
        self.states.set_stopped(part.name, why)

    async def _wait_until_due(self, part: ProcessSpec) -> None:
        """Wait until the process is to run and everything it depends on is ready."""
        is_reported = False
        while not (self.states.is_wanted(part.name) and all(self._is_ready(name) for name in part.after)):
            order = self.states.stop_order(part.name)
            if order is not None:
                self.states.set_idle(part.name)
                if not is_reported:
                    # a stop order may be older than this session
                    is_reported = True
                    self._say(f"{part.name} stays stopped ({order.by} stopped it); start it on the dashboard")
            await self._clock.sleep(POLL_SECONDS)

    async def _pause(self, name: str, seconds: float) -> None:
        """Wait before the next start, or until the process is not to run any more."""
        deadline = steady_now() + int(seconds * MICROSECONDS)
        while steady_now() < deadline and self.states.is_wanted(name):
            await self._clock.sleep(min(POLL_SECONDS, seconds))

    async def _run_once(self, part: ProcessSpec) -> str:
        """Start a process and wait until it ends, its probe fails or it is to stop; returns the reason."""
        try:
            child = await self._template.start_part(part, self._home / "logs" / f"{part.name}.log")
            self._children[part.name] = child
            self.states.set_running(part.name, child.pid)
            self._write_process_ids()
            return await self._until_exit(part, child)
        except OSError as error:
            return f"{error.strerror}: {error.filename or part.command[0]}"

    async def _until_exit(self, part: ProcessSpec, child: Child) -> str:
        probe = asyncio.create_task(self._probe(part, child.pid))
        priority = asyncio.create_task(self._prioritise(part.name, child.pid))
        began = wall_now()
        try:
            with watched_exit(child.pid) as watch:
                why = await self._followed(part, child, probe, watch)
        finally:
            for task in (probe, priority):
                task.cancel()
            await asyncio.gather(probe, priority, return_exceptions=True)
            ready_file(self._home, part.name).unlink(missing_ok=True)
        return why or end_reason(child.wait(), self._home / "logs" / f"{part.name}.log", began)

    async def _followed(
        self, part: ProcessSpec, child: Child, probe: "asyncio.Task[None]", watch: ExitWatch
    ) -> str | None:
        """Return once it has ended, or why it is to end."""
        is_reported, started = False, steady_now()
        while child.poll() is None:
            if probe.done() and (fault := probe.exception()) is not None:
                return str(fault)
            if self.states.stop_order(part.name) is not None:
                return STOP_REQUESTED
            if not is_reported and self._is_ready(part.name):
                is_reported = True
                self.states.set_ready(part.name)
                self._say(f"{part.name} ready after {(steady_now() - started) / MICROSECONDS:.1f} s")
            await watch.wait(ORDERS_SECONDS if is_reported and watch.knows else POLL_SECONDS)
        return None

    async def _prioritise(self, name: str, pid: int) -> None:
        # all start alike: people look at pages while Spark starts, and nothing trades before that
        await until_ready(self._home, (name,))
        await self._autogroups.follow(name, pid)

    async def _probe(self, part: ProcessSpec, group: int) -> None:
        if part.probe is not None:
            await until_it_works(part.probe, part.name, group)
            write_atomically(ready_file(self._home, part.name), b"probed")

    async def ready_of(self, names: tuple[str, ...]) -> None:
        """Wait until these processes have reported ready."""
        await until_ready(self._home, names)

    def _is_ready(self, name: str) -> bool:
        return ready_file(self._home, name).exists()

    def _is_settled(self, name: str) -> bool:
        return self._is_ready(name) or self.states.stop_order(name) is not None

    async def _end(self, name: str, seconds: float | None = STOP_SECONDS) -> None:
        """Send SIGTERM, and kill the rest of its group after `seconds`, or once the process has ended."""
        child = self._children.get(name)
        if child is None:
            return
        signal_group(child.pid, signal.SIGTERM)
        began = steady_now()
        while group_members(child.pid) if seconds is not None else child.poll() is None:
            child.poll()
            if seconds is not None and steady_now() - began > seconds * MICROSECONDS:
                break
            await self._clock.sleep(POLL_SECONDS)
        signal_group(child.pid, signal.SIGKILL)
        while group_members(child.pid):
            child.poll()
            await self._clock.sleep(POLL_SECONDS)
        child.wait()
        reap_group(child.pid)
        # kept until its whole group is gone: after a cancelled restart, `stop` needs it
        self._children.pop(name, None)

    def _write_process_ids(self) -> None:
        running, pids = {}, {name: child.pid for name, child in self._children.items()}
        if self._template.pid is not None:
            pids[TEMPLATE] = self._template.pid
        for name, pid in pids.items():
            try:
                running[name] = [pid, psutil.Process(pid).create_time()]
            except psutil.NoSuchProcess:
                continue
        write_atomically(self._home / PROCESSES_FILE, json.dumps(running).encode())


def started_without(missing: Iterable[str], why: str) -> str:
    """Return the message of a session that starts although an exchange does not answer."""
    return f"starting without {', '.join(missing)}; they wait for their exchange and join once it answers: {why}"


def kill_leftovers(home: Path) -> None:
    """Kill processes that a killed supervisor left running; process ids are checked by their start times."""
    for name, group in kill_recorded(home).items():
        log.warning("killed a process left over from a killed session", extra={"part": name, "group": group})
