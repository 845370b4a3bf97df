"""The memory of a local paper account: one file, one line per order, whole before the order is acknowledged."""

import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from market.orders import OrderReport


class PaperJournalError(Exception):
    """The journal cannot be read; the account cannot be trusted."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """The opening balances (first line), or one order with all its fills."""

    balances: dict[str, Decimal] | None = None
    client_order_id: str | None = None
    report: OrderReport | None = None


_ROW = TypeAdapter(JournalRow)


class PaperJournal:
    """Append-only. A line reaches the kernel before `append` returns, so a killed process loses none of it; a power cut
    may. A last line without its end was never acknowledged and is cut off."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[JournalRow]:
        """Raises PaperJournalError where a whole line is not a row."""
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))
        try:
            return [_ROW.validate_json(line) for line in whole.splitlines()]
        except ValidationError as error:
            raise PaperJournalError(f"{self._path} is no journal of a paper account") from error

    def append(self, row: JournalRow) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            file.write(_ROW.dump_json(row) + b"\n")
