"""The running dashboard, shared by REST, WebSocket and Streamlit scripts of this process."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.applications import Starlette

from session.session import Session
from store.queries.trade_reader import TradeReader
from ui.auth.access_service import Access
from ui.errors import UiError
from ui.live.snapshot import LiveSnapshot
from ui.services.health import HealthService
from ui.stream.found_cycles import FoundCycles
from ui.stream.live_hub import LiveHub

Answer = TypeVar("Answer")

ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Dashboard:
    """`loop` owns the hub and the store's client; they may only be awaited there."""

    session: Session
    hub: LiveHub
    reader: TradeReader
    loop: asyncio.AbstractEventLoop
    following: "asyncio.Task[None]"
    """The running hub. It only ends with an error; without it everything shown is out of date."""
    access: Access
    """Keys, sign-ins and rates."""
    health: HealthService
    """The health report."""
    cycles: FoundCycles

    def answer(self, work: Coroutine[Any, Any, Answer], seconds: float = ANSWER_SECONDS) -> Answer:
        """Run `work` on the loop from a script's thread and wait for it. Raises TimeoutError, and what `work` raises.

        After `seconds` the work is cancelled, so that nothing changes after its page has given up.
        """
        answering = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return answering.result(seconds)
        except TimeoutError:
            answering.cancel()
            raise

    def snapshot(self) -> LiveSnapshot:
        """Return the hub's live snapshot, for a script's thread. Raises TimeoutError."""
        return self.answer(self.hub.snapshot())


def dashboard_of(app: Starlette) -> Dashboard:
    """Return the dashboard of a started application."""
    dashboard: Dashboard = app.state.dashboard
    return dashboard


_running: list[Dashboard] = []
"""Streamlit runs its script as text, without arguments; the script finds its process's dashboard here."""


def announce(dashboard: Dashboard) -> None:
    _running[:] = [dashboard]


def withdraw() -> None:
    _running.clear()


def running() -> Dashboard:
    """Return the dashboard of this process. Raises UiError if it is not running."""
    if not _running:
        raise UiError("The dashboard's server is not running.")
    return _running[0]
