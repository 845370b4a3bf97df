"""An own order that nobody knew of is listed after a person settled what it had moved: booked once, in any order of
events, and no person is asked if the balances tell."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.reconcile.reconciler import Reconciliation
from market.instruments.orders import AccountFill, OrderReport, changes_of
from market.money import ZERO
from market.trade.arbitrages import Leg
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from tests.bots.reconciling_bench import ID, MINUTE, Bench, buy_sent, opened_bench
from tests.store.booking import book_reported, finish_leg, record_sent
from tests.store.reservation_requests import close, filled

CURRENCIES = ("BTC", "USD")
EVENTS = ("fills", "is listed", "compares", "settles", "settles one", "deposits", "withdraws", "waits", "restarts")


@dataclass
class Scene:
    """The buy on alpha was denied and its arbitrage ended; what became of the order is told by events."""

    bench: Bench
    buy: Leg
    report: OrderReport
    process: Reconciliation
    is_filled: bool = False
    is_listed: bool = False
    words: int = 0
    """How often a person settled something."""

    async def happens(self, event: str) -> None:
        exchange = self.bench.exchange
        match event:
            case "fills":
                self._fill()
            case "is listed":
                self._fill()
                self._list()
            case "compares":
                await self.compares()
            case "settles" | "settles one":
                await self.settles(1 if event == "settles one" else None)
            case "deposits" | "withdraws":
                exchange.owned["USD"] += Decimal(70) if event == "deposits" else Decimal(-70)
            case "waits":
                self.bench.clock.time += 11 * MINUTE
            case "restarts":
                self.bench.store.begin_session()
                await self.bench.store.balances.replace("alpha", dict(exchange.owned), "before", UNFENCED)

    async def compares(self) -> None:
        await self.process.round()
        await book_reported(self.bench.store, close)
        self.bench.clock.time += 15_000_000

    async def settles(self, most: int | None = None) -> None:
        for one in (await self.bench.store.differences.open_at("alpha"))[:most]:
            await self.bench.store.differences.settle(one.difference_id, "acknowledged", "owner")
            self.words += 1
        self.bench.clock.time += 1_000_000

    def _fill(self) -> None:
        if not self.is_filled:
            self.is_filled = True
            self.bench.exchange.fill(self.report)
            self.bench.exchange.fills.clear()

    def _list(self) -> None:
        if not self.is_listed:
            self.is_listed = True
            order, client = self.report.exchange_order_id, self.buy.client_order_id
            self.bench.exchange.looks = lambda _: self.report
            self.bench.exchange.fills = [AccountFill(fill, order, client) for fill in self.report.fills]

    async def row(self, currency: str) -> BalanceRow:
        rows = await self.bench.store.balances.rows()
        place = ("alpha", currency)
        return next((row for row in rows if (row.exchange, row.currency) == place), BalanceRow(*place, ZERO, ZERO))

    async def are_books_the_account(self) -> bool:
        rows = [await self.row(currency) for currency in CURRENCIES]
        exact = all(row.free == self.bench.exchange.owned[row.currency] for row in rows)
        return exact and all(row.held == row.unexplained == row.doubted == ZERO for row in rows)

    async def by_entries(self) -> dict[str, Decimal]:
        """Return the session's opening balances, with what the orders moved."""
        opening, _ = await self.bench.store.balances.of_session()
        owned = {currency: opening["alpha"].get(currency, ZERO) for currency in CURRENCIES}
        leg = (await self.bench.arbitrage()).leg("buy")
        for fill in () if leg is None else leg.fills:
            for currency, change in changes_of(fill, "BTC", "USD"):
                owned[currency] += change
        return owned


async def scene(is_acknowledged: bool = False, is_lie: bool = False, bench: Bench | None = None) -> Scene:
    bench = bench or await opened_bench()
    buy = await buy_sent(bench)
    if is_acknowledged:
        await record_sent(bench.store, ID, "buy", f"order-{buy.client_order_id}", UNFENCED)
    await finish_leg(bench.store, ID, "buy", None, close, UNFENCED)
    process = bench.process()
    process.advance = close
    bench.clock.time += 1_000_000
    # what a lie lists as filled never reaches the account
    return Scene(bench, buy, filled(buy), process, is_filled=is_lie)


async def after(events: Sequence[str], is_acknowledged: bool = False, is_lie: bool = False) -> Scene:
    stage = await scene(is_acknowledged, is_lie)
    for event in events:
        await stage.happens(event)
    return stage


SETTLED = ("fills", "compares", "compares", "settles")


@pytest.mark.parametrize(
    ("events", "words"),
    [
        # nobody has settled anything
        (("is listed", "compares", "compares"), 0),
        (("fills", "compares", "compares", "is listed", "compares", "compares"), 0),
        # the settlement has it
        ((*SETTLED, "is listed", "compares", "compares", "compares"), 2),
        ((*SETTLED, "waits", "is listed", "compares", "compares", "compares"), 2),
        # of one of the two balances
        (("fills", "compares", "compares", "settles one", "is listed", "compares", "compares", "compares"), 1),
        # the settlement has something else
        (("withdraws", "compares", "compares", "settles", "is listed", "compares", "compares", "compares"), 1),
        # booked, and settled before the balances were compared again
        (("fills", "compares", "compares", "is listed", "compares", "settles", "compares", "compares"), 2),
        # the opening balances have it
        (("fills", "restarts", "is listed", "compares", "compares", "compares"), 0),
        (("fills", "compares", "compares", "restarts", "is listed", "compares", "settles", "compares"), 2),
    ],
)
@pytest.mark.parametrize("is_acknowledged", [False, True])
async def test_what_was_settled_is_booked_once(events: tuple[str, ...], words: int, is_acknowledged: bool) -> None:
    # an acknowledged order may move balances for as long as it is searched for
    waits = ("waits",) if is_acknowledged else ()
    stage = await after((*waits, *events), is_acknowledged)
    assert stage.words == words
    assert await stage.bench.store.differences.open_at("alpha") == []
    assert await stage.are_books_the_account()
    assert await stage.bench.reduce_only() == []
    leg = (await stage.bench.arbitrage()).leg("buy")
    assert leg is not None
    assert leg.fills == stage.report.fills
    if "restarts" not in events:
        assert await stage.by_entries() == stage.bench.exchange.owned


async def test_a_clock_that_was_set_back_moves_no_order_into_the_session_before() -> None:
    """Another server took over, whose clock is behind: the order was granted before the books were opened, by time."""
    bench = await opened_bench()
    bench.clock.time -= 3_000_000
    stage = await scene(bench=bench)
    bench.clock.time += 4_000_000
    for event in ("is listed", *["compares"] * 4):
        await stage.happens(event)
    assert await bench.stored() == ["order_found healed"]
    assert await stage.are_books_the_account()
    assert await stage.by_entries() == bench.exchange.owned


async def test_what_may_be_booked_twice_counts_once_until_it_is_known() -> None:
    stage = await after((*SETTLED, "is listed", "compares"))
    row = await stage.row("BTC")
    assert (row.free, row.usable, row.doubted) == (Decimal(4), Decimal(2), Decimal(2))
    await stage.compares()
    assert (await stage.row("BTC")).usable == Decimal(2)
    assert await stage.bench.stored() == ["order_found healed", *["balance_unexplained reported"] * 2]
    await stage.compares()
    entries = {(one.kind, one.subject): one for one in await stage.bench.store.differences.stored()}
    assert entries["settled_twice", "BTC"].booked == -2 == -entries["balance_unexplained", "BTC"].booked
    assert entries["settled_twice", "USD"].booked == -entries["balance_unexplained", "USD"].booked > 0


async def test_a_settlement_is_taken_back_for_nothing_but_the_late_fills() -> None:
    """A withdrawal at the same time: a person says what it is."""
    stage = await after((*SETTLED, "is listed", "withdraws", "compares", "compares", "compares"))
    [open_one] = await stage.bench.store.differences.open_at("alpha")
    assert (open_one.kind, open_one.subject) == ("balance_unexplained", "USD")
    assert await stage.bench.reduce_only() == ["alpha"]
    await stage.settles()
    await stage.compares()
    assert await stage.are_books_the_account()
    assert await stage.by_entries() == stage.bench.exchange.owned


@pytest.mark.parametrize(
    ("btc", "usd", "twice"),
    [
        ("0.5", "-50", []),  # less than the order
        ("-3", "400", []),  # the other way
        ("5", "400", ["BTC"]),  # the BTC may have had it, the USD not
        ("0", "-150", []),
        ("2", "-200.2", ["BTC", "USD"]),  # as much: nothing tells it from the order
    ],
)
async def test_a_settlement_of_less_than_the_fills_had_them_not(btc: str, usd: str, twice: list[str]) -> None:
    """A trade by hand was settled; then an order is listed as filled, whose fills never reach the account."""
    stage = await scene(is_lie=True)
    owned = stage.bench.exchange.owned
    owned["BTC"] += Decimal(btc)
    owned["USD"] += Decimal(usd)
    for event in ("compares", "compares", "settles"):
        await stage.happens(event)
    assert await stage.are_books_the_account()
    for event in ("is listed", *["compares"] * 6):
        await stage.happens(event)
    entries = await stage.bench.store.differences.stored()
    assert sorted(one.subject for one in entries if one.kind == "settled_twice") == twice
    assert await stage.bench.reduce_only() == ([] if twice == ["BTC", "USD"] else ["alpha"])
    await stage.settles()
    await stage.compares()
    assert await stage.are_books_the_account()
    assert await stage.by_entries() == owned


async def test_what_is_taken_back_is_taken_from_one_settlement_once() -> None:
    stage = await after((*SETTLED, "is listed", "compares", "compares", "compares"))
    assert [(await stage.row(currency)).settled for currency in CURRENCIES] == [ZERO, ZERO]


@given(
    events=st.lists(st.sampled_from(EVENTS), max_size=14).filter(lambda them: them.count("restarts") < 2),
    is_acknowledged=st.booleans(),
    is_lie=st.booleans(),
)
def test_in_any_order_the_books_are_the_account_in_the_end(
    events: list[str], is_acknowledged: bool, is_lie: bool
) -> None:
    """`is_lie`: what is listed as filled never reaches the account."""

    async def ends() -> None:
        stage = await after((*events, "is listed"), is_acknowledged, is_lie)
        for _ in range(4):
            # as often as a person looks
            for event in ("compares", "compares", "compares", "settles"):
                await stage.happens(event)
        assert await stage.bench.store.differences.open_at("alpha") == []
        assert await stage.are_books_the_account()
        leg = (await stage.bench.arbitrage()).leg("buy")
        assert leg is not None
        assert leg.fills in ((), stage.report.fills)
        if "restarts" not in events:
            assert await stage.by_entries() == stage.bench.exchange.owned

    asyncio.run(ends())


@given(st.permutations(["fills", "compares", "compares", "settles", "waits", "compares", "is listed"]))
def test_a_person_is_asked_once_at_most_about_an_order_of_ours(events: list[str]) -> None:
    async def ends() -> None:
        stage = await after(events)
        for _ in range(4):
            await stage.compares()
        assert await stage.bench.store.differences.open_at("alpha") == []
        assert stage.words <= len(CURRENCIES)
        assert await stage.are_books_the_account()

    asyncio.run(ends())
