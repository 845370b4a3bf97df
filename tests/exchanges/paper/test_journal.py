"""The file of a local paper account when it is held, full or gone."""

import fcntl
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.errors import ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.paper.journal import PaperJournalError
from market.instruments.orders import OrderReport
from market.money import ZERO, Amount
from tests.exchanges.paper.test_account import SteppedClock, order, quote
from tests.exchanges.paper.test_survival import check_books, opened


async def test_a_journal_that_somebody_does_not_let_go_of(tmp_path: Path) -> None:
    """As an exchange that cannot be reached: what was not sent is rejected, reads may be tried again."""
    path = tmp_path / "alpha.jsonl"
    account = opened(path, timeout=0.01)
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OrderRejectedError, match="locked by another process"):
            await account.place(order("one"))
        with pytest.raises(ExchangeUnavailableError):
            await account.balances()
    assert await account.look_up(order("one")) is None

    class Held(SteppedClock):
        async def sleep(self, seconds: float) -> None:
            fcntl.flock(late, fcntl.LOCK_EX)

    with path.open("ab") as late:
        with pytest.raises(OutcomeUnknownError, match="did not answer"):
            await opened(path, Held(), timeout=0.01).place(order("one"))
        assert await account.look_up(order("one")) == OrderReport("alpha-1", False, Amount(ZERO), ())


async def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    account = opened(path)
    account.update_quote(quote(1))
    await account.place(order("one", "0.1"))
    content = path.read_bytes()
    for more in (0, 20):
        with files_at_most(len(content) + more), pytest.raises(PaperJournalError, match="cannot be written"):
            await account.place(order("two", "0.1"))
        assert path.read_bytes() == content
    assert (await account.place(order("two", "0.1"))).filled == Decimal("0.1")
    await check_books(opened(path))


async def test_a_journal_that_is_gone_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "alpha.jsonl"
    account = opened(path)
    await account.balances()
    path.unlink()
    with pytest.raises(PaperJournalError, match="truncated or removed"):
        await account.balances()


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Forbid this process to write beyond `size` into any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
