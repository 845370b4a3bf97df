"""The WebSocket on which an account posts orders: connected and logged on before a call needs it.

A call never waits for a connection: without one it raises SocketClosedError, nothing was sent, and REST is there.
Once a message may have left, whatever happens is an unknown outcome: the socket says what it knows of no call twice.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextvars import Context
from itertools import count
from typing import Any

import aiohttp
import ccxt
import orjson

from exchanges.errors import AccountRejectedError, ExchangeUnavailableError, NotPostedError
from exchanges.ports.error_mapping import is_clock_fault
from exchanges.ports.order_calls import Ask, PrivateCall, SocketAnswer, SocketEnding, SocketWire
from exchanges.ports.orders import AnswerNotUnderstoodError
from exchanges.ports.permits import outgoing_order
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now

log = logging.getLogger(__name__)

_PING_SECONDS = 10.0
"""A line without a pong within half of that is dead: orders go by REST then, not into it."""
_LONGEST_WAIT = 30.0
"""The longest pause between two connections; Binance allows 300 in five minutes."""
_OPENING_SECONDS = 5.0
_LARGEST_MESSAGE = 1 << 22
_GOODBYE = aiohttp.ClientWSTimeout(ws_close=0.5)
_OK = 200

Delays = Callable[[], Iterator[float]]


class SocketClosedError(Exception):
    """There is no connection, so nothing was sent."""


def reconnecting() -> Iterator[float]:
    """Yield the pauses between attempts to connect."""
    return backoff(longest=_LONGEST_WAIT)


class OrderSocket:
    """One connection at a time, and the calls on it. `client`: of ccxt; it signs, and reads errors."""

    def __init__(self, client: Any, wire: SocketWire, delays: Delays = reconnecting) -> None:
        self._client = client
        self._wire = wire
        self._delays = delays
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        """Logged on, and not about to end."""
        self._waiting: dict[str, asyncio.Future[SocketAnswer]] = {}
        self._ids = map(str, count(1))
        """Of all connections: an answer that comes late is nobody's."""
        self._opened = asyncio.Event()
        """Logged on, or never to be."""
        self._is_refused = False
        self._task: asyncio.Task[None] | None = None
        self._goodbye: asyncio.Task[bool] | None = None

    @property
    def is_open(self) -> bool:
        return self._socket is not None and not self._socket.closed

    def keep_open(self) -> None:
        """Connect, and connect again whenever the connection ends, until `close` or until the exchange refuses the
        key."""
        if self._is_refused:
            return
        if self._task is None or self._task.done():
            # nothing of an order that is being posted now: its permit is not this connection's
            self._task = asyncio.create_task(self._connected_for_ever(), context=Context())

    async def wait_until_open(self) -> None:
        """Raise ExchangeUnavailableError after some seconds, AccountRejectedError if the exchange refused the key."""
        self.keep_open()
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                await self._opened.wait()
        except TimeoutError:
            raise ExchangeUnavailableError(f"{self._client.id}: no WebSocket for orders could be opened") from None
        if self._is_refused:
            raise AccountRejectedError(
                f"{self._client.id} refused the key for its WebSocket of orders: make one that it takes there, or set "
                'order_transport = "rest"'
            )

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        last = [task for task in (self._task, self._goodbye) if task is not None]
        await asyncio.gather(*last, return_exceptions=True)

    async def ask(self, call: PrivateCall) -> object:
        """Return what REST would answer. Raises SocketClosedError (nothing was sent), ccxt's errors as REST would, and
        NotPostedError for an order without a permit.

        An order's permit is checked last: aiohttp writes the message at once, without waiting for anything.
        """
        if not self.is_open:
            raise SocketClosedError
        order = outgoing_order()
        if call.is_order and order is None:
            raise NotPostedError("the order has no permit")
        await self._client.throttle(self._wire.weights(call))
        call_id = next(self._ids)
        message = self._wire.message(call_id, call)
        socket = self._socket
        # a read may have waited for its turn
        if socket is None or socket.closed:
            raise SocketClosedError
        if order is not None:
            order.check_request("POST", self._wire.url, message)
            order.check()
        return self._understood(call, await self._answer(socket, call_id, message))

    async def _answer(self, socket: aiohttp.ClientWebSocketResponse, call_id: str, message: str) -> SocketAnswer:
        """Send the message, and return the answer to it. Raises ccxt.RequestTimeout: it may have been executed."""
        answer: asyncio.Future[SocketAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = answer
        try:
            async with asyncio.timeout(self._client.timeout / 1_000):
                await socket.send_str(message)
                return await answer
        except TimeoutError:
            # whoever does not answer this does not answer the next one either
            self._leave(socket)
            self._goodbye = asyncio.create_task(socket.close(), context=Context())
            raise ccxt.RequestTimeout(f"{self._client.id}: no answer over the WebSocket") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            self._leave(socket)
            raise ccxt.RequestTimeout(f"{self._client.id}: the WebSocket broke ({type(error).__name__})") from None
        finally:
            self._waiting.pop(call_id, None)

    def _understood(self, call: PrivateCall, answer: SocketAnswer) -> object:
        """Return the answer's body, or raise what ccxt raises for the same status and body by REST."""
        client, url = self._client, self._wire.url
        if client.budget is not None:
            client.budget.learn(answer.left)
        headers = {} if answer.pause_seconds is None else {"Retry-After": str(answer.pause_seconds)}
        client.last_response_headers = headers
        text = orjson.dumps(answer.body).decode()
        client.handle_errors(answer.status, "", url, call.method, headers, text, answer.body, {}, "")
        client.handle_http_status_code(answer.status, "", url, call.method, text)
        if answer.status != _OK:
            raise ccxt.BadResponse(f"{client.id}: an answer of status {answer.status}")
        return answer.body

    def _leave(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Send nothing more on this connection."""
        if self._socket is socket:
            self._socket = None
            self._opened.clear()

    async def _connected_for_ever(self) -> None:
        delays = self._delays()
        while True:
            began = steady_now()
            try:
                await self._connected()
            except ccxt.AuthenticationError as error:
                if not is_clock_fault(error):
                    self._stay_closed(error)
                    return
                log.warning("no socket for orders: the clock is off", extra={"exchange": self._client.id})
            except (aiohttp.ClientError, ccxt.BaseError, AnswerNotUnderstoodError, OSError, TimeoutError) as error:
                log.warning("no socket for orders: %s", type(error).__name__, extra={"exchange": self._client.id})
            else:
                log.info("the socket for orders has ended", extra={"exchange": self._client.id})
            if steady_now() - began > _LONGEST_WAIT * MICROSECONDS:
                # one that ends as soon as it is open is asked for less and less often
                delays = self._delays()
            await SystemClock().sleep(next(delays))

    def _stay_closed(self, error: ccxt.AuthenticationError) -> None:
        log.error("the socket for orders is refused: %s", type(error).__name__, extra={"exchange": self._client.id})
        self._is_refused = True
        self._opened.set()

    async def _connected(self) -> None:
        """Connect, log on and read until the connection ends. Raises ccxt's errors for a log-on that was refused."""
        client = self._client
        await client.throttle(self._wire.opening_weights)
        client.open()
        async with client.session.ws_connect(
            self._wire.url, heartbeat=_PING_SECONDS, compress=0, max_msg_size=_LARGEST_MESSAGE, timeout=_GOODBYE
        ) as socket:
            try:
                await self._log_on(socket)
                self._socket = socket
                self._opened.set()
                await self._read_to_the_end(socket)
            finally:
                self._leave(socket)
                self._fail_waiting()

    async def _log_on(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        call_id = next(self._ids)
        await socket.send_str(self._wire.log_on(call_id))
        async with asyncio.timeout(_OPENING_SECONDS):
            async for message in socket:
                read = self._wire.read(message.data) if message.type is aiohttp.WSMsgType.TEXT else None
                if isinstance(read, SocketAnswer) and read.call_id == call_id:
                    self._understood(PrivateCall("GET", "", {}), read)
                    return
        raise ccxt.NetworkError(f"{self._client.id}: the connection ended before it was logged on")

    async def _read_to_the_end(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Read answers, until the connection ends or, once we have left it, nobody waits for one any more."""
        silent_seconds, ping = self._wire.ping or (None, "")
        while self._socket is socket or self._waiting:
            try:
                message = await socket.receive(timeout=silent_seconds)
            except TimeoutError:
                await socket.send_str(ping)
                continue
            if message.type is not aiohttp.WSMsgType.TEXT:
                return
            read = self._wire.read(message.data)
            if read is None:
                continue
            if isinstance(read, SocketEnding) or read.ends:
                self._leave(socket)
            if isinstance(read, SocketAnswer):
                self._take(read)

    def _take(self, answer: SocketAnswer) -> None:
        """Hand an answer to its call; a second one, or one that came too late, is nobody's."""
        waiting = self._waiting.pop(answer.call_id, None)
        if waiting is None:
            log.info("an answer that nobody waits for", extra={"exchange": self._client.id})
        elif not waiting.done():
            waiting.set_result(answer)

    def _fail_waiting(self) -> None:
        """Say to all who wait that their message may or may not have been executed."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the connection ended"))


def socket_or_rest(socket: OrderSocket, rest: Ask) -> Ask:
    """Return calls that go over the socket if it is open, and otherwise by REST."""

    async def ask(call: PrivateCall) -> object:
        try:
            return await socket.ask(call)
        except SocketClosedError:
            socket.keep_open()
        return await rest(call)

    return ask
