"""Changes of stored stream apps: one set of functions for all routes. Each leaves an entry in the audit log."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from market.decide.settings_entries import changed_entries
from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from session.app_actions import action_problem, names_actions
from store.app_actions import StandingEntry
from store.errors import AppExistsError, AppRunsError, VersionConflictError
from store.records.apps import (
    MOST_NOTE_CHARACTERS,
    MOST_TEXT_BYTES,
    MOST_VERSIONS,
    NAME_ADVICE,
    AppWanted,
    StoredApp,
    is_app_name,
)
from ui.apps.app_texts import AppMistakesError, AppTexts, TextsBusyError, TextTimeError
from ui.apps.left_out_actions import LeftOutActions
from ui.auth.callers import Caller, rate_name
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard

RESERVED = frozenset(("language", "check", "explain", "dry-run", "export", "import"))
"""Words that routes have in the place of a name."""
MOST_APPS = 500
AppWork = Literal["publish", "start", "rollback", "stop"]
"""What is ordered, as the audit log says it: `app.publish`, …"""
APP_NAME = re.compile(r"(@App:name\s*\(\s*)(['\"])[^'\"\n]*\2", re.IGNORECASE)


class AppAnswerError(Exception):
    """The change is not made; the sentence is the caller's answer, with its HTTP status."""

    def __init__(self, status: int, problem: str, current_version: int | None = None) -> None:
        super().__init__(problem)
        self.status, self.current_version = status, current_version


@dataclass(frozen=True, slots=True)
class NewText:
    """`is_draft`: it may have mistakes."""

    text: str
    note: str = ""
    is_draft: bool = False


@dataclass(frozen=True, slots=True)
class AppDesk:
    """What changes apps: the running dashboard, and what knows the language."""

    dashboard: Dashboard
    texts: AppTexts
    left_out: LeftOutActions = field(default_factory=LeftOutActions)
    """What rows of apps asked for in vain."""

    async def create(self, name: str, new: NewText, caller: Caller, action: str = "app.create") -> StoredApp:
        """Store a new app. Raises AppAnswerError, AppMistakesError, TextTimeError, TextsBusyError,
        StoreError."""
        async with auditing(self.dashboard, caller, action, name) as note:
            note.after = _noted(new)
            check_name(name)
            self.check_may_write(name, caller)
            await self._check(name, new, caller)
            apps = self.dashboard.reader.apps
            if len(await apps.apps()) >= MOST_APPS:
                raise AppAnswerError(409, f"There are {MOST_APPS} apps already; remove unused ones.")
            try:
                return await apps.create(name, new.text, caller.name, new.note[:MOST_NOTE_CHARACTERS])
            except AppExistsError:
                raise AppAnswerError(409, f"There is an app {name} already.") from None

    async def replace(self, name: str, new: NewText, expected: int, caller: Caller) -> StoredApp:
        """Store a text as the version after `expected`. Raises as `create`."""
        async with auditing(self.dashboard, caller, "app.replace", name) as note:
            note.after = _noted(new)
            note.before = {"version": expected}
            self.check_may_write(name, caller)
            if expected >= MOST_VERSIONS:
                problem = f"The app {name} may have {MOST_VERSIONS:,} versions; clone it, and go on with the copy."
                raise AppAnswerError(409, problem)
            await self._check(name, new, caller)
            try:
                kept = new.note[:MOST_NOTE_CHARACTERS]
                stored = await self.dashboard.reader.apps.replace(name, new.text, expected, caller.name, kept)
            except VersionConflictError as conflict:
                problem = f"The app {name} is at version {conflict.current} by now; read it again and change that."
                raise AppAnswerError(409, problem, conflict.current) from None
            return _there(stored, name)

    async def order(
        self,
        name: str,
        work: AppWork,
        caller: Caller,
        version: int | None = None,
        *,
        keeps_state: bool = True,
        savepoint: str = "",
        regions: Sequence[str] | None = None,
    ) -> StoredApp:
        """Let a version run, the newest if none is named, or stop the app. `regions`: where it runs from now on, all if
        empty; None: where it ran. Raises as `create`; a text with mistakes is not published."""
        wanted: AppWanted = "stopped" if work == "stop" else "published"
        async with auditing(self.dashboard, caller, f"app.{work}", name) as note:
            before = await self.app(name)
            note.before = {"wanted": before.order.wanted, "version": before.order.version}
            note.after = {"wanted": wanted, "version": version, "keeps_state": keeps_state}
            self.check_may_write(name, caller)
            if savepoint and not keeps_state:
                raise AppAnswerError(422, "An app that begins empty begins from no savepoint; leave one of them out.")
            places = None if regions is None else self._chosen(regions)
            if wanted == "published":
                # what is checked is what is ordered, whoever stores another version meanwhile
                version = version or before.version
                await self._check_published(name, version, caller, was_checked=version == before.order.version)
            ordered = await self.dashboard.reader.apps.order(
                name, wanted, caller.name, version, keeps_state=keeps_state, savepoint=savepoint, regions=places
            )
            ordered = _there(ordered, name)
            note.after = _ordered_note(ordered)
            return ordered

    async def keep_savepoint(self, name: str, caller: Caller) -> dict[str, Any]:
        """Keep what the running app has kept. Raises AppAnswerError 409 if it does not run, 503 if nobody answers."""
        async with auditing(self.dashboard, caller, "app.savepoint", name) as note:
            await self.app(name)
            try:
                kept = dict(await AppDoor(self.dashboard.session.home).savepoint(name))
            except AppDoorRefusedError as error:
                raise AppAnswerError(409, str(error)) from None
            except AppDoorSilentError as error:
                raise AppAnswerError(503, str(error)) from None
            note.after = kept
            return kept

    async def savepoints(self, name: str) -> list[str]:
        """Return the names of an app's savepoints, newest first. Raises AppAnswerError 404, 503."""
        await self.app(name)
        try:
            return await AppDoor(self.dashboard.session.home).savepoints(name)
        except (AppDoorSilentError, AppDoorRefusedError) as error:
            raise AppAnswerError(503, str(error)) from None

    async def remove(self, name: str, caller: Caller) -> None:
        """Remove an app that is not wanted to run, with its versions. Raises as `create`."""
        async with auditing(self.dashboard, caller, "app.remove", name) as note:
            note.before = {"version": (await self.app(name)).version}
            self.check_may_write(name, caller)
            try:
                is_gone = await self.dashboard.reader.apps.remove(name)
            except AppRunsError:
                raise AppAnswerError(409, f"The app {name} is published; stop it first.") from None
            if not is_gone:
                raise unknown(name)

    async def app(self, name: str) -> StoredApp:
        """Raise AppAnswerError 404 if there is none."""
        return _there(await self.dashboard.reader.apps.app(name), name)

    async def standing_entries(self) -> tuple[StandingEntry, ...]:
        """Return the entries of the settings in force that apps made, whether they run or not. Raises StoreError."""
        settings = self.dashboard.hub.settings
        if settings is None or not changed_entries(None, settings):
            return ()
        return await self.dashboard.reader.settings.entries_of_apps()

    async def text(self, name: str, version: int) -> str:
        """Raise AppAnswerError 404 if there is no such version."""
        found = await self.dashboard.reader.apps.version(name, version)
        if found is None:
            raise AppAnswerError(404, f"The app {name} has no version {version}.")
        return found.text

    async def renamed_text(self, name: str, other: str) -> str:
        """Return the app's newest text, whose `@App:name` says the other name."""
        check_name(other)
        text = await self.text(name, (await self.app(name)).version)
        return APP_NAME.sub(lambda found: f"{found[1]}{found[2]}{other}{found[2]}", text, count=1)

    async def difference(self, name: str, before: int, after: int, caller: Caller) -> str:
        """Return the unified diff of two versions, empty if they are equal. Raises TextTimeError, TextsBusyError."""
        first, second = await self.text(name, before), await self.text(name, after)
        return await self.texts.difference(first, second, (f"version {before}", f"version {after}"), rate_name(caller))

    async def _check_published(self, name: str, version: int, caller: Caller, *, was_checked: bool) -> None:
        """Raise as `_check`, and AppAnswerError 422 for an app that acts on the session and may not. `was_checked`: it
        was published before, so its text needs no other check; its host checks it again."""
        text = await self.text(name, version)
        if was_checked and not names_actions(text):
            return
        checked = await self._check(name, NewText(text), caller)
        problem = action_problem(name, checked.get("acts", {}), self.dashboard.session.page.access.acting_apps)
        if problem is not None:
            raise AppAnswerError(422, problem)

    async def _check(self, name: str, new: NewText, caller: Caller) -> dict[str, Any]:
        """Return the answer to the check. Raise AppMistakesError for a text with mistakes, unless it is a draft;
        AppAnswerError for one of another name, or that is too long even for a draft; TextTimeError, TextsBusyError if
        it could not be checked."""
        if len(new.text.encode(errors="replace")) > MOST_TEXT_BYTES:
            raise AppAnswerError(422, f"The text has more than {MOST_TEXT_BYTES:,} bytes; write a shorter one.")
        try:
            checked = await self.texts.check(new.text, name, who=rate_name(caller))
        except (TextTimeError, TextsBusyError):
            if new.is_draft:
                # it may have mistakes, and what somebody wrote is not lost because the machine is busy
                return {}
            raise
        if checked["mistakes"] and not new.is_draft:
            raise AppMistakesError(checked["mistakes"])
        named = checked.get("name", name)
        if named != name:
            problem = f"The text names itself {named!r} (@App:name), and the app is {name!r}; give both one name."
            raise AppAnswerError(422, problem)
        return checked

    def _chosen(self, regions: Sequence[str]) -> tuple[str, ...]:
        """Raise AppAnswerError 422 for a region that the session does not have."""
        try:
            return self.dashboard.session.place.chosen(regions)
        except ValueError as error:
            raise AppAnswerError(422, f"{str(error)[:1].upper()}{str(error)[1:]}") from None

    def check_may_write(self, name: str, caller: Caller) -> None:
        """Raise AppAnswerError 403 if the app may act on trading, and the caller may not."""
        if self.dashboard.session.page.access.acts_on_trading(name) and not caller.may_change:
            problem = f"The app {name} may act on the session ([apps] may_halt, actions), so only operators change it."
            raise AppAnswerError(403, problem)


def check_name(name: str) -> None:
    """Raise AppAnswerError 422 if no app may have the name."""
    if not is_app_name(name):
        raise AppAnswerError(422, f"{name[:80]!r} is no name of an app: {NAME_ADVICE}.")
    if name in RESERVED:
        raise AppAnswerError(422, f"{name!r} is a word of this service; choose another name.")


def unknown(name: str) -> AppAnswerError:
    return AppAnswerError(404, f"There is no app {name[:80]!r}; GET /api/apps lists them all.")


def _there(app: StoredApp | None, name: str) -> StoredApp:
    if app is None:
        raise unknown(name)
    return app


def _ordered_note(app: StoredApp) -> dict[str, Any]:
    """Return what the audit log keeps of an order."""
    order = app.order
    kept = {"wanted": order.wanted, "version": order.version, "keeps_state": order.keeps_state}
    return kept | ({"regions": list(order.regions)} if order.regions else {})


def _noted(new: NewText) -> dict[str, Any]:
    """Return what the audit log keeps; the text itself is kept with its version."""
    return {"characters": len(new.text), "note": new.note, "draft": new.is_draft}
