"""The process: one uvicorn server on loopback, from the bound port to a clean end."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn

from session.session import Session
from ui.errors import PortTakenError, UiError
from ui.server.application import build_app, is_from_operator
from ui.server.connection_limits import BoundedHttp, RawHeaders, SilentConnections, nobody
from ui.server.slow_sockets import SlowClientCutoff
from ui.services.dashboard import dashboard_of

CLOSING_SECONDS = 1
SEND_BUFFER_BYTES = 262_144
"""Per connection; the system's own limit is megabytes, which would fill first for a client that does not read."""
SILENT_MILLISECONDS = 30_000
"""Linux closes a connection whose peer has taken nothing for this long."""

log = logging.getLogger("ui")


async def run_ui(session: Session, ready: Callable[[], None], config: Path | None = None) -> None:
    """Serve until cancelled; `ready` is called once pages are served and both sources are followed. `config`: the
    session's file, for the processes that check apps.

    Raises PortTakenError, UiError if the server could not start.
    """
    with bound_socket(session.page.host, session.page.port) as listener:
        app = build_app(session, config)
        server = WebServer(uvicorn_config(app, partial(is_from_operator, app)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.wait_started(serving)
            dashboard = dashboard_of(app)
            live = asyncio.create_task(dashboard.hub.wait_until_live())
            ending = (serving, dashboard.following)
            await asyncio.wait((live, *ending), return_when=asyncio.FIRST_COMPLETED)
            if live.done():
                log.info("dashboard started", extra={"port": listener.getsockname()[1]})
                ready()
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            live.cancel()
        finally:
            server.should_exit = True
            await asyncio.wait([serving], timeout=CLOSING_SECONDS + 0.5)
        raise UiError(f"The dashboard stopped unexpectedly: {_reason(dashboard.following)}.")


def _reason(following: "asyncio.Task[None]") -> str:
    """Return the hub's error; if it has none, the web server stopped."""
    fault = following.exception() if following.done() and not following.cancelled() else None
    return repr(fault) if fault else "the web server stopped"


class WebServer(uvicorn.Server):
    """uvicorn without signal handlers: the process's runner cancels us instead."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            raise UiError("The web server could not start; see its log.") from None
        self._listening.set()

    async def wait_started(self, serving: "asyncio.Task[None]") -> None:
        """Wait until requests are answered. Raises UiError if the server could not start."""
        listening = asyncio.create_task(self._listening.wait())
        await asyncio.wait([listening, serving], return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if serving.done():
            await serving


def uvicorn_config(app: object, is_from_operator: Callable[[RawHeaders], bool] = nobody) -> uvicorn.Config:
    """Return a quiet configuration: no access log (a request's line would say nothing that a trader needs), our own log
    format."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # any ASGI application
        lifespan="on",
        log_config=None,
        # debug lines hold whole headers: keys, cookies, tickets
        log_level="info",
        access_log=False,
        # otherwise any program of this machine could forge its address in a header
        proxy_headers=False,
        server_header=False,
        http=partial(BoundedHttp, waiting=SilentConnections(), is_from_operator=is_from_operator),  # type: ignore[arg-type]  # called as a class
        ws=SlowClientCutoff,
        ws_ping_interval=20.0,
        # each message would be compressed once per client, which costs more CPU than sending it
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )


@contextmanager
def bound_socket(host: str, port: int, silent_milliseconds: int = SILENT_MILLISECONDS) -> Iterator[socket.socket]:
    """Yield a listening socket; port 0 is any free one. Raises PortTakenError with one sentence for the user."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is named; otherwise each answer's body waits 40 ms for a delayed ACK
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            raise PortTakenError(f"Cannot serve on {host}:{port}: {error.strerror or error}.") from None
        _limit_each_client(listener, silent_milliseconds)
        yield listener
    finally:
        listener.close()


def _limit_each_client(listener: socket.socket, silent_milliseconds: int) -> None:
    """Set the options on the listener; accepted connections inherit them."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, silent_milliseconds)
