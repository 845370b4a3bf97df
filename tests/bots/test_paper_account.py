"""The local paper account: it fills once, forgets nothing that it acknowledged, and its books balance."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.paper_account import PaperAccount
from bots.paper_journal import PaperJournal, PaperJournalError
from exchanges.errors import OrderRefusedError
from market.money import Amount, Price, total
from market.orders import LimitOrder, OrderReport, Side
from market.quotes import Quote
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


def account_at(path: Path, clock: SteppedClock | None = None, exchange: str = "alpha") -> PaperAccount:
    return PaperAccount(
        exchange=exchange,
        markets=MARKETS,
        opening=OPENING,
        journal=PaperJournal(path / "alpha.jsonl"),
        clock=clock or SteppedClock(),
        fee_rate=lambda: FEE,
        latency_ms=50,
    )


def quote(sequence: int, ask_amount: str = "1", ask: str = "100") -> Quote:
    book = levels((ask, ask_amount), (str(Decimal(ask) + 1), "2"))
    return Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(("99", "1")), book, None, 1, sequence)


def order(identity: str, amount: str = "1", price: str = "100", side: Side = "buy") -> LimitOrder:
    return LimitOrder(identity, "alpha", "BTC/USD", side, Amount(Decimal(amount)), Price(Decimal(price)), 0)


async def test_fills_after_the_latency_against_the_quote_of_then(tmp_path: Path) -> None:
    clock = SteppedClock()
    account = account_at(tmp_path, clock)
    account.see_quote(quote(1))
    report = await account.place(order("one"))
    assert clock.now() == 50_000
    assert report.is_final
    assert report.filled == 1
    assert report.fills[0].filled_at == 50_000
    assert await account.balances() == {"USD": Decimal("899.9"), "BTC": Decimal(6), "JPY": Decimal(100_000)}


async def test_depth_is_gone_until_the_next_quote(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.see_quote(quote(1))
    filled = [(await account.place(order(name, "0.6"))).filled for name in ("one", "two", "three")]
    assert filled == [Decimal("0.6"), Decimal("0.4"), Decimal(0)]
    account.see_quote(quote(1))
    assert (await account.place(order("four"))).filled == 0
    account.see_quote(quote(2))
    assert (await account.place(order("five", "0.5"))).filled == Decimal("0.5")


async def test_an_older_quote_and_one_of_another_exchange_change_nothing(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.see_quote(quote(5, ask="200"))
    account.see_quote(quote(4))
    assert (await account.place(order("one"))).filled == 0


async def test_nothing_fills_without_a_quote(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    assert (await account.place(order("one"))).filled == 0
    account.see_quote(quote(1))
    account.withdraw("BTC/USD")
    assert (await account.place(order("two"))).filled == 0


@pytest.mark.parametrize(
    "refused",
    [order("x", "0.00001"), order("x", "1", "0.001"), order("x", "9.99", "101"), order("x", "6", "1", "sell")],
)
async def test_refuses_what_an_exchange_would(tmp_path: Path, refused: LimitOrder) -> None:
    account = account_at(tmp_path)
    account.see_quote(quote(1))
    with pytest.raises(OrderRefusedError):
        await account.place(refused)
    assert await account.look_up(refused) is None
    assert await account.balances() == OPENING


async def test_a_repeat_gives_the_same_order(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.see_quote(quote(1))
    first = await account.place(order("one", "0.3"))
    assert await account.place(order("one", "0.3")) == first
    assert (await account.balances())["BTC"] == Decimal("5.3")


async def test_another_process_finds_all_that_was_acknowledged(tmp_path: Path) -> None:
    account = account_at(tmp_path)
    account.see_quote(quote(1))
    report = await account.place(order("one", "0.3"))
    with (tmp_path / "alpha.jsonl").open("ab") as file:
        file.write(b'{"client_order_id": "torn')
    later = account_at(tmp_path)
    assert await later.look_up(order("one")) == report
    assert await later.look_up(order("two")) is None
    assert await later.balances() == await account.balances()
    later.see_quote(quote(2))
    second = await later.place(order("two", "0.3"))
    assert second.exchange_order_id != report.exchange_order_id
    assert await account_at(tmp_path).balances() == await later.balances()


def test_a_broken_journal_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "alpha.jsonl").write_text("nonsense\n")
    with pytest.raises(PaperJournalError, match="no journal of a paper account"):
        account_at(tmp_path)


async def test_a_fee_in_base(tmp_path: Path) -> None:
    account = account_at(tmp_path, exchange="gamma")
    book = levels(("10000", "1"))
    account.see_quote(Quote("quote", "gamma", "jp", "BTC/JPY", "BTC", "JPY", levels(("9000", "1")), book, None, 1, 1))
    placed = LimitOrder("one", "gamma", "BTC/JPY", "buy", Amount(Decimal(1)), Price(Decimal(10_000)), 0)
    assert (await account.place(placed)).fills[0].fee == Decimal("0.001")
    assert await account.balances() == {"USD": Decimal(1_000), "BTC": Decimal("5.999"), "JPY": Decimal(90_000)}
    assert JPY_MARKET.fee_side == "base"


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
        account.see_quote(quote(number))
        one = order(str(number), str(lots * USD_MARKET.lot_step), str(Decimal(cents) / 100))
        placed = LimitOrder(
            one.client_order_id, "alpha", one.symbol, "buy" if side == "buy" else "sell", one.amount, one.price, 0
        )
        try:
            reports.append(await account.place(placed))
        except OrderRefusedError:
            continue
    fills = [fill for report in reports for fill in report.fills]
    balances = await account.balances()
    bought = total(fill.amount if fill.side == "buy" else -fill.amount for fill in fills)
    spent = total(fill.cost if fill.side == "buy" else -fill.cost for fill in fills) + total(fill.fee for fill in fills)
    assert balances["BTC"] == OPENING["BTC"] + bought
    assert balances["USD"] == OPENING["USD"] - spent
    assert min(balances.values()) >= 0
