"""The settings of the store in memory, every version of them."""

from asyncio import Queue
from collections.abc import AsyncGenerator

from market.decide.settings import Settings
from store.errors import StoreError, VersionConflictError


class MemorySettings:
    """The part of the store's port that is about settings."""

    def __init__(self) -> None:
        self.settings_versions: list[tuple[Settings, str]] = []
        """Every version with who made it, oldest first."""
        self._watching_settings: set[Queue[Settings]] = set()

    async def settings(self) -> Settings | None:
        return self.settings_versions[-1][0] if self.settings_versions else None

    async def create_settings(self, settings: Settings) -> Settings:
        if not self.settings_versions:
            self._keep_settings(settings.model_copy(update={"version": 1}), "start")
        return self.settings_versions[-1][0]

    async def change_settings(self, changed: Settings, expected_version: int, who: str) -> Settings:
        current = await self.settings()
        version = 0 if current is None else current.version
        if version != expected_version or version == 0:
            raise VersionConflictError(version)
        following = changed.model_copy(update={"version": version + 1})
        self._keep_settings(following, who)
        return following

    async def watch_settings(self) -> AsyncGenerator[Settings]:
        queue: Queue[Settings] = Queue()
        self._watching_settings.add(queue)
        try:
            current = await self.settings()
            if current is not None:
                yield current
            while True:
                yield await queue.get()
        finally:
            self._watching_settings.discard(queue)

    def settings_in_force(self) -> Settings:
        """Raises StoreError where there are none yet."""
        if not self.settings_versions:
            raise StoreError("there are no settings yet")
        return self.settings_versions[-1][0]

    def _keep_settings(self, settings: Settings, who: str) -> None:
        self.settings_versions.append((settings, who))
        for queue in self._watching_settings:
            queue.put_nowait(settings)
