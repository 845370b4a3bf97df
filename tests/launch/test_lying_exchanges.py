"""An exchange that lies about orders, on real wire protocols: nothing false is booked, no second order is sent in place
of one, and once it says the truth again everything is booked; builds without a check are caught."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

import pytest

from bots.decide.order_decision import Rejected, decide
from bots.execute.leg_executor import LegExecutor
from bots.reconcile.reconciler import Reconciliation
from bots.server_clock import ServerClock
from exchanges.errors import ExchangeUnavailableError
from market.decide.decision_context import DecisionContext
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leases import UNFENCED
from market.trade.report_checks import CHECKS, IMPLAUSIBLE, Check, ReportRules, Subject
from market.trade.unwinding import advancing, markets_by_symbol
from runtime.clock import steady_now, wall_now
from simulators.faults.fault_kinds import Fault
from simulators.faults.lies import LIES, lies_of
from tests.bots.served_opportunity import MARKETS, TRADED, served_opportunity
from tests.launch.test_audit_catches import ANYTHING, Stage, stage
from tests.launch.test_audit_clocks import Floor
from tests.store.booking import book_reported

__all__ = ["stage"]

OTHERS = {
    "coinbaseexchange": "bitstamp",
    "bitstamp": "coinbaseexchange",
    "kraken": "bitstamp",
    "bitflyer": "kraken",
}
"""With whom each trades; that one says the truth."""
SETTINGS = ANYTHING.model_copy(update={"cool_down_ms": 0})
TOLD = 6
"""Number of false answers: the reads of an order, twice or three times."""
MOST_ROUNDS = 6


def share_of(exchange: str) -> list[str]:
    """Return each lie at one of the exchanges that can make it."""
    shared: dict[str, list[str]] = {name: [] for name in OTHERS}
    for lie in LIES:
        tellers = [name for name in OTHERS if lie in lies_of(name)]
        if not tellers:
            # of Binance alone, which no paper session has
            continue
        shared[min(tellers, key=lambda name: len(shared[name]))].append(lie)
    return shared[exchange]


class LyingFloor(Floor):
    """Bots with these checks on the exchanges of a stage, of which one lies at times."""

    def __init__(self, stage: Stage, liar: str, checks: Mapping[Subject, Check] = CHECKS) -> None:
        super().__init__(stage)
        self.liar = liar
        self.rules = ReportRules(markets_by_symbol(MARKETS), lambda: SETTINGS, checks=checks)
        self.failures: list[str] = []
        self._numbers = count(1)

    async def __aenter__(self) -> "LyingFloor":
        await super().__aenter__()
        await self.store.settings.change(SETTINGS, ANYTHING.version, "test")
        return self

    def lies(self, lie: str, told: int = TOLD) -> None:
        self.stage.world.faults.switch_on(Fault(self.liar, "lie", count=told, lie=lie))

    def is_honest_again(self) -> None:
        self.stage.world.faults.clear()

    async def trade(self, lie: str, told: int = TOLD) -> Arbitrage:
        """Trade both legs of one arbitrage, the liar's under this lie. Returns it once both are reported."""
        self.stage.world.round()
        number = next(self._numbers)
        pair = (self.liar, OTHERS[self.liar]) if number % 2 else (OTHERS[self.liar], self.liar)
        opportunity = served_opportunity(self.stage.world, f"lie-{number}", *pair)
        free = {(row.exchange, row.currency): row.free for row in await self.store.balances.rows()}
        context = DecisionContext(opportunity, SETTINGS, now=wall_now(), free=free)
        reservation = decide(context, markets_by_symbol(MARKETS))
        assert not isinstance(reservation, Rejected), reservation
        result = await self.store.reserve(reservation, UNFENCED)
        reserved = result.arbitrage
        assert reserved is not None, result.rejection
        self.lies(lie, told)
        for leg in reserved.legs:
            await self.trader(leg).execute(reserved.arbitrage_id, leg)
        await book_reported(self.store, advancing(MARKETS))
        self.is_honest_again()
        return await self.found(reserved.arbitrage_id)

    def trader(self, leg: Leg) -> LegExecutor:
        """Return a trader whose seconds are hundredths; by the store's clock it is always the moment of the grant."""
        clock = ServerClock(lambda: 0)
        clock.observe(leg.times["granted"], 0)
        return LegExecutor(
            self.store,
            self.accounts[leg.exchange],
            by=UNFENCED,
            steady_clock=lambda: steady_now() * 100,
            server_clock=clock,
            record_failure=lambda kind, _order: self.failures.append(kind),
            rules=self.rules,
        )

    async def found(self, identity: str) -> Arbitrage:
        stored = await self.store.arbitrage(identity)
        assert stored is not None
        return stored

    async def settle(self, identity: str, lie: str) -> Arbitrage:
        """Compare once under the lie, then without it, until the outcome of every order is known."""
        processes = [self.reconciliation(name) for name in (self.liar, OTHERS[self.liar])]
        self.lies(lie)
        for attempt in range(MOST_ROUNDS):
            for process in processes:
                # an answer that cannot be read: the next round asks again
                with suppress(ExchangeUnavailableError):
                    await process.round()
                await book_reported(self.store, advancing(MARKETS))
            await self.follow_up(identity)
            self.is_honest_again()
            await self.acknowledge_lies_about_booked()
            stored = await self.found(identity)
            is_settled = not any(leg.unresolved for leg in stored.legs) and not await self.marks()
            if attempt > 1 and is_settled:
                break
        return stored

    async def acknowledge_lies_about_booked(self) -> None:
        """Settle, as a person does, what contradicts orders that were booked before: nothing else ends that."""
        orders = {leg.exchange_order_id for one in await self.store.session_arbitrages() for leg in one.legs}
        for one in await self.store.differences.open_at(self.liar):
            if one.kind == "report_implausible" and one.subject in orders:
                await self.store.differences.settle(one.difference_id, "acknowledged", "owner")

    async def marks(self) -> list[str]:
        """Return the kinds of differences that keep the liar from trading."""
        return [one.kind for one in await self.store.differences.open_at(self.liar)]

    async def follow_up(self, identity: str) -> None:
        """Post what was granted meanwhile, as the bot of its exchange does."""
        for leg in (await self.found(identity)).legs:
            if leg.state == "granted":
                await self.trader(leg).execute(identity, leg)
                await book_reported(self.store, advancing(MARKETS))

    def reconciliation(self, exchange: str) -> Reconciliation:
        return Reconciliation(
            self.store,
            self.accounts[exchange],
            advancing(MARKETS),
            lambda: SETTINGS,
            has_client_ids=exchange != "bitflyer",
            by=UNFENCED,
            rules=self.rules,
        )

    async def falsely_booked(self) -> list[str]:
        """Return what the ledger has that the exchanges' journals do not say."""
        kinds = ("fill_unknown", "fill_differs", "fill_misfiled")
        return [one.kind for one in await self.stage.violations() if one.kind in kinds]

    async def audited(self) -> list[str]:
        for exchange, account in self.accounts.items():
            await self.store.balances.replace(exchange, await account.balances(), "after", UNFENCED)
        return [f"{one.kind}: {one.detail} [{one.arbitrage_id}]" for one in await self.stage.violations()]


async def told_all(floor: LyingFloor, lies: Sequence[str]) -> None:
    """Check that each lie was made about one order and once more in a comparison."""
    for lie in lies:
        traded = await floor.trade(lie)
        posted = {leg.client_order_id for leg in traded.legs if leg.role in ("buy", "sell")}
        settled = await floor.settle(traded.arbitrage_id, lie)
        assert not any(leg.unresolved for leg in settled.legs), (lie, settled.reason)
        # of each order that the lie was about there is still one
        assert {leg.client_order_id for leg in settled.legs if leg.role in ("buy", "sell")} == posted, lie
        assert await floor.audited() == [], lie


@pytest.mark.parametrize("liar", list(OTHERS))
async def test_no_lie_is_booked(stage: Stage, liar: str) -> None:
    async with LyingFloor(stage, liar) as floor:
        await told_all(floor, share_of(liar))
    assert set(TRADED) == set(OTHERS)


@pytest.mark.parametrize("liar", list(OTHERS))
async def test_a_lie_that_its_order_allows_is_taken_back(stage: Stage, liar: str) -> None:
    """Half of the order fills, and every answer says all of it: the report fits its order and is booked."""
    async with LyingFloor(stage, liar) as floor:
        half = Fault(liar, "partial_fill_then_nothing", count=1, share=0.5, hold_seconds=0.001)
        stage.world.faults.switch_on(half)
        # for as long as the order is asked for
        traded = await floor.trade("all amounts: double", told=1_000)
        assert await floor.falsely_booked() == ["fill_differs"]
        await floor.settle(traded.arbitrage_id, "order id: nothing")
        assert await floor.audited() == []
        assert await floor.marks() == []
        assert [one.kind for one in await floor.store.differences.stored()] == ["fill_restated"]


CAUGHT: list[tuple[Subject, str, str]] = [
    ("order_id", "kraken", "another order: by its fills"),
    ("client_id", "kraken", "another order: by its client id"),
    ("symbol", "kraken", "another order: by its market"),
    ("side", "kraken", "all sides: opposite"),
    ("terms", "kraken", "another order: by its amount"),
    ("overfilled", "kraken", "all amounts: double"),
    ("steps", "kraken", "all amounts: off the step"),
    ("price", "kraken", "all prices: a tenth"),
    ("cost", "kraken", "fill cost: double"),
    ("fee", "kraken", "fill fee: negative"),
]
"""A check, and a lie that only it finds. The other checks keep out lies that no adapter passes on, or that another
check finds too; `tests/market/test_report_checks.py` has one report for each."""


@pytest.mark.parametrize(("subject", "liar", "lie"), CAUGHT, ids=[subject for subject, _, _ in CAUGHT])
async def test_a_build_without_a_check_is_caught(stage: Stage, subject: Subject, liar: str, lie: str) -> None:
    without = {name: check for name, check in CHECKS.items() if name != subject}
    async with LyingFloor(stage, liar, without) as floor:
        await floor.trade(lie)
        assert IMPLAUSIBLE not in floor.failures
        # before reconciliation takes it back
        assert await floor.falsely_booked()


@pytest.mark.parametrize(("liar", "lie"), dict.fromkeys((liar, lie) for _, liar, lie in CAUGHT))
async def test_the_same_lies_end_as_residual_and_pause_the_exchange(stage: Stage, liar: str, lie: str) -> None:
    async with LyingFloor(stage, liar) as floor:
        traded = await floor.trade(lie)
        assert (traded.state, traded.reason) == ("residual", IMPLAUSIBLE)
        assert [leg.fills for leg in traded.legs if leg.exchange == liar] == [()]
        assert {leg.role for leg in traded.legs} == {"buy", "sell"}
        assert IMPLAUSIBLE in floor.failures
        assert await floor.marks() == ["report_implausible"]
        assert [one.exchange for one in await floor.store.health.all() if one.unexplained_since] == [liar]
