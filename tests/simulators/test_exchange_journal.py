"""The journal: whole lines come back, a torn one was never acknowledged."""

import resource
from decimal import Decimal
from pathlib import Path

import pytest

from simulators.matching.exchange_journal import Entry, Journal, read_journal
from simulators.matching.order_records import OrderRequest, RejectedOrder, SimulatedFill, SimulatedOrder

ORDER = SimulatedOrder(
    "o1", 1, "mine", "BTC/USD", "buy", Decimal("0.10000000"), Decimal("60000.1"), True, 5, "done", Decimal("0.1"), 6
)
FILL = SimulatedFill(
    "f1",
    2,
    "o1",
    "BTC/USD",
    "buy",
    Decimal("60000.1"),
    Decimal("0.1"),
    Decimal("6000.0100"),
    Decimal("6.0000"),
    "USD",
    "taker",
    6,
)


def test_entries_come_back_to_the_digit(tmp_path: Path) -> None:
    written = [Entry(opening={"USD": Decimal("1000000.0001")}), Entry(orders=(ORDER,), fills=(FILL,))]
    journal = Journal(tmp_path / "exchanges" / "kraken.jsonl")
    for entry in written:
        journal.write(entry)
    journal.close()
    again = Journal(tmp_path / "exchanges" / "kraken.jsonl")
    assert list(again.entries()) == written
    again.close()


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "kraken.jsonl"
    journal = Journal(path)
    journal.write(Entry(orders=(ORDER,), fills=(FILL,)))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    again = Journal(path)
    assert list(again.entries()) == [Entry(orders=(ORDER,), fills=(FILL,))]
    again.write(Entry(orders=(ORDER,)))
    again.close()
    assert path.read_bytes().startswith(whole)
    last = Journal(path)
    assert list(last.entries())[1:] == [Entry(orders=(ORDER,))]
    last.close()


def test_what_is_written_while_it_is_read_was_not_there_before(tmp_path: Path) -> None:
    path = tmp_path / "kraken.jsonl"
    journal = Journal(path)
    journal.write(Entry(orders=(ORDER,)))
    journal.close()
    again = Journal(path)
    read = []
    for entry in again.entries():
        again.write(Entry(fills=(FILL,)))
        read.append(entry)
    assert read == [Entry(orders=(ORDER,))]
    again.close()


def test_a_journal_is_read_while_it_is_written_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kraken.jsonl"
    journal = Journal(path)
    request = OrderRequest("BTC/USD", "buy", Decimal("0.1"), Decimal("60000.1"), True, "mine")
    written = [Entry(orders=(ORDER,), fills=(FILL,)), Entry(rejected=(RejectedOrder(request, "client_id_used", 7),))]
    for entry in written:
        journal.write(entry)
    with path.open("ab") as file:
        file.write(b'{"orders":')
    before = path.read_bytes()
    assert read_journal(path) == written
    assert path.read_bytes() == before
    journal.close()


def test_a_full_disk_is_an_error_and_leaves_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "kraken.jsonl"
    journal = Journal(path)
    journal.write(Entry(orders=(ORDER,)))
    whole = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # the first half of the next line still fits
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) * 3 // 2, hard))
    try:
        with pytest.raises(OSError, match="large"):
            journal.write(Entry(orders=(ORDER,)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(path.read_bytes()) > len(whole)
    with pytest.raises(OSError, match="large"):
        journal.write(Entry(orders=(ORDER,)))
    journal.close()
    again = Journal(path)
    assert list(again.entries()) == [Entry(orders=(ORDER,))]
    assert path.read_bytes() == whole
    again.close()
