"""Changes the settings of a running session by REST, or in the store if REST does not answer."""

from collections.abc import Iterable, Mapping

import aiohttp

from launch.chaos.rest_client import rest_client
from launch.sessions.shutdown import retry_while_down
from market.decide.settings import Settings
from session.session import Session
from store.errors import VersionConflictError
from store.mongo.store import open_store

_REST_SECONDS = 2.0
_CHANGED_BY = "chaos"


class SettingsTuner:
    """`base`: the settings that the session starts with and returns to."""

    def __init__(self, session: Session, base: Settings) -> None:
        self._session = session
        self._base = base.model_dump(mode="json")
        self.by_rest = 0
        """Number of changes made by REST; the web process is killed too."""

    async def restore(self, names: Iterable[str] | None = None) -> None:
        """Restore the base values of `names`, or of all. Raises LaunchError if MongoDB stays unavailable."""
        every = [name for name in self._base if name != "version"]
        await self.change({name: self._base[name] for name in (every if names is None else names)})

    async def change(self, changes: Mapping[str, object]) -> None:
        """Change the settings, and return once they are in force. Raises LaunchError if MongoDB stays unavailable."""
        if await self._changed_by_rest(changes):
            self.by_rest += 1
            return
        await retry_while_down(lambda: self._change_in_store(changes))

    async def _changed_by_rest(self, changes: Mapping[str, object]) -> bool:
        """Return whether REST accepted the changes."""
        try:
            async with rest_client(self._session, _REST_SECONDS, **{"X-Changed-By": _CHANGED_BY}) as client:
                async with client.get("/api/settings") as answer:
                    version = answer.headers.get("ETag", "")
                async with client.patch("/api/settings", json=changes, headers={"If-Match": version}) as answer:
                    return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _change_in_store(self, changes: Mapping[str, object]) -> None:
        async with await open_store(self._session) as store:
            while (current := await store.settings.current()) is not None:
                following = Settings.model_validate(current.model_dump(mode="json") | dict(changes))
                if following == current:
                    return
                try:
                    await store.settings.change(following, current.version, _CHANGED_BY)
                except VersionConflictError:
                    continue
                return
