"""A local paper account outlives its process, wherever that is killed, and is one account for several processes."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.paper.account import PaperAccount
from exchanges.paper.journal import Accepted, JournalRow, PaperJournal
from market.instruments.orders import OrderReport
from market.money import ZERO, Amount, total
from runtime.clock import Clock, SystemClock, wall_now
from tests.exchanges.paper.test_account import FEE, OPENING, SteppedClock, order, quote
from tests.market.samples import MARKETS

ROOT = Path(__file__).parents[3]
IDENTITIES = [f"order-{number}" for number in range(1_000)]
TRADES = """
import asyncio, sys
from pathlib import Path
from market.instruments.orders import LimitOrder
from tests.exchanges.paper.test_account import order, quote
from tests.exchanges.paper.test_survival import IDENTITIES, opened

async def trade():
    account = opened(Path(sys.argv[1]))
    for number, identity in enumerate(IDENTITIES):
        account.update_quote(quote(number, str(1 + number)))
        report = await account.place(order(identity, "0.0101"))
        print(identity, report.filled, flush=True)

asyncio.run(trade())
"""


def opened(path: Path, clock: Clock | None = None, timeout: float = 5.0) -> PaperAccount:
    return PaperAccount(
        exchange="alpha",
        markets=MARKETS,
        opening=OPENING,
        journal=PaperJournal(path, timeout),
        clock=clock or SteppedClock(),
        fee_rate=lambda: FEE,
        latency_ms=1,
    )


async def check_books(account: PaperAccount) -> None:
    """Check that the balances are the opening plus the account's own fills, and that no order is forgotten."""
    fills = [one.fill for one in await account.fills_since(0)]
    balances = await account.balances()
    assert balances["BTC"] == OPENING["BTC"] + total(fill.amount for fill in fills)
    assert balances["USD"] == OPENING["USD"] - total(fill.cost + fill.fee for fill in fills)
    assert len({fill.fill_id for fill in fills}) == len(fills)


@pytest.mark.parametrize("lines", [1, 7, 40])
async def test_killed_in_the_middle_of_trading(tmp_path: Path, lines: int) -> None:
    """kill -9 after so many acknowledgements: each of them is found again, and one more order may be on its way."""
    path = tmp_path / "alpha.jsonl"
    reported = reported_until_killed(path, lines)
    assert len(reported) >= lines
    account = opened(path)
    for identity, filled in reported:
        report = await account.look_up(order(identity, "0.0101"))
        assert report is not None
        assert (report.is_final, str(report.filled)) == (True, filled)
    known = [identity for identity in IDENTITIES if await account.look_up(order(identity)) is not None]
    assert len(known) - len(reported) in (0, 1)
    await check_books(account)


async def test_cut_anywhere(tmp_path: Path) -> None:
    """Whatever of the journal reached the disk: what is whole counts, what is torn was never reported."""
    path, torn = tmp_path / "alpha.jsonl", tmp_path / "torn.jsonl"
    account = opened(path)
    for number, amount in enumerate(("0.3", "0.9", "0.1")):
        account.update_quote(quote(number))
        await account.place(order(str(number), amount))
    content = path.read_bytes()
    ends = {at + 1 for at, byte in enumerate(content) if byte == ord("\n")}
    for length in sorted({0, *range(1, len(content), 41), *ends, *(end - 1 for end in ends)}):
        torn.write_bytes(content[:length])
        later = opened(torn)
        reports = [await later.look_up(order(str(number))) for number in range(3)]
        found = [report for report in reports if report is not None]
        assert reports[: len(found)] == found, "an order is known and one before it is not"
        assert all(report.is_final for report in found[:-1])
        assert total(report.filled for report in found) == (await later.balances())["BTC"] - OPENING["BTC"]
        await check_books(later)
    torn.write_bytes(content[:-1])
    later = opened(torn)
    later.update_quote(quote(9, "5"))
    assert (await later.place(order("next", "0.5"))).filled == Decimal("0.5")
    await check_books(opened(torn))


async def test_what_was_taken_stays_taken_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    account = opened(path)
    account.update_quote(quote(1))
    await account.place(order("one", "0.75"))
    later = opened(path)
    later.update_quote(quote(2))
    assert (await later.place(order("two", "0.75"))).filled == Decimal("0.25")


async def test_an_order_whose_sender_died_is_found_and_ends_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    first = opened(path)
    first.update_quote(quote(1))
    sent = asyncio.create_task(opened(path, SystemClock()).place(order("one")))
    await until_open(first)
    sent.cancel()
    later = opened(path)
    report = OrderReport("alpha-1", False, Amount(ZERO), ())
    assert await later.look_up(order("one")) == report
    [one] = await later.open_orders()
    assert (one.client_order_id, one.exchange_order_id, one.amount) == ("one", "alpha-1", Decimal(1))
    async with asyncio.timeout(20):
        while report is not None and not report.is_final:
            report = await later.look_up(order("one")) or report
            await asyncio.sleep(0.02)
    assert report == OrderReport("alpha-1", True, Amount(ZERO), ())
    assert await later.open_orders() == await first.open_orders() == []
    assert await first.balances() == OPENING


async def test_a_sender_that_was_stopped_does_not_fill_what_another_ended(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    later = opened(path)

    class Stopped(SteppedClock):
        async def sleep(self, seconds: float) -> None:
            """Longer than anybody waits for it."""
            async with asyncio.timeout(20):
                while not (await later.look_up(order("one")) or report).is_final:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    report = OrderReport("alpha-1", True, Amount(ZERO), ())
    account = opened(path, Stopped())
    account.update_quote(quote(1))
    assert await account.place(order("one")) == report
    assert await account.look_up(order("one")) == await later.look_up(order("one")) == report


async def test_several_processes_have_one_account(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    accounts = [opened(path, SystemClock()) for _ in range(3)]
    for account in accounts:
        account.update_quote(quote(1, "2"))
    reports = await asyncio.gather(
        *(account.place(order(f"{name}", "0.3")) for name, account in enumerate(accounts * 4))
    )
    assert total(report.filled for report in reports) == 2, "no more than the level had"
    assert len({report.exchange_order_id for report in reports}) == 12
    states = [(await account.balances(), await account.fills_since(0)) for account in (*accounts, opened(path))]
    assert all(state == states[0] for state in states)
    await check_books(accounts[0])


async def test_fills_are_reported_from_the_second_they_happened_in(tmp_path: Path) -> None:
    """By the wall, though the market's time is a replay's."""
    account = opened(tmp_path / "alpha.jsonl")
    account.update_quote(quote(1))
    before = wall_now()
    report = await account.place(order("one", "0.5"))
    [one] = await account.fills_since(before)
    assert (one.fill, one.exchange_order_id, one.client_order_id) == (report.fills[0], "alpha-1", "one")
    assert one.fill.filled_at < 1_000_000
    assert await account.fills_since(wall_now() + 1_000_000) == []


async def test_a_process_that_is_slow_does_not_end_its_own_orders(tmp_path: Path) -> None:
    """The loop stood still for longer than the grace, and another order comes first."""
    path, arrived = tmp_path / "alpha.jsonl", asyncio.Event()

    class Slow(SteppedClock):
        async def sleep(self, seconds: float) -> None:
            await arrived.wait()

    account = opened(path, Slow())
    account.update_quote(quote(1))
    first = asyncio.create_task(account.place(order("one", "0.5")))
    await until_open(account)
    [one] = await account.open_orders()
    async with asyncio.timeout(20):
        while wall_now() < one.placed_at + 1_100_000:  # noqa: ASYNC110 - the grace of a second is the wall's
            await asyncio.sleep(0.02)
    second = asyncio.create_task(account.place(order("two", "0.5")))
    while len(await account.open_orders()) < 2:  # noqa: ASYNC110 - another task changes the answer
        await asyncio.sleep(0)
    arrived.set()
    assert [(await task).filled for task in (first, second)] == [Decimal("0.5")] * 2


async def test_an_order_that_nobody_asks_for_gives_back_what_it_held(tmp_path: Path) -> None:
    """900 of 1,000 dollars: by the next order, or by whoever asks for anything."""
    for question in ("order", "balances"):
        path = tmp_path / f"{question}.jsonl"
        account = opened(path)
        await account.balances()
        journal = PaperJournal(path)
        async with journal.locked():
            journal.append(JournalRow(accepted=Accepted(order("one", "9"), "alpha-1", FEE, 1, 2, "BTC", "USD")))
        account.update_quote(quote(1, "20"))
        if question == "balances":
            assert await account.balances() == OPENING
            assert await opened(path).open_orders() == []
        assert (await account.place(order("two", "9"))).filled == 9


async def test_a_market_of_an_earlier_session_holds_nothing_here(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    account = opened(path)
    await account.balances()
    placed = replace(order("one"), symbol="ETH/USD")
    journal = PaperJournal(path)
    async with journal.locked():
        journal.append(JournalRow(accepted=Accepted(placed, "alpha-1", FEE, 1, 2, "BTC", "USD")))
    account.update_quote(quote(1))
    assert (await account.place(order("two", "0.5"))).filled == Decimal("0.5")
    assert (await account.look_up(placed)) == OrderReport("alpha-1", True, Amount(ZERO), ())


def reported_until_killed(path: Path, lines: int) -> list[list[str]]:
    """Return what a trading process acknowledged: order and amount filled."""
    words = (sys.executable, "-c", TRADES, path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        reported = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        reported += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [line.split() for line in reported]


async def until_open(account: PaperAccount) -> None:
    async with asyncio.timeout(20):
        while not await account.open_orders():  # noqa: ASYNC110 - another task changes the answer
            await asyncio.sleep(0)
