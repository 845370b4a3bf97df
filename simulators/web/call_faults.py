"""Injected faults of calls over an exchange's WebSocket API: those that requests have, by the same paths."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from runtime.clock import Clock
from simulators.faults.fault_kinds import ExchangeFaults
from simulators.faults.orders import ORDER_CALL, DisconnectedError, OrderCall
from simulators.web.http_faults import error_of, latency_seconds, lie_to, manner_of, repeat_newest, wanted
from simulators.web.subscribers import SubscriberConnection, Subscribers

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class CalledPath:
    """Where REST has the same call."""

    method: str
    path: str


@dataclass(slots=True)
class CallFaults:
    """`answer` of a call is its message, with REST's answer as `result`."""

    subscribers: Subscribers
    clock: Clock
    _late: set[asyncio.Task[None]] = field(default_factory=set)

    def check(self, called: CalledPath) -> None:
        """Raise RequestRejectedError in place of an answer."""
        faults = self.subscribers.faults
        active = None if faults is None or faults.is_quiet else wanted(faults, called.path)
        if active is not None:
            raise error_of(active, self.clock.now())

    def deliver(self, connection: SubscriberConnection, called: CalledPath | None, answer: Callable[[], Row]) -> None:
        """Answer a call, or do what a fault wants; `called` is None for what REST does not have."""
        faults = self.subscribers.faults
        if faults is None or faults.is_quiet or called is None:
            connection.send(answer())
            return
        half = latency_seconds(faults, called.path) / 2
        if half:
            self._run(self._deliver_late(connection, faults, called, answer, half))
            return
        message = self._answer(connection, faults, called, answer)
        if message is not None:
            connection.send(message)

    async def _deliver_late(
        self,
        connection: SubscriberConnection,
        faults: ExchangeFaults,
        called: CalledPath,
        answer: Callable[[], Row],
        half: float,
    ) -> None:
        """Wait as long before the call arrives as after it was answered."""
        await self.clock.sleep(half)
        message = self._answer(connection, faults, called, answer)
        await self.clock.sleep(half)
        if message is not None:
            connection.send(message)

    def _answer(
        self, connection: SubscriberConnection, faults: ExchangeFaults, called: CalledPath, answer: Callable[[], Row]
    ) -> Row | None:
        """Return the answer; None if it is lost."""
        call = OrderCall()
        token = ORDER_CALL.set(call)
        try:
            message = answer()
        except DisconnectedError:
            call.is_disconnected = True
            message = {}
        finally:
            ORDER_CALL.reset(token)
        if call.is_disconnected:
            self.subscribers.cut()
            return None
        if call.order is not None:
            lost = faults.inject("lost_acknowledgement", call.order.symbol)
            if lost is not None:
                if manner_of(faults, lost) == "dropped":
                    connection.cut()
                return None
        if "result" in message:
            repeat_newest(faults, called.path, message["result"])
            lie_to(faults, called.method, called.path, message["result"])
        return message

    def _run(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._late.add(task)
        task.add_done_callback(self._late.discard)
