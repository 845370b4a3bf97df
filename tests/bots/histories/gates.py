"""Where a process meets the outside world: each call waits there, before it has its effect and again before its answer
comes, until the test lets it go on, fails it, or lets the process die."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeVar, cast

from exchanges.errors import ExchangeUnavailableError, OutcomeUnknownError
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.trade.leases import UNFENCED, Actor
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from store.ports.trading import TradeStore
from tests.bots.histories.exchange_model import ExchangeModel

Fate = Literal["through", "held", "failed"]
"""`through`: effect and answer at once; `held`: the effect, its answer waits; `failed`: no effect (or, of a waiting
answer: the answer is lost)."""
Answer = TypeVar("Answer")


@dataclass(eq=False)
class Step:
    """One call that waits at the gate."""

    what: str
    is_answer: bool
    """Its effect has happened; the process does not know yet."""
    passed: asyncio.Future[Fate]

    @property
    def is_over(self) -> bool:
        """It was passed, or nobody waits for it any more."""
        return self.passed.done()


@dataclass
class Gate:
    """All calls of one process."""

    is_dead: bool = False
    steps: list[Step] = field(default_factory=list)
    """Waiting, oldest first."""
    passed: int = 0
    """How many waits there were."""

    async def call(
        self, what: str, effect: Callable[[], Awaitable[Answer]], failure: Callable[[], Exception]
    ) -> Answer:
        fate = await self._wait(what, is_answer=False)
        if fate == "failed":
            raise failure()
        outcome: Answer | None = None
        raised: Exception | None = None
        try:
            outcome = await effect()
        except Exception as error:
            raised = error
        if fate == "held" and await self._wait(what, is_answer=True) == "failed":
            raise failure()
        if raised is not None:
            raise raised
        return cast(Answer, outcome)

    async def _wait(self, what: str, is_answer: bool) -> Fate:
        if self.is_dead:
            raise asyncio.CancelledError
        step = Step(what, is_answer, asyncio.get_running_loop().create_future())
        self.steps.append(step)
        self.passed += 1
        try:
            return await step.passed
        finally:
            self.steps.remove(step)


class _AtTheGate:
    """Every method of the store and of its parts, whichever there are, through the gate."""

    def __init__(self, part: object, gate: Gate, place: str) -> None:
        self._part = part
        self._gate = gate
        self._place = place

    def __getattr__(self, name: str) -> object:
        known = self._made(name, getattr(self._part, name))
        # so that it is made once
        setattr(self, name, known)
        return known

    def _made(self, name: str, method: object) -> object:
        if not callable(method):
            return _AtTheGate(method, self._gate, f"{self._place}.{name}")
        if inspect.isasyncgenfunction(method):
            return lambda *args, **kwargs: self._watched(name, method(*args, **kwargs))
        if not inspect.iscoroutinefunction(method):
            # what a process knows without asking
            return method

        async def called(*args: object, **kwargs: object) -> object:
            return await self._gate.call(f"{self._place}.{name}", lambda: method(*args, **kwargs), _store_away)

        return called

    async def _watched(self, name: str, changes: AsyncIterator[object]) -> AsyncIterator[object]:
        async for change in changes:
            if await self._gate._wait(f"{self._place}.{name}", is_answer=True) == "failed":
                raise _store_away()
            yield change


def store_at(gate: Gate, store: MemoryTradeStore) -> TradeStore:
    """Return what one process sees of `store`."""
    # it has exactly the methods of `store`, which is one
    return cast(TradeStore, _AtTheGate(store, gate, "store"))


@dataclass
class AccountAtTheGate:
    """What one process sees of an exchange."""

    model: ExchangeModel
    gate: Gate
    by: Actor = UNFENCED
    """The process, once it has its lease."""

    @property
    def exchange(self) -> str:
        return self.model.name

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        async def posted() -> OrderReport:
            permit.check()
            return self.model.post(order, self.by)

        return await self.gate.call("account.place", posted, lambda: OutcomeUnknownError("timed out"))

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        async def looked_up() -> OrderReport | None:
            return self.model.look_up(order, others)

        return await self.gate.call("account.look_up", looked_up, _exchange_away)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        async def asked() -> None:
            """Do nothing: an order of the model ends by itself."""

        await self.gate.call("account.cancel", asked, _exchange_away)

    async def open_orders(self) -> list[OpenOrder]:
        async def listed() -> list[OpenOrder]:
            return self.model.open_orders()

        return await self.gate.call("account.open_orders", listed, _exchange_away)

    async def fills_since(self, since: int) -> list[AccountFill]:
        async def listed() -> list[AccountFill]:
            return self.model.fills_since(since)

        return await self.gate.call("account.fills_since", listed, _exchange_away)

    async def balances(self) -> dict[str, Decimal]:
        async def read() -> dict[str, Decimal]:
            return dict(self.model.balances)

        return await self.gate.call("account.balances", read, _exchange_away)

    async def close(self) -> None:
        """Nothing is held open."""


def _store_away() -> Exception:
    return StoreUnavailableError("no answer")


def _exchange_away() -> Exception:
    return ExchangeUnavailableError("no answer")
