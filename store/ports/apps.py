"""The ports of stored stream apps, and of rows of theirs that failed."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from store.records.apps import AppReport, AppVersion, AppWanted, StoredApp
from store.records.failed_rows import FailedChoice, FailedRow


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


class FailedRows(Protocol):
    """The error store: rows of stream apps that failed, of all sessions, in the order in which they failed first. At
    most MOST_FAILED_ROWS of each app, for a week after they failed last. All may raise StoreError."""

    async def add(self, rows: Sequence[FailedRow]) -> int:
        """Store the rows; return how many older ones were dropped for them. One that is there and fails again has one
        attempt more and waits again; the same `occurrence` again changes nothing."""
        ...

    async def page(self, app: str, choice: FailedChoice, after: str = "", most: int = 100) -> list[FailedRow]:
        """Return at most so many of the chosen rows, from behind the place `after` on."""
        ...

    async def count(self, app: str, choice: FailedChoice) -> int: ...

    async def edit(self, key: str, values: Mapping[str, Any], who: str) -> FailedRow | None:
        """Set a row's values; None if there is no such row."""
        ...

    async def claim(self, row: FailedRow, who: str) -> FailedRow | None:
        """Note that the row is given again, before it is; return it as it is by now. None: leave it, since somebody
        else has claimed it, or it is gone or has failed again since it was read as `row`."""
        ...

    async def release(self, row: FailedRow, who: str) -> None:
        """Let a row that was claimed wait again, since it was not given; no effect if it has failed again meanwhile."""
        ...

    async def drop(self, keys: Sequence[str]) -> int:
        """Remove rows; return how many there were."""
        ...
