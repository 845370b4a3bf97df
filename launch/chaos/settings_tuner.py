"""Changes the settings of a running session as a user would, and by the store where nobody answers."""

from collections.abc import Iterable, Mapping

import aiohttp

from launch.sessions.shutdown import with_the_store_back
from market.decide.settings import Settings
from session.session import Session
from store.errors import VersionConflictError
from store.mongo.mongo_store import open_store
from ui.auth.api_keys import ensure_api_key

_REST_SECONDS = 2.0
_WHO = "chaos"


class SettingsTuner:
    """`base` is what the session starts with, and comes back to."""

    def __init__(self, session: Session, base: Settings) -> None:
        self._session = session
        self._base = base.model_dump(mode="json")
        self.by_rest = 0
        """How many changes went through REST; the web process is killed too."""

    async def restore(self, names: Iterable[str] | None = None) -> None:
        """The first values of those named, or of all. Raises LaunchError where MongoDB stays away."""
        every = [name for name in self._base if name != "version"]
        await self.change({name: self._base[name] for name in (every if names is None else names)})

    async def change(self, changes: Mapping[str, object]) -> None:
        """Returns once they are in force. Raises LaunchError where MongoDB stays away."""
        if await self._asked(changes):
            self.by_rest += 1
            return
        await with_the_store_back(lambda: self._written(changes))

    async def _asked(self, changes: Mapping[str, object]) -> bool:
        """Whether REST took them."""
        url = f"http://{self._session.web_host}:{self._session.web_port}/api/settings"
        headers = {"X-API-Key": ensure_api_key(self._session.home).read_text().strip(), "X-Changed-By": _WHO}
        limit = aiohttp.ClientTimeout(total=_REST_SECONDS)
        try:
            async with aiohttp.ClientSession(headers=headers, timeout=limit) as client:
                async with client.get(url) as answer:
                    version = answer.headers.get("ETag", "")
                async with client.patch(url, json=changes, headers={"If-Match": version}) as answer:
                    return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _written(self, changes: Mapping[str, object]) -> None:
        async with await open_store(self._session) as store:
            while (current := await store.settings()) is not None:
                following = Settings.model_validate(current.model_dump(mode="json") | dict(changes))
                if following == current:
                    return
                try:
                    await store.change_settings(following, current.version, _WHO)
                except VersionConflictError:
                    continue
                return
