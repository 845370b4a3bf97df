"""Stored stream apps in memory, under the contract of the MongoDB ones."""

from asyncio import Event
from collections.abc import AsyncGenerator
from dataclasses import replace

from runtime.clock import Clock
from store.errors import AppExistsError, AppRunsError, VersionConflictError
from store.records.apps import AppOrder, AppReport, AppVersion, AppWanted, StoredApp, description_of, ordered


class MemoryApps:
    """`store.ports.apps.StoredApps`; every method runs without waiting, so each is one step."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apps: dict[str, StoredApp] = {}
        self._versions: dict[tuple[str, int], AppVersion] = {}
        self._watching: set[Event] = set()

    async def apps(self) -> list[StoredApp]:
        return [self._apps[name] for name in sorted(self._apps)]

    async def app(self, name: str) -> StoredApp | None:
        return self._apps.get(name)

    async def create(self, name: str, text: str, who: str, note: str = "") -> StoredApp:
        if name in self._apps:
            raise AppExistsError(name)
        now = self._clock.now()
        return self._add(StoredApp(name, 1, who, now, now), text, note)

    async def replace(self, name: str, text: str, expected_version: int, who: str, note: str = "") -> StoredApp | None:
        known = self._apps.get(name)
        if known is None:
            return None
        if known.version != expected_version:
            raise VersionConflictError(known.version, f"the app {name}")
        changed = replace(known, version=expected_version + 1, author=who, updated_at=self._clock.now())
        return self._add(changed, text, note)

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
        known = self._apps.get(name)
        if known is None:
            return None
        number = known.order.version if wanted == "stopped" else version or known.version
        if number is not None and (name, number) not in self._versions:
            return None
        places = known.order.regions if regions is None else regions
        order = AppOrder(wanted, number, keeps_state, by=who, at=self._clock.now(), savepoint=savepoint, regions=places)
        self._apps[name] = ordered(known, order)
        self._tell()
        return self._apps[name]

    async def remove(self, name: str) -> bool:
        known = self._apps.get(name)
        if known is None:
            return False
        if known.order.wanted == "published":
            raise AppRunsError(name)
        del self._apps[name]
        self._versions = {key: one for key, one in self._versions.items() if key[0] != name}
        self._tell()
        return True

    async def version(self, name: str, version: int) -> AppVersion | None:
        return self._versions.get((name, version))

    async def versions(self, name: str, *, with_texts: bool = True) -> list[AppVersion]:
        found = [one if with_texts else replace(one, text="") for one in self._versions.values() if one.name == name]
        return sorted(found, key=lambda one: -one.version)

    async def report(self, name: str, report: AppReport) -> None:
        if name in self._apps:
            self._apps[name] = replace(self._apps[name], report=replace(report, at=self._clock.now()))

    async def watch(self) -> AsyncGenerator[list[StoredApp]]:
        changed = Event()
        self._watching.add(changed)
        try:
            while True:
                changed.clear()
                yield await self.apps()
                await changed.wait()
        finally:
            self._watching.discard(changed)

    def _add(self, app: StoredApp, text: str, note: str) -> StoredApp:
        version = AppVersion(app.name, app.version, text, app.author, app.updated_at, note)
        described = replace(app, description=description_of(text))
        self._apps[app.name], self._versions[app.name, app.version] = described, version
        return described

    def _tell(self) -> None:
        for changed in self._watching:
            changed.set()
