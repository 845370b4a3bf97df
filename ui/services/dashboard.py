"""The running dashboard: what REST, WebSocket and Streamlit scripts of this process share."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from session.session import Session
from store.queries.trade_reader import TradeReader
from ui.auth.access_service import Access
from ui.errors import UiError
from ui.live.live_snapshot import LiveSnapshot
from ui.services.health_service import HealthService
from ui.stream.live_hub import LiveHub

Answer = TypeVar("Answer")

ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Dashboard:
    """`loop` owns the hub and the store's client; nothing of them may be awaited elsewhere."""

    session: Session
    hub: LiveHub
    reader: TradeReader
    loop: asyncio.AbstractEventLoop
    following: "asyncio.Task[None]"
    """The hub at work; it ends by a fault alone, and without it nothing is true any more."""
    access: Access
    """Who may read and change."""
    health: HealthService
    """How all parts are."""

    def answer(self, work: Coroutine[Any, Any, Answer], seconds: float = ANSWER_SECONDS) -> Answer:
        """Run `work` on the loop from a script's thread and wait for it. Raises what it raises, TimeoutError.

        What did not end in time is cancelled: nothing may be switched long after its page gave up.
        """
        answering = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return answering.result(seconds)
        except TimeoutError:
            answering.cancel()
            raise

    def snapshot(self) -> LiveSnapshot:
        """What the hub knows now, for a script's thread. Raises TimeoutError."""
        return self.answer(self.hub.snapshot())


_running: list[Dashboard] = []
"""Streamlit runs its script as text, without arguments: this is the way from there to the process it runs in."""


def announce(dashboard: Dashboard) -> None:
    _running[:] = [dashboard]


def withdraw() -> None:
    _running.clear()


def running() -> Dashboard:
    """The dashboard of this process. Raises UiError where it is not running (any more)."""
    if not _running:
        raise UiError("The dashboard's server is not running.")
    return _running[0]
