"""The local paper account: it fills once, forgets nothing that it acknowledged, and its books balance."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.errors import OrderRejectedError, OutcomeUnknownError
from exchanges.paper.account import PaperAccount
from exchanges.paper.conditions import FillConditions
from exchanges.paper.journal import PaperJournal, PaperJournalError
from market.instruments.orders import LimitOrder, OrderReport, Side
from market.money import Amount, Price, total
from market.prices.quotes import FeedMark, MarkKind, Quote
from runtime.clock import Clock, SystemClock
from tests.market.samples import JPY_MARKET, MARKETS, USD_MARKET, levels

OPENING = {"USD": Decimal(1_000), "BTC": Decimal(5), "JPY": Decimal(100_000)}
FEE = Decimal("0.001")


@dataclass
class SteppedClock:
    """Market time that only sleeping moves."""

    time: int = 0

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += round(seconds * 1_000_000)


class Interrupted(SteppedClock):
    """Something happens while an order travels."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    async def sleep(self, seconds: float) -> None:
        self.meanwhile()
        await super().sleep(seconds)


def account_at(
    path: Path,
    clock: Clock | None = None,
    exchange: str = "alpha",
    max_quote_age: int | None = None,
    fees: Sequence[Decimal] = (FEE,),
) -> PaperAccount:
    return PaperAccount(
        exchange=exchange,
        markets=MARKETS,
        opening=OPENING,
        journal=PaperJournal(path / "alpha.jsonl"),
        clock=clock or SteppedClock(),
        fee_rate=lambda: fees[-1],
        latency_ms=50,
        conditions=FillConditions(max_quote_age=None if max_quote_age is None else lambda: max_quote_age),
    )


def quote(sequence: int, ask_amount: str = "1", ask: str = "100") -> Quote:
    book = levels((ask, ask_amount), (str(Decimal(ask) + 1), "2"))
    return Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(("99", "1")), book, None, 1, sequence)


def mark(kind: MarkKind, sequence: int, received_time: int) -> FeedMark:
    return FeedMark(kind, "alpha", "us", "BTC/USD", "BTC", "USD", received_time, sequence)


def order(identity: str, amount: str = "1", price: str = "100", side: Side = "buy") -> LimitOrder:
    return LimitOrder(identity, "alpha", "BTC/USD", side, Amount(Decimal(amount)), Price(Decimal(price)), 0)


async def test_fills_after_the_latency_against_the_quote_of_then(tmp_path: Path) -> None:
    clock = SteppedClock()
    account = account_at(tmp_path, clock)
    account.update_quote(quote(1))
    report = await account.place(order("one"))
    assert clock.now() == 50_000
    assert report.is_final
    assert report.filled == 1
    assert report.fills[0].filled_at == 50_000
    assert await account.balances() == {"USD": Decimal("899.9"), "BTC": Decimal(6), "JPY": Decimal(100_000)}


async def test_depth_is_gone_until_the_level_changes(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.update_quote(quote(1))
    filled = [(await account.place(order(name, "0.6"))).filled for name in ("one", "two", "three")]
    assert filled == [Decimal("0.6"), Decimal("0.4"), Decimal(0)]
    account.update_quote(quote(2))
    assert (await account.place(order("four"))).filled == 0
    account.update_quote(quote(3, "1.1"))
    account.update_quote(quote(4))
    assert (await account.place(order("five", "0.5"))).filled == Decimal("0.5")


@pytest.mark.parametrize(("age_ms", "filled"), [(1_950, 1), (1_951, 0)])
async def test_a_quote_that_is_stale_at_the_match_fills_nothing(tmp_path: Path, age_ms: int, filled: int) -> None:
    """50 ms of the 2 s pass on the way."""
    clock = SteppedClock()
    account = account_at(tmp_path, clock, max_quote_age=2_000_000)
    account.update_quote(replace(quote(1), received_time=0))
    clock.time = age_ms * 1_000
    assert (await account.place(order("one"))).filled == filled


async def test_a_feed_that_lives_renews_its_quote(tmp_path: Path) -> None:
    clock = SteppedClock(5_000_000)
    account = account_at(tmp_path, clock, max_quote_age=2_000_000)
    account.update_quote(replace(quote(2), received_time=0))
    account.apply_mark(mark("alive", 1, 4_900_000))
    account.apply_mark(replace(mark("alive", 3, 4_900_000), exchange="beta"))
    assert (await account.place(order("old"))).filled == 0
    account.apply_mark(mark("alive", 3, 4_900_000))
    assert (await account.place(order("renewed"))).filled == 1


async def test_a_quote_withdrawn_on_the_way_fills_nothing(tmp_path: Path) -> None:
    account = account_at(tmp_path, Interrupted(lambda: account.apply_mark(mark("withdrawn", 2, 1))))
    account.update_quote(quote(1))
    assert (await account.place(order("one"))).filled == 0
    account.update_quote(quote(1))
    account.apply_mark(mark("alive", 3, 2))
    assert (await account.place(order("two"))).filled == 0
    account.update_quote(quote(4))
    assert (await account.place(order("three"))).filled == 1, "an old withdrawal changes nothing"


async def test_fills_against_what_is_shown_when_the_order_arrives(tmp_path: Path) -> None:
    account = account_at(tmp_path, Interrupted(lambda: account.update_quote(quote(2, "0.3"))))
    account.update_quote(quote(1))
    report = await account.place(order("one"))
    assert (report.is_final, report.filled) == (True, Decimal("0.3"))


async def test_an_older_quote_and_one_of_another_exchange_change_nothing(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.update_quote(quote(5, ask="200"))
    account.update_quote(quote(4))
    assert (await account.place(order("one"))).filled == 0


async def test_nothing_fills_without_a_quote(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    assert (await account.place(order("one"))).filled == 0
    account.update_quote(quote(1))
    account.apply_mark(mark("withdrawn", 2, 1))
    assert (await account.place(order("two"))).filled == 0


@pytest.mark.parametrize(
    "rejected",
    [order("x", "0.00001"), order("x", "1", "0.001"), order("x", "9.99", "101"), order("x", "6", "1", "sell")],
)
async def test_rejects_what_an_exchange_would(tmp_path: Path, rejected: LimitOrder) -> None:
    account = account_at(tmp_path)
    account.update_quote(quote(1))
    with pytest.raises(OrderRejectedError):
        await account.place(rejected)
    assert await account.look_up(rejected) is None
    assert await account.balances() == OPENING


async def test_a_client_id_used_before_is_never_a_second_order(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.update_quote(quote(1))
    first = await account.place(order("one", "0.3"))
    for again in (account, account_at(tmp_path)):
        with pytest.raises(OutcomeUnknownError, match="alpha already has an order one"):
            await again.place(order("one", "0.3"))
        assert await again.look_up(order("one", "0.3")) == first
        assert (await again.balances())["BTC"] == Decimal("5.3")


async def test_orders_on_their_way_hold_what_they_may_need(tmp_path: Path) -> None:
    """Two that could each be paid for alone: the second is rejected while the first travels."""
    account = account_at(tmp_path, SystemClock())
    account.update_quote(quote(1, "20"))
    first = asyncio.create_task(account.place(order("one", "6")))
    while not await account.open_orders():  # noqa: ASYNC110 - the other task changes the answer
        await asyncio.sleep(0)
    with pytest.raises(OrderRejectedError, match="not enough USD"):
        await account.place(order("two", "6"))
    assert (await first).filled == 6
    assert await account.open_orders() == []


async def test_the_fee_in_force_when_it_was_sent(tmp_path: Path) -> None:
    fees = [Decimal("0.001")]
    account = account_at(tmp_path, Interrupted(lambda: fees.append(Decimal("0.05"))), fees=fees)
    account.update_quote(quote(1))
    assert (await account.place(order("one"))).fills[0].fee == Decimal("0.1")
    assert (await account.place(order("two", "0.5"))).filled == 0


async def test_an_order_of_another_exchange_is_rejected(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    for other in (replace(order("x"), exchange="beta", symbol="BTC/EUR"), replace(order("x"), symbol="ETH/USD")):
        with pytest.raises(OrderRejectedError, match="does not trade"):
            await account.place(other)


async def test_another_process_finds_all_that_was_acknowledged(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.update_quote(quote(1))
    report = await account.place(order("one", "0.3"))
    with (tmp_path / "alpha.jsonl").open("ab") as file:
        file.write(b'{"client_order_id": "torn')
    later = account_at(tmp_path)
    assert await later.look_up(order("one")) == report
    assert await later.look_up(order("two")) is None
    assert await later.balances() == await account.balances()
    later.update_quote(quote(2))
    second = await later.place(order("two", "0.3"))
    assert second.exchange_order_id != report.exchange_order_id
    assert await account_at(tmp_path).balances() == await later.balances()


def test_a_broken_journal_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "alpha.jsonl").write_text("nonsense\n")
    with pytest.raises(PaperJournalError, match="not a journal of a paper account"):
        account_at(tmp_path)


async def test_a_fee_in_base(tmp_path: Path) -> None:
    account = account_at(tmp_path, exchange="gamma")
    book = levels(("10000", "1"))
    account.update_quote(
        Quote("quote", "gamma", "jp", "BTC/JPY", "BTC", "JPY", levels(("9000", "1")), book, None, 1, 1)
    )
    placed = LimitOrder("one", "gamma", "BTC/JPY", "buy", Amount(Decimal(1)), Price(Decimal(10_000)), 0)
    assert (await account.place(placed)).fills[0].fee == Decimal("0.001")
    assert await account.balances() == {"USD": Decimal(1_000), "BTC": Decimal("5.999"), "JPY": Decimal(90_000)}
    assert JPY_MARKET.fee_side == "base"


async def test_fills_are_booked_in_what_the_market_counts_as(tmp_path: Path) -> None:
    """A replay may count USDT as USD; the symbol says what really trades."""
    market = replace(USD_MARKET, symbol="BTC/USDT")
    for _ in ("traded", "read again"):
        account = PaperAccount(
            exchange="alpha",
            markets=(market,),
            opening=OPENING,
            journal=PaperJournal(tmp_path / "alpha.jsonl"),
            clock=SteppedClock(),
            fee_rate=lambda: FEE,
            latency_ms=50,
        )
        if await account.look_up(order("one")) is None:
            account.update_quote(replace(quote(1), symbol="BTC/USDT"))
            await account.place(replace(order("one"), symbol="BTC/USDT"))
        assert await account.balances() == {"USD": Decimal("899.9"), "BTC": Decimal(6), "JPY": Decimal(100_000)}


orders = st.lists(
    st.tuples(st.sampled_from(["buy", "sell"]), st.integers(1, 30_000), st.integers(9_000, 10_300), st.booleans()),
    max_size=12,
)


@given(rows=orders)
async def test_books_balance_to_the_last_digit_whatever_is_ordered(
    tmp_path_factory: pytest.TempPathFactory, rows: Sequence[tuple[str, int, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("account")
    account = account_at(path)
    reports: list[OrderReport] = []
    for number, (side, lots, cents, restart) in enumerate(rows):
        if restart:
            account = account_at(path)
        account.update_quote(quote(number))
        one = order(str(number), str(lots * USD_MARKET.lot_step), str(Decimal(cents) / 100))
        placed = LimitOrder(
            one.client_order_id, "alpha", one.symbol, "buy" if side == "buy" else "sell", one.amount, one.price, 0
        )
        try:
            reports.append(await account.place(placed))
        except OrderRejectedError:
            continue
    fills = [fill for report in reports for fill in report.fills]
    balances = await account.balances()
    bought = total(fill.amount if fill.side == "buy" else -fill.amount for fill in fills)
    spent = total(fill.cost if fill.side == "buy" else -fill.cost for fill in fills) + total(fill.fee for fill in fills)
    assert balances["BTC"] == OPENING["BTC"] + bought
    assert balances["USD"] == OPENING["USD"] - spent
    assert min(balances.values()) >= 0
