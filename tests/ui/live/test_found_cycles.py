"""Cycles that detection has found: read beside the loop, and not again within a second."""

import threading
from dataclasses import replace
from pathlib import Path

from market.instruments.cycles import CycleTerms
from market.prices.cycle_opportunities import CycleOpportunity
from session.session import Session
from streams.latest_rows import LatestRows
from streams.records import Record
from streams.topics import CYCLE_OPPORTUNITIES
from tests.ui.api.test_cycle_routes import message
from tests.ui.samples import session_of
from ui.stream.found_cycles import FoundCycles

NOW = 1_764_500_000_000_000


class OneRow(LatestRows):
    """A topic of one message, without Kafka."""

    async def open(self) -> None:
        """Connect to nothing."""

    async def newest(self, rows: int) -> list[Record]:
        return [Record(CYCLE_OPPORTUNITIES, 0, 0, None, message("one", 4.0), NOW)]


class WatchedCycles(FoundCycles):
    """Notes the threads in which messages are read."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._rows = OneRow("nowhere")
        self.threads: list[int] = []

    def _distinct(self, records: list[Record]) -> tuple[CycleOpportunity, ...]:
        self.threads.append(threading.get_ident())
        return super()._distinct(records)


async def test_messages_are_read_in_another_thread(tmp_path: Path) -> None:
    terms = CycleTerms(3, frozenset({"alpha"}), frozenset())
    cycles = WatchedCycles(replace(session_of(tmp_path), cycles=terms, started_at=0))
    found = [await cycles.newest() for _ in range(2)]
    assert [[one.opportunity_id for one in some] for some in found] == [["one"], ["one"]]
    assert len(cycles.threads) == 1
    assert cycles.threads != [threading.get_ident()]
    await cycles.close()
