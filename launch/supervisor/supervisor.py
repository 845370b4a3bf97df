"""Keeps the parts of a session running: starts them in order, restarts what dies, leaves nothing behind."""

import asyncio
import json
import logging
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from launch.errors import LaunchError
from launch.setup.data_dir import ready_file, write_atomically
from launch.supervisor.failure_log import last_words
from launch.supervisor.process_groups import STOP_SECONDS, ProcessSpec, group_members, signal_group, spawn
from launch.supervisor.process_states import ProcessStates
from launch.supervisor.readiness import IDLE_SECONDS, StartTimeouts, until_it_works
from launch.supervisor.status_writer import StatusWriter
from market.time_units import MICROSECONDS
from session.backoff import backoff
from session.clock import SystemClock, steady_now, wall_now
from session.session import Session

PATIENT_SECONDS = 60.0
"""Who waits so long reads for what, and again after as long. Spark takes most of a minute on an idle machine."""
POLL_SECONDS = 0.1
CHECK_SECONDS = 2.0
STEADY_SECONDS = 30.0
"""A part that ran this long starts over with the shortest back-off."""
NOT_WANTED = "not wanted any more"

log = logging.getLogger("launch")


class Supervisor:
    """Runs the parts of one session. `say` gets a line for the user at each start and restart.

    With `session` it tells the store how they are, and stops and starts those of which a user wants it.
    """

    def __init__(
        self, home: Path, parts: Iterable[ProcessSpec], say: Callable[[str], None], session: Session | None = None
    ) -> None:
        self._home = home
        self._parts = tuple(parts)
        self._say = say
        self._clock = SystemClock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self.roll = ProcessStates(is_ordered=session is not None)
        self._teller = None if session is None else StatusWriter(session, self.roll)
        self._telling: asyncio.Task[None] | None = None
        self.restarts: dict[str, int] = {}

    async def start(self) -> None:
        kill_leftovers(self._home)
        parts, self._parts = self._parts, ()
        self.add(parts)
        if self._teller is not None:
            self._telling = asyncio.create_task(self._teller.run())

    def add(self, parts: Iterable[ProcessSpec]) -> None:
        """Start further parts beside those that run."""
        for part in parts:
            ready_file(self._home, part.name).unlink(missing_ok=True)
            self._parts = (*self._parts, part)
            self.roll.enter(part)
            self._keepers[part.name] = asyncio.create_task(self._keep(part))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self._parts)

    def group_of(self, name: str) -> int | None:
        """The process group of a part, which is its own process's id; None where it is down just now."""
        child = self._children.get(name)
        return None if child is None or child.poll() is not None else child.pid

    async def all_ready(
        self,
        idle_seconds: float = IDLE_SECONDS,
        patient_seconds: float = PATIENT_SECONDS,
        exchange_seconds: float | None = None,
    ) -> None:
        """Wait until every part that is to run has reported ready, and say now and then what is missing.

        With `exchange_seconds`, no longer than that for parts of single exchanges once all others are ready: these
        wait for theirs, which nobody here can hurry.

        Raises LaunchError, with what is known of why, only where a missing part is dead: it did nothing for
        `idle_seconds`, or ends again and again.
        """
        began, said_at = wall_now(), steady_now()
        checked_at = others_at = said_at
        of_exchanges = self._of_exchanges() if exchange_seconds is not None else frozenset()
        patience, logs = StartTimeouts(idle_seconds, self.restarts), self._home / "logs"
        while missing := self._missing():
            now = steady_now()
            others_at = others_at if of_exchanges.issuperset(missing) else now
            if exchange_seconds is not None and now - others_at > exchange_seconds * MICROSECONDS:
                self._say(begun_without(missing, last_words(logs, missing, began)))
                return
            if now - checked_at >= min(CHECK_SECONDS, idle_seconds) * MICROSECONDS:
                checked_at = now
                groups = {name: self.group_of(name) for name in self._startable(missing)}
                why = patience.check(groups, now, may_idle=of_exchanges)
                if why is not None:
                    raise LaunchError(f"{why}. {last_words(logs, missing, began)}. Logs: {logs}")
            if now - said_at >= patient_seconds * MICROSECONDS:
                said_at = now
                self._say(f"still waiting for {', '.join(missing)}: {last_words(logs, missing, began)}")
            await self._clock.sleep(POLL_SECONDS)

    def _of_exchanges(self) -> frozenset[str]:
        return frozenset(part.name for part in self._parts if part.exchange is not None)

    def _missing(self) -> list[str]:
        return [part.name for part in self._parts if not self._is_as_wanted(part.name)]

    def _startable(self, missing: list[str]) -> list[str]:
        """Without those that wait for others that are missing themselves."""
        waiting = {part.name for part in self._parts if any(not self._is_ready(name) for name in part.after)}
        return [name for name in missing if name not in waiting]

    async def stop(self) -> None:
        """End all parts, those that depend on others first."""
        for keeper in self._keepers.values():
            keeper.cancel()
        await asyncio.gather(*self._keepers.values(), return_exceptions=True)
        for part in self._parts:
            self.roll.note_stopping(part.name)
        depended_on = {name for part in self._parts for name in part.after}
        first = [part.name for part in self._parts if part.name not in depended_on]
        await asyncio.gather(*(self._end(name) for name in first))
        if self._telling is not None:
            # MongoDB goes with the second
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        await asyncio.gather(*(self._end(part.name) for part in self._parts if part.name in depended_on))
        (self._home / "processes.json").unlink(missing_ok=True)

    async def _keep(self, part: ProcessSpec) -> None:
        delays = backoff()
        while True:
            await self._due(part)
            started = steady_now()
            self.roll.note_start(part.name)
            why = await self._run_once(part)
            if why == NOT_WANTED:
                await self._stop_part(part)
                delays = backoff()
                continue
            if steady_now() - started > STEADY_SECONDS * MICROSECONDS:
                delays = backoff()
            delay = next(delays)
            self.restarts[part.name] = self.restarts.get(part.name, 0) + 1
            self.roll.note_end(part.name, why)
            self._say(f"{part.name} ended ({why}); starting it again in {delay:.1f} s")
            # never two writers on one checkpoint or data folder: the whole group goes before the next start
            await self._end(part.name)
            await self._pause(part.name, delay)

    async def _stop_part(self, part: ProcessSpec) -> None:
        """Since a user wants it; it gets the time that it needs."""
        order = self.roll.stop_order(part.name)
        why = NOT_WANTED if order is None else f"stopped by {order.by}"
        self._say(f"{part.name}: {why}")
        self.roll.note_stopping(part.name)
        await self._end(part.name, part.stop_seconds)
        self.roll.note_stopped(part.name, why)

    async def _due(self, part: ProcessSpec) -> None:
        """Wait until it is to run, and what it needs is ready."""
        is_said = False
        while not (self.roll.is_wanted(part.name) and all(self._is_ready(name) for name in part.after)):
            order = self.roll.stop_order(part.name)
            if order is not None:
                self.roll.note_idle(part.name)
                if not is_said:
                    # also one that was stopped before this session began
                    is_said = True
                    self._say(f"{part.name} stays stopped, as {order.by} wanted, until it is started on the dashboard")
            await self._clock.sleep(POLL_SECONDS)

    async def _pause(self, name: str, seconds: float) -> None:
        """Before the next start; no longer where it is not to run any more."""
        deadline = steady_now() + int(seconds * MICROSECONDS)
        while steady_now() < deadline and self.roll.is_wanted(name):
            await self._clock.sleep(min(POLL_SECONDS, seconds))

    async def _run_once(self, part: ProcessSpec) -> str:
        """Start a part and stay until it ends, its probe gives up or it is not wanted any more; why."""
        try:
            child = spawn(part, self._home / "logs" / f"{part.name}.log")
            self._children[part.name] = child
            self.roll.note_running(part.name, child.pid)
            self._note_children()
            return await self._until_exit(part, child)
        except OSError as error:
            return f"{error.strerror}: {error.filename or part.command[0]}"

    async def _until_exit(self, part: ProcessSpec, child: subprocess.Popen[bytes]) -> str:
        probe = asyncio.create_task(self._probe(part, child.pid))
        told, started = False, steady_now()
        try:
            while child.poll() is None:
                if probe.done() and (fault := probe.exception()) is not None:
                    return str(fault)
                if self.roll.stop_order(part.name) is not None:
                    return NOT_WANTED
                if not told and self._is_ready(part.name):
                    told = True
                    self.roll.note_ready(part.name)
                    self._say(f"{part.name} ready after {(steady_now() - started) / MICROSECONDS:.1f} s")
                await self._clock.sleep(POLL_SECONDS)
        finally:
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)
            ready_file(self._home, part.name).unlink(missing_ok=True)
        return f"exit code {child.returncode}"

    async def _probe(self, part: ProcessSpec, group: int) -> None:
        if part.probe is not None:
            await until_it_works(part.probe, part.name, group)
            write_atomically(ready_file(self._home, part.name), b"probed")

    async def ready_of(self, names: tuple[str, ...]) -> None:
        """Wait until these parts have reported ready."""
        while not all(self._is_ready(name) for name in names):
            await self._clock.sleep(POLL_SECONDS)

    def _is_ready(self, name: str) -> bool:
        return ready_file(self._home, name).exists()

    def _is_as_wanted(self, name: str) -> bool:
        return self._is_ready(name) or self.roll.stop_order(name) is not None

    async def _end(self, name: str, seconds: float | None = STOP_SECONDS) -> None:
        """Ask it to end, and kill what is left of its group after so many seconds, or once it has ended."""
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
        # known until its whole group is gone: a cancelled restart must leave it to `stop`
        self._children.pop(name, None)

    def _note_children(self) -> None:
        noted = {}
        for name, child in self._children.items():
            try:
                noted[name] = [child.pid, psutil.Process(child.pid).create_time()]
            except psutil.NoSuchProcess:
                continue
        write_atomically(self._home / "processes.json", json.dumps(noted).encode())


def begun_without(missing: Iterable[str], why: str) -> str:
    """What is said where a session begins though an exchange does not answer."""
    return f"beginning without {', '.join(missing)}, which wait for their exchange and join once it answers: {why}"


def kill_leftovers(home: Path) -> None:
    """End what a killed supervisor may have left running; the process ids are checked by their start time."""
    try:
        noted: dict[str, tuple[int, float]] = json.loads((home / "processes.json").read_text())
    except (FileNotFoundError, ValueError):
        return
    for name, (group, created) in noted.items():
        living = group_members(group)
        if any(process.create_time() >= created for process in living):
            log.warning("left over from a killed session", extra={"part": name, "group": group})
            signal_group(group, signal.SIGKILL)
            psutil.wait_procs(living, timeout=STOP_SECONDS)
