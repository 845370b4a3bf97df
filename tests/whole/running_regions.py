"""A session with regions, started as a user would, and what its store and the exchanges' journals say of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from benchmarks.fail_over import decider_now
from launch.chaos.audit.books import account_of, evidence_of, violations_of
from launch.chaos.audit.records import Violation
from launch.chaos.audit.states import step_violations
from launch.errors import CannotStartError
from launch.regions.network.namespaces import regions_fault
from launch.regions.sessions import region_home
from launch.setup.jars import mirror_classpath
from market.trade.arbitrages import Arbitrage
from simulators.matching.exchange_journal import read_journal
from simulators.server import ACCOUNTS
from store.errors import StoreUnavailableError
from store.mongo.store import open_store
from store.queries.store_snapshot import read_snapshot
from tests.whole.running import Running, new_home, run_command, running_paper

START_SECONDS = 600
"""Three Sparks start on two cores."""
OPEN = ("reserved", "single_leg")


@dataclass(slots=True)
class RunningRegions(Running):
    """The session of all regions, each with its data folder; everything else is the first region's."""

    def region(self, *words: str) -> None:
        """`arbitrage region`."""
        done = run_command(self.home, "region", *words)
        assert done.returncode == 0, done.stderr

    def home_of(self, region: str) -> Path:
        return region_home(self.home, region)

    def open_arbitrages(self) -> list[Arbitrage]:
        return [one for one in self.arbitrages() if one.state in OPEN]

    def switch_regional(self, state: str) -> None:
        """Set the kill switch on the first region's page, which asks for a key: its address is not loopback."""
        session = self.session
        httpx.put(
            f"http://{session.page.host}:{session.page.port}/api/trading-state",
            json={"state": state},
            headers={"X-API-Key": self.key},
            timeout=30,
        ).raise_for_status()

    def leader(self) -> str | None:
        """MongoDB's primary's region; None if nobody is it."""
        return asyncio.run(self._leader())

    def decider(self) -> str | None:
        """Return the exchange whose bot decides now; None if nobody does."""
        return asyncio.run(self._decider())

    def make_leader(self, region: str) -> None:
        """Cuts another one off that is it, and heals all links."""
        while (leader := self.leader()) != region:
            if leader is not None:
                self.region("cut", leader)
            self.until(lambda: self.leader() not in (None, leader), 60, "no other region became the leader")
            self.region("heal")

    def arbitrages(self) -> list[Arbitrage]:
        return asyncio.run(self._arbitrages())

    def closed_at(self, exchange: str, since: int) -> int:
        """How many arbitrages with a leg there were granted after `since` and closed."""
        return sum(
            one.state == "closed"
            and any(leg.exchange == exchange and granted_after(leg.times, since) for leg in one.legs)
            for one in self.arbitrages()
        )

    def orders_at(self, exchange: str) -> list[int]:
        """When the exchange took each order, microseconds."""
        account = account_of(exchange, read_journal(self.home / ACCOUNTS / f"{exchange}.jsonl"))
        return [order.placed_at for order in account.orders]

    def closed_since(self, since: int) -> int:
        """How many arbitrages of any exchanges were granted after `since` and closed."""
        return sum(
            one.state == "closed" and all(granted_after(leg.times, since) for leg in one.legs)
            for one in self.arbitrages()
        )

    def takeovers_ignored(self) -> list[Violation]:
        """Return steps of processes that had lost the right to them by then. Works while it trades, too."""
        session = self.session
        return list(step_violations(evidence_of((), asyncio.run(read_snapshot(session)), session.markets)))

    def violations(self) -> list[Violation]:
        """At rest."""
        session = self.session
        names = {market.exchange for market in session.traded}
        accounts = [account_of(name, read_journal(self.home / ACCOUNTS / f"{name}.jsonl")) for name in sorted(names)]
        return violations_of(evidence_of(accounts, asyncio.run(read_snapshot(session)), session.markets))

    async def _leader(self) -> str | None:
        try:
            async with await open_store(self.session) as store:
                return None if store.place is None else store.place.primary.region
        except StoreUnavailableError:
            return None

    async def _decider(self) -> str | None:
        try:
            async with await open_store(self.session) as store:
                return await decider_now(store)
        except StoreUnavailableError:
            return None

    async def _arbitrages(self) -> list[Arbitrage]:
        async with await open_store(self.session) as store:
            return await store.session_arbitrages()


def granted_after(times: dict[str, int], since: int) -> bool:
    return times.get("granted", 0) > since


def skip_without_regions(home: Path) -> None:
    fault = regions_fault()
    if fault is not None:
        pytest.skip(f"regions cannot run here: {fault}")
    try:
        mirror_classpath(home)
    except CannotStartError as error:
        pytest.skip(str(error))


@contextmanager
def running_regions(
    folder: Path, exchanges: tuple[str, ...], *words: str, market: str = "storm"
) -> Iterator[RunningRegions]:
    """`arbitrage paper --regions us,eu,jp --wan` with these exchanges, trading. More arbitrages may be open than the
    legs that a cut region holds up, so that the others have something left to open."""
    home = new_home(folder)
    skip_without_regions(home)
    configuration = home / "arbitrage.toml"
    configuration.write_text(f"exchanges = {list(exchanges)}\n[settings]\nmax_open_arbitrages = 12\n")
    regions = ("--regions", "us,eu,jp", "--wan", "--config", str(configuration))
    with running_paper(home, *regions, *words, market=market) as paper:
        running = RunningRegions(paper.home, paper.port, paper.process)
        running.wait_for("trading on paper", START_SECONDS)
        yield running
