"""Two exchanges, their bots' transfers and one store; any call of a bot may be its last, before or after it is done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from bots.transfers.transfer_maker import TransferMaker, TransferTask
from bots.transfers.transfer_watch import TransferWatch
from exchanges.errors import AccountRejectedError, NotPostedError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from exchanges.ports.withdrawals import WithdrawalAddress, WithdrawalOrder
from market.accounting.inventory import Values
from market.accounting.transfer_lifecycle import Deposit, MoneyTransfer, Withdrawal
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import SATOSHI, TransferTerms
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED, Actor
from store.memory.store import MemoryTradeStore
from store.ports.transfers import Transfers
from store.transfer_steps import NotProposed, Step

NAMES = ("kraken", "binance")
FEE, MINIMUM = Decimal("0.001"), Decimal("0.01")
TERMS = tuple(TransferTerms(name, "BTC", FEE, MINIMUM, SATOSHI, 600, "a test") for name in NAMES)
RULES = TransferRules(is_on=True, every_seconds=60)
SESSION = "session"
Result = TypeVar("Result")


class KilledError(BaseException):
    """The process ends here; no handler of its own sees it."""


class SteppedClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000 * MICROSECONDS

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * MICROSECONDS)


@dataclass
class PlainExchange:
    """One exchange's funding: exact, and as unkind as it is told to be."""

    name: str
    clock: SteppedClock
    shows_client_ids: bool
    balance: Decimal
    withdrawals: list[Withdrawal] = field(default_factory=list)
    deposits: list[Deposit] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    """Our ids of the withdrawals that it made, whatever it shows."""
    next_answer: str = "ok"
    """Or `rejected`; `account`: this key may not withdraw; `spent`: not sent, for the rate limit; `lost`: taken and not
    answered; `dropped`: neither."""
    lists_nothing: bool = False
    listed: int = 0
    """How often its withdrawals were asked for."""

    def take(self, order: WithdrawalOrder) -> str:
        answer, self.next_answer = self.next_answer, "ok"
        if answer == "rejected" or order.amount > self.balance:
            raise OrderRejectedError("no")
        if answer == "account":
            raise AccountRejectedError("no")
        if answer == "spent":
            raise NotPostedError("no room")
        if answer == "dropped":
            raise OutcomeUnknownError("nobody knows")
        self.balance -= order.amount
        name = f"{self.name}-{len(self.withdrawals)}"
        client_id = order.client_id if self.shows_client_ids else None
        self.withdrawals.append(Withdrawal(name, order.currency, order.amount, "pending", self.clock.now(), client_id))
        self.asked_for.append(order.client_id)
        if answer == "lost":
            raise OutcomeUnknownError("nobody knows")
        return name

    def handle(self, *, gives_back: bool) -> None:
        """Go on with whatever is pending."""
        for place, one in enumerate(self.withdrawals):
            if one.state == "pending" and gives_back:
                self.balance += one.left
                self.withdrawals[place] = replace(one, state="failed")
            elif one.state == "pending":
                self.withdrawals[place] = replace(one, state="done", network_id=f"tx-{one.withdrawal_id}")

    def receive(self, other: "PlainExchange") -> None:
        known = {one.network_id for one in self.deposits}
        for one in other.withdrawals:
            if one.network_id is not None and one.network_id not in known:
                amount = one.left - FEE
                self.deposits.append(Deposit(f"d-{one.network_id}", one.currency, amount, "credited", one.network_id))
                self.balance += amount


@dataclass
class Fuse:
    """Kills at the call after `calls` more, before it is done or after."""

    calls: int | None = None
    is_after: bool = False

    async def run(self, call: Callable[[], Awaitable[Result]]) -> Result:
        if self.calls is None:
            return await call()
        self.calls -= 1
        if self.calls < 0 and not self.is_after:
            raise KilledError
        result = await call()
        if self.calls < 0:
            raise KilledError
        return result


@dataclass
class FragileAccount:
    there: PlainExchange
    fuse: Fuse

    @property
    def exchange(self) -> str:
        return self.there.name

    async def withdraw(self, order: WithdrawalOrder, permit: Permit = ALWAYS_PERMITTED) -> str:
        async def post() -> str:
            permit.check()
            return self.there.take(order)

        return await self.fuse.run(post)

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]:
        async def read() -> list[Withdrawal]:
            self.there.listed += 1
            return [] if self.there.lists_nothing else list(self.there.withdrawals)

        return await self.fuse.run(read)

    async def deposits(self, currency: str, since: int) -> list[Deposit]:
        async def read() -> list[Deposit]:
            return list(self.there.deposits)

        return await self.fuse.run(read)


@dataclass
class FragileTransfers:
    kept: Transfers
    fuse: Fuse

    async def propose(self, transfer: MoneyTransfer, net: Decimal, by: Actor) -> NotProposed | None:
        return await self.fuse.run(lambda: self.kept.propose(transfer, net, by))

    async def confirm(self, transfer_id: str, who: str) -> MoneyTransfer | None:
        return await self.kept.confirm(transfer_id, who)

    async def ask(self, transfer_id: str, by: Actor) -> MoneyTransfer | None:
        return await self.fuse.run(lambda: self.kept.ask(transfer_id, by))

    async def step(self, transfer_id: str, step: Step, by: Actor) -> MoneyTransfer | None:
        return await self.fuse.run(lambda: self.kept.step(transfer_id, step, by))

    async def known(self, since: int) -> list[MoneyTransfer]:
        return await self.fuse.run(lambda: self.kept.known(since))

    async def net(self, currency: str) -> Decimal:
        return Decimal(1_000)


@dataclass
class FragileStore:
    whole: MemoryTradeStore
    transfers: FragileTransfers

    async def server_now(self) -> int:
        return await self.whole.server_now()


@dataclass
class TransferWorld:
    """`confirmed_by`: as on paper; empty: an operator does."""

    clock: SteppedClock = field(default_factory=SteppedClock)
    confirmed_by: str = "paper"
    rules: TransferRules = RULES
    make: type[TransferMaker] = TransferMaker

    def __post_init__(self) -> None:
        self.store = MemoryTradeStore(self.clock)
        self.exchanges = {
            name: PlainExchange(name, self.clock, name == "binance", Decimal(amount))
            for name, amount in zip(NAMES, ("4", "2"), strict=True)
        }
        self.bots: dict[str, TransferMaker] = {}
        self.fuses: dict[str, Fuse] = {}

    async def open(self) -> None:
        for name, there in self.exchanges.items():
            # they began with as much each, and one has traded a third away
            await self.store.balances.replace(name, {"BTC": Decimal(3)}, "before", UNFENCED)
            await self.store.balances.replace(name, {"BTC": there.balance}, "now", UNFENCED)
            await self.start(name)

    async def start(self, name: str) -> None:
        """Start a process for the exchange, as after the end of the last one, whose lease has expired."""
        await self.clock.sleep(5)
        lease = await self.store.leases.acquire(name, f"{name}-{self.clock.now()}")
        assert lease is not None
        fuse = self.fuses[name] = Fuse()
        store = FragileStore(self.store, FragileTransfers(self.store.transfers, fuse))
        watch = TransferWatch(store, FragileAccount(self.exchanges[name], fuse), lease.actor, SESSION)
        task = TransferTask(self.rules, TERMS, NAMES, "USD", _address, self.confirmed_by)
        self.bots[name] = self.make(
            watch, task, self.store.balances, _values, lambda: True, self._wanted, self.clock.now
        )

    def _wanted(self) -> list[MoneyTransfer]:
        return [one for one in self.transfers if one.is_wanted]

    async def round(self, name: str, *, dies_after: int | None = None, is_after: bool = False) -> None:
        """Run one round of an exchange's bot, and another process if this one died in it."""
        fuse = self.fuses[name]
        fuse.calls, fuse.is_after = dies_after, is_after
        try:
            await self.bots[name].round()
        except KilledError:
            await self.start(name)
        else:
            fuse.calls = None

    async def network(self, *, gives_back: bool = False) -> None:
        for there in self.exchanges.values():
            there.handle(gives_back=gives_back)
        for name, other in (NAMES, NAMES[::-1]):
            self.exchanges[name].receive(self.exchanges[other])

    @property
    def transfers(self) -> list[MoneyTransfer]:
        return list(self.store.transfers.kept.values())

    @property
    def state(self) -> str:
        """Return the state of the first."""
        return self.transfers[0].state

    def made(self) -> dict[str, int]:
        """Return how many withdrawals were made for each decision."""
        ids = [one for there in self.exchanges.values() for one in there.asked_for]
        return {name: ids.count(name) for name in ids}

    async def booked(self, name: str) -> tuple[Decimal, Decimal]:
        """Return (free, held) by our books."""
        [row] = [row for row in await self.store.balances.rows() if row.exchange == name]
        return row.free, row.held


def _address(exchange: str, _currency: str) -> WithdrawalAddress:
    return WithdrawalAddress(f"to {exchange}")


async def _values() -> Values:
    return {"BTC": Decimal(60_000), "USD": Decimal(1)}
