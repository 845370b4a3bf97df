"""REST calls that pages open with, and how long a running session takes to answer them."""

import asyncio
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from launch.setup.data_dir import read_session
from runtime.clock import steady_now
from ui.auth.api_keys import ensure_api_key

PAGE_CALLS = (
    "/arbitrages",
    "/trades",
    "/pnl",
    "/pnl?by=day",
    "/pnl/equity",
    "/pnl/moving-average",
    "/episodes",
    "/opportunities",
    "/opportunities/statistics",
    "/rejections",
    "/rejections/recent",
    "/risk",
    "/inventory",
    "/settings/versions",
    "/audit",
    "/bots",
    "/health/parts",
)
REPEATS = 10
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SessionCalls:
    """Calls with the owner's key."""

    client: httpx.Client

    async def answer(self, path: str) -> Any:
        """Return the answer. Raises httpx.HTTPError."""
        response = await asyncio.to_thread(self.client.get, f"/api{path}")
        return response.raise_for_status().json()

    async def milliseconds(self) -> dict[str, tuple[float, float]]:
        """Return call → milliseconds of the first one, and the median of the next ones."""
        return {path: await self._timed(path) for path in PAGE_CALLS}

    async def _timed(self, path: str) -> tuple[float, float]:
        took = []
        for _ in range(1 + REPEATS):
            began = steady_now()
            await self.answer(path)
            took.append((steady_now() - began) / 1_000)
        return took[0], statistics.median(took[1:])


@contextmanager
def session_calls(home: Path) -> Iterator[SessionCalls]:
    session = read_session(home)
    key = ensure_api_key(home).read_text().strip()
    address = f"http://{session.page.host}:{session.page.port}"
    with httpx.Client(base_url=address, headers={"X-API-Key": key}, timeout=ANSWER_SECONDS) as client:
        yield SessionCalls(client)
