"""The journal of a simulated exchange: an append-only file that survives kill -9."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Protocol

import orjson
from pydantic import TypeAdapter

from market.money import BoundedDecimal
from runtime.clock import wall_now
from simulators.matching.order_records import PreventedTrade, RejectedOrder, SimulatedFill, SimulatedOrder
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal


@dataclass(frozen=True, slots=True)
class Entry:
    """One line, all of it or none: orders as they stand after a step, and the fills of that step; or an order that was
    rejected, which changes nothing; or a withdrawal as it stands, or a deposit."""

    orders: tuple[SimulatedOrder, ...] = ()
    fills: tuple[SimulatedFill, ...] = ()
    opening: dict[str, BoundedDecimal] = field(default_factory=dict)
    rejected: tuple[RejectedOrder, ...] = ()
    prevented: tuple[PreventedTrade, ...] = ()
    withdrawals: tuple[SimulatedWithdrawal, ...] = ()
    deposits: tuple[SimulatedDeposit, ...] = ()
    at: int = field(default=0, compare=False)
    """When it was written, microseconds, by the machine's clock and not the exchange's. 0: not recorded."""


_ENTRY = TypeAdapter(Entry)


class EntryLog(Protocol):
    """The port of an exchange's journal; an adapter may discard entries."""

    def entries(self) -> Iterable[Entry]: ...

    def write(self, entry: Entry) -> None: ...


class Journal:
    """One exchange's entries; each is in the operating system's hands before `write` returns.

    After a write that failed it takes no more: the torn line must stay the last, and its end is cut off at the
    start.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._length = _whole_length(path)
        """In bytes, of what was written before this process started."""
        self._failure: OSError | None = None
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def entries(self) -> Iterator[Entry]:
        """Return one by one what was written before this process started, oldest first."""
        if not self._length:
            return
        with self._path.open("rb") as file:
            # the last line ended there, whatever has been written since
            while file.tell() < self._length:
                yield _ENTRY.validate_json(file.readline())

    def mentioned(self, symbols: Iterable[str]) -> frozenset[str]:
        """Return those of the symbols that are in what was written before this process started."""
        if not self._length:
            return frozenset()
        with self._path.open("rb") as file, mmap(file.fileno(), self._length, access=ACCESS_READ) as text:
            return frozenset(symbol for symbol in symbols if text.find(f'"{symbol}"'.encode()) >= 0)

    def write(self, entry: Entry) -> None:
        """Write all of it. Raises OSError, now and at each later call, if it does not fit on the disk."""
        self.check()
        rest = memoryview(_ENTRY.dump_json(replace(entry, at=wall_now())) + b"\n")
        try:
            while rest:
                # on a disk that is filling up, less may be written than was asked for
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._failure = error
            raise

    def check(self) -> None:
        """Raise the OSError with which a write has failed."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        os.close(self._file)


def read_journal(path: Path) -> list[Entry]:
    """Return an exchange's entries so far, oldest first; the exchange may be running. Raises OSError."""
    with path.open("rb") as file:
        return [_ENTRY.validate_json(line) for line in takewhile(_is_whole, file)]


def _whole_length(path: Path) -> int:
    """Return the bytes up to the first torn line, which was never acknowledged and is cut off."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        good = sum(len(line) for line in takewhile(_is_whole, file))
    if good < path.stat().st_size:
        os.truncate(path, good)
    return good


def _is_whole(line: bytes) -> bool:
    if not line.endswith(b"\n"):
        return False
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
