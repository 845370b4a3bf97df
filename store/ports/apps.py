"""The port of stored stream apps."""

from collections.abc import AsyncGenerator
from typing import Protocol

from store.records.apps import AppReport, AppVersion, AppWanted, StoredApp


class StoredApps(Protocol):
    """Stream apps of all sessions by name, each with its versions and what is wanted of it."""

    async def apps(self) -> list[StoredApp]:
        """By name."""
        ...

    async def app(self, name: str) -> StoredApp | None: ...

    async def create(self, name: str, text: str, who: str, note: str = "") -> StoredApp:
        """Store the text as version 1 of a draft. Raises AppExistsError."""
        ...

    async def replace(self, name: str, text: str, expected_version: int, who: str, note: str = "") -> StoredApp | None:
        """Store the text as the version after `expected_version`; what is wanted of the app stays. None if there is no
        such app. Raises VersionConflictError if the newest version is another."""
        ...

    async def order(
        self,
        name: str,
        wanted: AppWanted,
        who: str,
        version: int | None = None,
        *,
        keeps_state: bool = True,
        savepoint: str = "",
        regions: tuple[str, ...] | None = None,
    ) -> StoredApp | None:
        """Want an app to run (`published`), in that version or in the newest, or not to run (`stopped`, in which its
        version stays). The same again is a new order, which starts an app that has failed. `savepoint`: the name of
        the one to begin with. `regions`: those to run in, all if empty; None: those of the order before. Returns None
        if there is no such app, or no such version."""
        ...

    async def remove(self, name: str) -> bool:
        """Remove it with its versions; False if there is none. Raises AppRunsError while it is wanted to run."""
        ...

    async def version(self, name: str, version: int) -> AppVersion | None: ...

    async def versions(self, name: str, *, with_texts: bool = True) -> list[AppVersion]:
        """Newest first; none if there is no such app. Without texts they are empty, and not read."""
        ...

    async def report(self, name: str, report: AppReport) -> None:
        """Note what a host says of an app; its time is the store's."""
        ...

    def watch(self) -> AsyncGenerator[list[StoredApp]]:
        """Yield all apps, by name, and again after each order; after one that was missed in an outage too."""
        ...
