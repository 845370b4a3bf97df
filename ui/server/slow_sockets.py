"""Cuts off a WebSocket whose client stopped reading: with a code if the client reads again in time, else by force."""

import asyncio
import logging

from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

ANSWER_TIMEOUT_SECONDS = 5.0
TRY_AGAIN_LATER = 1013
"""The code of RFC 6455's registry that tells a program to come back."""

log = logging.getLogger("ui")


class SlowClientCutoff(WebSocketsSansIOProtocol):
    """uvicorn's own WebSocket, which by itself would wait for ever for a client whose buffers are full.

    The server buffers `SEND_BUFFER_BYTES` of TCP, and 64 KiB and one message, for a client. When that is full, nothing
    more is written; after `patience` seconds the client gets a close code, and after the same time again the connection
    is aborted.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        patience: float = ANSWER_TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._patience = patience
        self._cutting: asyncio.TimerHandle | None = None
        self._is_cut_off = False

    async def send(self, message: ASGISendEvent) -> None:
        await self.writable.wait()
        if self._is_cut_off:
            raise ClientDisconnected
        await super().send(message)

    def pause_writing(self) -> None:
        super().pause_writing()
        if not self.close_sent:
            self._cutting = self.loop.call_later(self._patience, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_cut_off:
            self.transport.close()
        elif not self.close_sent:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def keepalive_timeout(self) -> None:
        """Break off: a client that has not answered a ping no longer reads, and would never take the rest."""
        super().keepalive_timeout()
        self._break_off("it does not answer")

    def _cut_off(self) -> None:
        if self.handshake_complete and not self.close_sent:
            self.conn.send_close(TRY_AGAIN_LATER, "The client reads too slowly.")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self._is_cut_off = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": TRY_AGAIN_LATER})
        self._break_off("it does not read")

    def _break_off(self, why: str) -> None:
        """Abort after `patience` seconds, in which the client may still read what is buffered."""
        log.warning("client cut off", extra={"client": self.client, "path": self.scope["path"], "why": why})
        self._forget()
        self._cutting = self.loop.call_later(self._patience, self.transport.abort)

    def _forget(self) -> None:
        if self._cutting is not None:
            self._cutting.cancel()
            self._cutting = None
