"""Runs the published apps of a session: what is wanted of each is in the store, and what becomes of it too.

Each app has one task that does what is newest wanted of it, so that nothing is done twice at one time. Apps run in
groups of processes: quiet ones together, busy ones and those that catch up alone.
"""

import asyncio
import logging
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from cep.apps.errors import AppError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.kernel import PlacedApp
from launch.apps.http_listeners import HttpListeners
from launch.errors import CannotStartError
from launch.published.backlog import Backlogs
from launch.published.groups import WorkerGroups
from launch.published.hosted import CannotRunError, RunningApp, check_outside, published_source
from launch.published.kept_savepoints import saved_state
from launch.published.placing import LOOKS, belongs_elsewhere
from launch.published.rates import Look
from launch.published.rings import ring_of
from launch.published.run_notes import RunNote, forget_app, note_end, read_note, takes_over, write_note
from launch.published.takeover import FormerVersion, taken_over
from launch.published.waits import waiting_report
from launch.published.worker_group import WorkerGroup
from launch.sessions.app_input import FOLDER, LogBegins, apps_folder, live_input
from launch.sessions.detection_start import NotBegunError
from launch.setup.data_dir import process_lock
from runtime.app_door import AppDoorRefusedError, AppDoorSilentError
from runtime.backoff import backoff, retry_on
from runtime.clock import SystemClock, steady_now
from runtime.tasks import run_again, run_all
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.ports.apps import StoredApps
from store.records.apps import AppReport, AppState, StoredApp
from streams.errors import StreamError, StreamUnavailableError

LOOK_SECONDS = 1.0
PASSING = (StreamUnavailableError, StoreUnavailableError, NotBegunError)
REFUSALS = (CannotRunError, CannotStartError, AppError, StreamError, StoreError, OSError)

log = logging.getLogger("launch")


@dataclass(slots=True)
class _Wanted:
    """`app`: as the store has it; None once it was removed."""

    app: StoredApp | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    done: int = 0
    """The number of the order that was done last."""
    running: RunningApp | None = None
    coming: AppSource | None = None
    """What is being begun."""

    @property
    def source(self) -> AppSource | None:
        """What runs, or will in a moment."""
        return self.coming or (None if self.running is None else self.running.source)


class PublishedApps:
    """`terms`: what apps may use and take."""

    def __init__(self, session: Session, apps: StoredApps, terms: OperatorTerms, context: ForkServerContext) -> None:
        self.session, self._apps, self._terms = session, apps, terms
        self._folder = apps_folder(session)
        self._wanted: dict[str, _Wanted] = {}
        self._place, self._listeners = 0, HttpListeners()
        self._begins, self._backlogs = LogBegins(session), Backlogs(session)
        services = session.services
        self._groups = WorkerGroups(context, services.kafka, self._folder, range(services.partitions), self._on_end)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, ready: Callable[[], None]) -> None:
        """Do what is wanted until cancelled; the apps end with it, and go on where they were next time."""
        for folder in (self.session.home / FOLDER).glob("*"):
            if folder.name != self.session.session_id:
                shutil.rmtree(folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            await run_all(self._groups.run(), self._watch(ready), self._keep_looking())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for running in [one.running for one in self._wanted.values() if one.running is not None]:
                await running.end()
                await running.input.close()

    def running(self, name: str) -> RunningApp:
        """Raise AppDoorRefusedError if the app does not run, AppDoorSilentError if it does soon."""
        wanted = self._wanted.get(name)
        if wanted is None or wanted.app is None:
            raise AppDoorRefusedError(f"there is no app {name!r}.", "unknown")
        if wanted.running is None:
            state, reason = wanted.app.state_in(self.session.session_id)
            said = f" ({reason})" if reason else ""
            if state in ("starting", "running"):
                # it moves to another group, if it is said to run
                raise AppDoorSilentError(f"the app {name!r} is starting{said}; try again in a moment.")
            raise AppDoorRefusedError(f"the app {name!r} does not run: it is {state}{said}.", "not_running")
        return wanted.running

    async def begins(self, name: str) -> bool:
        """Return whether the app is about to run, by what the store has now. Raises StoreError."""
        app = await self._apps.app(name)
        return app is not None and app.state_in(self.session.session_id)[0] in ("starting", "running")

    def status(self, one: RunningApp) -> Mapping[str, Any]:
        return one.reported(is_alone=self._groups.is_alone(one.group))

    def all_status(self) -> Mapping[str, Any]:
        """Return the status of each app that runs, by name."""
        found = {name: one.running for name, one in sorted(self._wanted.items())}
        return {name: self.status(one) for name, one in found.items() if one is not None}

    async def former(self, name: str) -> AppSource:
        """Return the version that runs, or ran last in this session. Raises AppDoorRefusedError, StoreError."""
        with suppress(AppDoorRefusedError, AppDoorSilentError):
            return self.running(name).source
        note = read_note(self._folder, name)
        ended = None if note is None else await self._ended(name, note)
        if ended is None:
            raise AppDoorRefusedError(f"the app {name!r} has not run in this session.", "not_running")
        return ended.source

    async def follow(self, name: str, stream: str) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield rows as they come, also when the app moves or another version takes over. Raises AppDoorRefusedError
        once it does not run any more, AppDoorSilentError if its process ends."""
        while True:
            one = self.running(name)
            async with aclosing(one.group.follow(one.place, stream)) as rows:
                async for row in rows:
                    yield row
            await SystemClock().sleep(LOOK_SECONDS)

    async def _watch(self, ready: Callable[[], None]) -> None:
        async for apps in self._apps.watch():
            for app in apps:
                wanted = self._wanted.setdefault(app.name, _Wanted(None))
                if wanted.app is None:
                    self._begin_task(self._kept(app.name, wanted), app.name)
                wanted.app = app
                wanted.changed.set()
            names = {app.name for app in apps}
            for name, wanted in self._wanted.items():
                if name not in names and wanted.app is not None:
                    wanted.app = None
                    wanted.changed.set()
            ready()

    def _begin_task(self, work: Any, name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _kept(self, name: str, wanted: _Wanted) -> None:
        """Do what is wanted of one app; a mistake of ours in it ends no other one."""

        def on_failure(failure: BaseException) -> None:
            log.error("app cannot be run", exc_info=failure, extra={"app": name})
            self._begin_task(self._fail(wanted.app, wanted, f"it cannot be run: {failure!r}"), name)

        await run_again(lambda: self._keep(name, wanted), on_failure)

    async def _keep(self, name: str, wanted: _Wanted) -> None:
        """Do what is newest wanted of one app, until it is removed."""
        delays = backoff(first=0.2, longest=5.0)
        while True:
            await wanted.changed.wait()
            wanted.changed.clear()
            app = wanted.app
            try:
                async with wanted.lock:
                    if app is None:
                        await self._stop(wanted)
                        await asyncio.to_thread(forget_app, self._folder, name)
                        return
                    await self._follow_order(app, wanted)
                delays = backoff(first=0.2, longest=5.0)
            except PASSING as error:
                log.info("app waits", extra={"app": name, "reason": str(error)})
                await self._tell_wait(wanted, error)
                wanted.changed.set()
                await SystemClock().sleep(next(delays))
            except REFUSALS as error:
                await self._fail(app, wanted, str(error))

    async def _tell_wait(self, wanted: _Wanted, error: Exception) -> None:
        """Say what the app waits for, once for each reason."""
        app, running = wanted.app, wanted.running
        report = waiting_report(app, None if running is None else running.note.version, error)
        if app is not None and report is not None and app.state_in(self.session.session_id) != report[:2]:
            await self._report(app, *report)

    async def _fail(self, app: StoredApp | None, wanted: _Wanted, reason: str) -> None:
        if app is None:
            return
        wanted.done = app.order.number
        if wanted.running is None:
            await self._report(app, "failed", reason)
        else:
            going_on = wanted.running.note.version
            problem = f"version {app.order.version} cannot run, and version {going_on} goes on: {reason}"
            await self._report(app, "running", problem, going_on)

    async def _follow_order(self, app: StoredApp, wanted: _Wanted) -> None:
        order, is_new = app.order, app.order.number != wanted.done
        if not is_new or order.wanted == "draft":
            return
        if not app.runs_in(self.session.place.region):
            await self._resume(app, wanted)
            if wanted.running is not None:
                await self._report(app, "stopping")
                await self._stop(wanted)
            note_end(self._folder, app.name)
            await self._report(app, "stopped", app.absence(self.session.place.region))
        elif wanted.done == 0 and app.state_in(self.session.session_id)[0] == "failed":
            # this part was started again; whoever wants the app to be begun again says so
            log.info("app stays failed", extra={"app": app.name})
        else:
            await self._publish(app, wanted)
        wanted.done = order.number

    async def _publish(self, app: StoredApp, wanted: _Wanted) -> None:
        order, running = app.order, wanted.running
        is_as_ordered = order.keeps_state and not app.savepoint
        if running is not None and running.note.version == order.version and is_as_ordered:
            await self._report(app, "running")
            return
        await self._report(app, "starting", "compiles its text")
        version = await self._apps.version(app.name, order.version or app.version)
        if version is None:
            raise CannotRunError(f"there is no version {order.version} of the app")
        try:
            source = await asyncio.to_thread(published_source, self.session, version, self._terms)
            await self._report(app, "starting", "looks at the topics and addresses that it names")
            await check_outside(self.session, source)
            self._check_ring(app.name, source)
            if takes_over(read_note(self._folder, app.name), app.order, source.label):
                await self._resume(app, wanted)
            await self._report(app, "starting", "prepares its log" if running is None else "takes over")
            await self._stop(wanted)
            note, reason = await self._taken_over(app, source, version.version, self._folder / source.label)
            await self._begin(app, wanted, source, note)
        except (*PASSING, *REFUSALS):
            if wanted.running is None:
                await self._go_on(app, wanted)
            raise
        finally:
            wanted.coming = None
        await self._report(app, "running", reason)

    def _check_ring(self, name: str, source: AppSource) -> None:
        """Raise CannotRunError if rows of the app would come back to it by way of others."""
        self._wanted[name].coming = source
        known = {other: one.source for other, one in self._wanted.items() if other != name}
        ring = ring_of(name, source, {other: one for other, one in known.items() if one is not None})
        if ring:
            raise CannotRunError(f"its rows would come back to it by way of {', '.join(ring)}; write to another topic")

    async def _resume(self, app: StoredApp, wanted: _Wanted) -> None:
        """Begin again what ran until this part was killed: whoever takes over goes on behind all that it gave, which
        its last snapshot does not have. Raises PASSING."""
        if wanted.running is None:
            await self._go_on(app, wanted)

    async def _go_on(self, app: StoredApp, wanted: _Wanted) -> None:
        """Begin again what ran last, unless it had ended. Raises PASSING."""
        note = read_note(self._folder, app.name)
        before = None if note is None or note.has_ended else await self._ended(app.name, note)
        try:
            if before is not None:
                await self._begin(app, wanted, before.source, before.note)
        except PASSING:
            raise
        except REFUSALS as error:
            log.warning("version before cannot go on", extra={"app": app.name, "reason": str(error)})

    async def _begin(self, app: StoredApp, wanted: _Wanted, source: AppSource, note: RunNote) -> None:
        """Begin a version. What was noted of the one before counts as long as this may fail."""
        folder = self._folder / source.label
        with ExitStack() as held:
            held.enter_context(process_lock(self.session.home, f"app-{source.label}"))
            beside = await live_input(self.session, source, note.begin, app.created_at, self._listeners, self._begins)
            placed = PlacedApp(source, folder, beside.first, self.session.place.region)
            comes_alone = await self._backlogs.is_behind(placed, beside) and self._groups.has_place_alone
            before = read_note(self._folder, app.name)
            is_again = before is not None and before.label == note.label and not before.has_ended
            write_note(self._folder, app.name, note)
            self._place = place = self._place + 1
            group = self._groups.own(source.label) if comes_alone else self._shared_group()
            running = RunningApp(note, source, place, placed, group, beside, held.pop_all(), app.created_at)
        running.work = [asyncio.ensure_future(part) for part in beside.parts()]
        for one in running.work:
            one.add_done_callback(lambda done: self._on_end_beside(wanted, running, done))
        wanted.running = running
        await group.begin(running.place, placed, is_again=is_again)
        log.info("app runs", extra={"app": app.name, "version": note.version, "group": group.name})

    async def _taken_over(self, app: StoredApp, source: AppSource, version: int, folder: Path) -> tuple[RunNote, str]:
        """Return where the version begins, and what of the state before does not fit; a version that ran last goes on
        where it was."""
        order, before = app.order, read_note(self._folder, app.name)
        first = RunNote(version, source.label, order.number)
        if before is not None:
            is_same = (before.label, before.version) == (source.label, version) and not app.savepoint
            if before.order == order.number or (is_same and order.keeps_state):
                return replace(before, order=order.number, has_ended=False), ""
        ended = None if before is None else await self._ended(app.name, before)
        if ended is None and not app.savepoint:
            return first, ""
        saved = await asyncio.to_thread(saved_state, self.session, self._terms, app)
        ended = ended or FormerVersion(source, folder, first)
        over = await taken_over(self.session, ended, source, folder, keeps_state=order.keeps_state, saved=saved)
        empty = () if over.parts is None else over.parts.empty
        reason = f"begun empty: {', '.join(empty)}" if empty else ""
        return RunNote(version, source.label, order.number, over.begin), reason

    async def _ended(self, name: str, note: RunNote) -> FormerVersion | None:
        """Return what ran before; None if its text is gone, or can be run no more."""
        version = await self._apps.version(name, note.version)
        if version is None:
            return None
        try:
            source = await asyncio.to_thread(published_source, self.session, version, self._terms)
        except CannotRunError:
            return None
        return FormerVersion(source, self._folder / note.label, note) if source.label == note.label else None

    async def _stop(self, wanted: _Wanted) -> None:
        """End what runs. Raises StreamUnavailableError if it may have given more than its last snapshot has."""
        running, wanted.running = wanted.running, None
        if running is None:
            return
        try:
            await running.group.leave(running.place)
        finally:
            await running.end()
            try:
                await running.input.finish()
            except (StreamError, StoreError) as error:
                log.info("copies wait for the app's next run", extra={"app": running.source.name, "reason": str(error)})
            await self._groups.close(running.group)

    def _on_end(self, place: int, problem: str) -> None:
        """Take the end of an app by itself; the others go on."""
        for name, wanted in self._wanted.items():
            if wanted.running is not None and wanted.running.place == place:
                self._begin_task(self._end_failed(wanted, wanted.running, problem), f"end of {name}")

    def _on_end_beside(self, wanted: _Wanted, running: RunningApp, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and (fault := done.exception()) is not None:
            self._begin_task(self._end_failed(wanted, running, str(fault)), "end of an app")

    async def _end_failed(self, wanted: _Wanted, running: RunningApp, problem: str) -> None:
        async with wanted.lock:
            if wanted.running is running:
                with suppress(StreamUnavailableError):
                    await self._stop(wanted)
                note_end(self._folder, running.source.name)
                if wanted.app is not None:
                    await self._report(wanted.app, "failed", problem)

    async def _report(self, app: StoredApp, state: AppState, reason: str = "", version: int | None = None) -> None:
        """`version`: that runs, if it is another than is wanted."""
        order, note = app.order, read_note(self._folder, app.name)
        done = order.number if note is not None and note.order == order.number else app.done
        report = AppReport(state, order.number, reason, version or order.version, self.session.session_id, done=done)

        def tell(error: Exception) -> None:
            log.info("report waits", extra={"app": app.name, "reason": str(error)})

        known = self._wanted.get(app.name)
        if known is not None and known.app is not None and known.app.order.number == order.number:
            # the store tells of orders alone
            known.app = replace(known.app, report=report)
        if state in ("failed", "running"):
            log.info("app %s", state, extra={"app": app.name, "reason": reason})
        await retry_on(lambda: self._apps.report(app.name, report), (StoreUnavailableError,), tell, first=0.2)

    # groups

    def _shared_group(self) -> WorkerGroup:
        found = (one.running for one in self._wanted.values())
        return self._groups.shared(one.group for one in found if one is not None)

    async def _keep_looking(self) -> None:
        """Look at what the apps do, and move those that belong elsewhere."""
        while True:
            await SystemClock().sleep(LOOK_SECONDS)
            for group in self._groups.all:
                self._note(group, await group.status())
            for wanted in list(self._wanted.values()):
                await self._move(wanted)

    def _note(self, group: WorkerGroup, found: Mapping[int, Mapping[str, Any]]) -> None:
        now = steady_now()
        for wanted in self._wanted.values():
            one = wanted.running
            if one is not None and one.group is group:
                place = str(one.place)
                counts = {partition: counts[place] for partition, counts in found.items() if place in counts}
                if counts:
                    one.rates.add(Look(now, counts))

    async def _move(self, wanted: _Wanted) -> None:
        one = wanted.running
        if one is None or wanted.lock.locked():
            return
        is_alone = self._groups.is_alone(one.group)
        is_elsewhere = belongs_elsewhere(one.rates.busy, one.rates.lag_rows, is_alone=is_alone)
        may_leave = is_alone or (len(one.group.apps) > 1 and self._groups.has_place_alone)
        one.looks = one.looks + 1 if is_elsewhere and may_leave else 0
        if one.looks < LOOKS:
            return
        async with wanted.lock:
            one.looks, before = 0, one.group
            with suppress(StreamUnavailableError):
                # the same version goes on, and what it gives again has the same ids
                await before.leave(one.place)
            one.group = self._shared_group() if is_alone else self._groups.own(one.source.label)
            await one.group.begin(one.place, one.placed)
            await self._groups.close(before)
        log.info("app moved", extra={"app": one.source.name, "group": one.group.name})
