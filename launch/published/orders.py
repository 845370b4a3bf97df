"""`arbitrage app publish`, `stop`, `start`, `list`, `versions`, `status`, for apps that the running session runs."""

import argparse
import asyncio
import getpass
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from cep.apps.functions.operator_terms import OperatorTerms
from launch.apps.acting import check_may_act
from launch.apps.files import app_text, published_in, right_text
from launch.apps.published_texts import texts_of
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from market.time_units import MICROSECONDS
from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from runtime.clock import SystemClock, steady_now
from session.session import Session
from store.errors import StoreError
from store.operations.apps import MongoApps
from store.operations.audit import MongoAudit
from store.ports.apps import StoredApps
from store.records.apps import MOST_NOTE_CHARACTERS, NAME_ADVICE, AppWanted, StoredApp, is_app_name
from store.records.audit_entry import AuditEntry
from store.server.client import REACH_MS, connect, database_of

Echo = Callable[[str], None]
ANSWER_SECONDS = 30.0
"""How long a command waits until the app runs, or does not."""
LOOK_SECONDS = 0.2
FIGURES = (
    "rows_in_per_second",
    "rows_per_second",
    "lag_ms",
    "state_bytes",
    "keys",
    "partial_matches",
    "repeats",
    "rejected_rows",
    "snapshot_age_ms",
    "cpu",
    "worker",
    "uptime_seconds",
)


def run_publishing(home: Path, arguments: argparse.Namespace, terms: OperatorTerms, echo: Echo) -> int:
    """Run the command; returns the exit code. Raises LaunchError in one sentence."""
    session = with_logins(read_session(home), SUPERVISOR)
    try:
        return asyncio.run(_Publishing(session, arguments, terms, echo).run())
    except (StoreError, AppDoorSilentError, AppDoorRefusedError) as error:
        raise LaunchError(f"{str(error).rstrip('.')}.") from error


def end_lines(status: Mapping[str, Any]) -> Iterator[str]:
    """Return a line for each sink and source at servers of others."""
    for sink in status.get("sinks", ()):
        figures = ", ".join(f"{name} {sink[name]:,}" for name in ("delivered", "waiting", "retries", "dead"))
        yield f"sink {sink['sink']}: {figures}, lag {sink['lag_ms']:,} ms"
        for one in sink["destinations"]:
            reason = f": {one['reason']}" if one["reason"] else ""
            yield f"  {one['destination']}: {one['waiting']:,} wait for {one['lag_ms']:,} ms{reason}"
    for source in status.get("sources", ()):
        reason = f": {source['reason']}" if source["reason"] else ""
        figures = ", ".join(f"{name} {source[name]:,}" for name in ("messages", "rows", "rejected"))
        yield f"source {source['source']}: {figures}{reason}"


class _Publishing:
    def __init__(self, session: Session, arguments: argparse.Namespace, terms: OperatorTerms, echo: Echo) -> None:
        self._session, self._arguments, self._terms, self._echo = session, arguments, terms, echo
        self._who = getpass.getuser()

    async def run(self) -> int:
        session = self._session
        client = connect(session.services.mongodb, REACH_MS)
        try:
            database = database_of(client, session.services.database)
            apps, audit = MongoApps(database, session.place.region), MongoAudit(database)
            match self._arguments.work:
                case "list":
                    return await self._list(await apps.apps())
                case "versions":
                    return await self._versions(apps)
                case "status":
                    return await self._status()
                case "publish":
                    return await self._publish(apps, audit)
                case "snapshot":
                    return await self._keep_savepoint(apps, audit)
                case work:
                    return await self._order(apps, audit, work)
        finally:
            client.close()

    async def _list(self, apps: list[StoredApp]) -> int:
        statuses: Mapping[str, Mapping[str, Any]] = {}
        with suppress(AppDoorSilentError, AppDoorRefusedError):
            statuses = await AppDoor(self._session.home).all_status()
        for app in apps:
            state, stored = app.state_in(self._session.session_id)
            reason = "; ".join(one for one in (stored, statuses.get(app.name, {}).get("reason")) if one)
            version = app.order.version or app.version
            newest = "" if version == app.version else f" (newest {app.version})"
            said = f": {reason}" if reason else ""
            self._echo(f"{app.name}  {state}  version {version}{newest}  by {app.author}{said}")
        if not apps:
            self._echo("no app is stored; publish one with: arbitrage app publish FILE")
        return 0

    async def _versions(self, apps: StoredApps) -> int:
        app = await self._known(apps, self._arguments.app)
        for one in await apps.versions(app.name, with_texts=False):
            at = datetime.fromtimestamp(one.at // MICROSECONDS, UTC).strftime("%Y-%m-%d %H:%M:%S")
            mark = "  published" if one.version == app.order.version else ""
            self._echo(f"{one.version}  {at}  {one.author}  {one.note}{mark}".rstrip())
        return 0

    async def _status(self) -> int:
        name, door = self._arguments.app, AppDoor(self._session.home)
        found = await door.all_status() if name is None else {name: await door.status(name)}
        for app, status in found.items():
            self._echo(f"{app}, version {status['version']}")
            if status["reason"]:
                self._echo(f"  {status['reason']}")
            for figure in FIGURES:
                self._echo(f"  {figure}: {status[figure]}")
            for stream, rows in status["streams"].items():
                self._echo(f"  {stream}: {rows:g} rows a second")
            for line in end_lines(status):
                self._echo(f"  {line}")
        if not found:
            self._echo("no app runs")
        return 0

    async def _publish(self, apps: MongoApps, audit: MongoAudit) -> int:
        arguments, text = self._arguments, None
        name, version = arguments.app, arguments.version
        if arguments.savepoint and arguments.empty:
            raise CannotStartError("--empty begins with nothing, so not --from a savepoint; drop one of them.")
        regions = None if arguments.regions is None else self._chosen(arguments.regions)
        is_stored = is_app_name(name) and not await asyncio.to_thread(Path(name).is_file)
        if len(arguments.note) > MOST_NOTE_CHARACTERS:
            raise CannotStartError(f"--note: at most {MOST_NOTE_CHARACTERS} characters.")
        if is_stored:
            known = await self._known(apps, name)
            await self._check_stored(apps, name, version or known.version)
        else:
            if version is not None:
                raise CannotStartError("--version is for a stored app; name it instead of a file.")
            name, text = self._of_file(Path(name))
        async with self._audited(audit, "app.publish", name) as after:
            if text is not None:
                version = await self._stored(apps, name, text, arguments.note)
            app = await apps.order(
                name,
                "published",
                self._who,
                version,
                keeps_state=not arguments.empty,
                savepoint=arguments.savepoint,
                regions=regions,
            )
            if app is None:
                raise CannotStartError(f"the app {name} has no version {version}.")
            after.update(_order_note(app))
        absence = app.absence(self._session.place.region)
        if absence:
            self._echo(f"{app.name}: version {app.order.version}, {absence}")
            return 0
        return await self._until_done(apps, app, "running")

    def _of_file(self, path: Path) -> tuple[str, str]:
        """Return the app's name and its text. Raises CannotStartError."""
        source = published_in(path, texts_of(self._session, self._terms))
        check_may_act(source, self._session.page.access.acting_apps)
        if not is_app_name(source.name):
            raise CannotStartError(f"{path}: {source.name!r} is no name for a published app: {NAME_ADVICE}.")
        return source.name, app_text(path)

    def _chosen(self, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return self._session.place.chosen(names)
        except ValueError as error:
            raise CannotStartError(f"--regions: {error}") from None

    async def _keep_savepoint(self, apps: MongoApps, audit: MongoAudit) -> int:
        name = self._arguments.app
        if not is_app_name(name):
            raise CannotStartError(f"{name}: name a file for the savepoint too, or the published app alone.")
        await self._known(apps, name)
        async with self._audited(audit, "app.savepoint", name) as after:
            kept = await AppDoor(self._session.home).savepoint(name)
            after.update(kept)
        self._echo(f"{name}: savepoint {kept['savepoint']}, {kept['bytes']:,} bytes")
        self._echo(f"go on from it with: arbitrage app publish {name} --from {kept['savepoint']}")
        return 0

    async def _check_stored(self, apps: StoredApps, name: str, version: int) -> None:
        """Raise CannotStartError with all that is wrong in the text of that version, or if it acts on the session and
        may not."""
        found = await apps.version(name, version)
        if found is None:
            return
        texts = texts_of(self._session, self._terms)
        source = right_text(f"{name}, version {version}", found.text, name, texts.terms, texts.source)
        check_may_act(source, self._session.page.access.acting_apps)

    async def _stored(self, apps: MongoApps, name: str, text: str, note: str) -> int:
        """Return the number of the version that has the text; the newest one, if it is the same."""
        known = await apps.app(name)
        if known is None:
            return (await apps.create(name, text, self._who, note)).version
        newest = await apps.version(name, known.version)
        if newest is not None and newest.text == text:
            return known.version
        changed = await apps.replace(name, text, known.version, self._who, note)
        if changed is None:
            raise CannotStartError(f"the app {name} has just been removed; publish it again.")
        return changed.version

    async def _order(self, apps: MongoApps, audit: MongoAudit, work: str) -> int:
        known = await self._known(apps, self._arguments.app)
        if known.order.wanted == "draft":
            raise CannotStartError(f"the app {known.name} was never published; use: arbitrage app publish {known.name}")
        if work == "start":
            await self._check_stored(apps, known.name, known.order.version or known.version)
        async with self._audited(audit, f"app.{work}", known.name):
            wanted: AppWanted = "stopped" if work == "stop" else "published"
            app = await apps.order(known.name, wanted, self._who, known.order.version)
        return 1 if app is None else await self._until_done(apps, app, "stopped" if work == "stop" else "running")

    async def _until_done(self, apps: StoredApps, app: StoredApp, state: str) -> int:
        """Wait for what the session makes of it; returns exit code 1 if it failed."""
        until, said = steady_now() + int(ANSWER_SECONDS * MICROSECONDS), ""
        while steady_now() < until:
            known = await apps.app(app.name)
            found, reason = ("stopped", "removed") if known is None else known.state_in(self._session.session_id)
            said = f" ({reason})" if reason else ""
            if found in (state, "failed", "stopped"):
                self._echo(f"{app.name}: {found}, version {app.order.version}{said}")
                return 0 if found == state else 1
            await SystemClock().sleep(LOOK_SECONDS)
        raise LaunchError(
            f"{app.name}: not {state} after {ANSWER_SECONDS:g} s{said}; `arbitrage app list` says when it is."
        )

    async def _known(self, apps: StoredApps, name: str) -> StoredApp:
        app = await apps.app(name)
        if app is None:
            raise CannotStartError(f"there is no stored app {name!r}; see: arbitrage app list")
        return app

    @asynccontextmanager
    async def _audited(self, audit: MongoAudit, action: str, name: str) -> AsyncIterator[dict[str, Any]]:
        """Keep in the audit log who did it; yields what it is afterwards, to be filled in."""
        entry = AuditEntry(uuid4().hex, self._who, "operator", "shell", socket.gethostname(), action, name)
        kept, before, after = await audit.begin(entry), dict[str, Any](), dict[str, Any]()
        try:
            yield after
        except (LaunchError, StoreError) as error:
            await audit.end(kept.entry_id, "rejected", before, after, str(error))
            raise
        await audit.end(kept.entry_id, "done", before, after)


def _order_note(app: StoredApp) -> dict[str, Any]:
    """Return what the audit log keeps of a publication."""
    kept = {"version": app.order.version or 0, "keeps_state": app.order.keeps_state}
    return kept | ({"regions": list(app.order.regions)} if app.order.regions else {})
