"""The kill switch on the whole system: the last order within a second, nothing left unwatched, and it outlives all. And
an app that may takes one exchange off.
"""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from launch.chaos.audit.books import account_of, evidence_of, violations_of
from launch.chaos.audit.records import AuditedAccount
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from simulators.matching.exchange_journal import read_journal
from simulators.server import ACCOUNTS
from store.queries.store_snapshot import StoreSnapshot, read_snapshot
from tests.whole.running import Running, new_home, ours_running, run_command, running_paper

pytestmark = pytest.mark.whole

log = logging.getLogger(__name__)

BUSY: dict[str, object] = {
    "min_net_bps": 1.0,
    "cool_down_ms": 0,
    "max_open_arbitrages": 30,
    "max_notional": "300",
    "max_exposure": "1000000",
    "breaker_failures": 0,
}
BUSY_BOTS = 3
BUSY_SECONDS = 3
"""A bot is busy that sent an order within so many seconds."""
STILL_SECONDS = 5
HALTING = """@App:name('halting')
from quotes[exchange == 'bitstamp'] select exchange output first every 1 sec insert into Halts;
"""
ALLOWED = 1 * MICROSECONDS
"""From the switch to the last order."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_home(tmp_path_factory.mktemp("kill_switch"))


@pytest.fixture(scope="module")
def paper(home: Path) -> Iterator[Running]:
    configuration = home / "arbitrage.toml"
    configuration.write_text('[apps]\nmay_halt = ["halting"]\n')
    with running_paper(home, "--config", str(configuration)) as running:
        running.wait_for("trading on paper", 240)
        yield running


def accounts_of(home: Path, names: tuple[str, ...]) -> list[AuditedAccount]:
    """Return the exchanges' own records."""
    return [account_of(name, read_journal(home / ACCOUNTS / f"{name}.jsonl")) for name in names]


def sent_at(home: Path, names: tuple[str, ...]) -> dict[str, list[int]]:
    """Exchange → when it took each order, microseconds."""
    return {one.exchange: [order.placed_at for order in one.orders] for one in accounts_of(home, names)}


def last_sent(home: Path, names: tuple[str, ...]) -> int:
    return max(moment for moments in sent_at(home, names).values() for moment in moments)


def busy_bots(paper: Running) -> int:
    since = wall_now() - BUSY_SECONDS * MICROSECONDS
    return sum(any(moment > since for moment in moments) for moments in sent_at(paper.home, traded(paper)).values())


def traded(paper: Running) -> tuple[str, ...]:
    return tuple(dict.fromkeys(market.exchange for market in paper.session.traded))


def snapshot_of(paper: Running) -> StoreSnapshot:
    return asyncio.run(read_snapshot(paper.session))


def test_the_last_order_comes_within_a_second_and_none_is_left_unwatched(paper: Running) -> None:
    paper.patch_settings(BUSY)
    paper.until(lambda: busy_bots(paper) >= BUSY_BOTS, 120, "three bots were not busy together")
    asked = wall_now()
    assert paper.patch_settings({"trading_state": "halted"})["trading_state"] == "halted"
    answered = wall_now()
    paper.pause(STILL_SECONDS)
    late = last_sent(paper.home, traded(paper)) - answered
    log.info("last order %.0f ms after the answer, which took %.0f ms", late / 1_000, (answered - asked) / 1_000)
    assert late <= ALLOWED
    paper.until(lambda: not open_arbitrages(paper), 60, "open arbitrages were not watched to their end")
    evidence = evidence_of(accounts_of(paper.home, traded(paper)), snapshot_of(paper), paper.session.markets)
    violations = violations_of(evidence)
    # the session is not over, so no exchange was asked for its closing balances
    assert [one for one in violations if one.kind != "balance_missing"] == []


def test_an_app_that_may_takes_one_exchange_off(paper: Running, home: Path, tmp_path: Path) -> None:
    app, out = tmp_path / "halting.app", tmp_path / "halts.jsonl"
    app.write_text(HALTING)
    before = paper.get("/settings")
    done = run_command(home, "app", "run", str(app), "--json", str(out), "--seconds", "4", seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    paper.until(lambda: paper.get("/settings") != before, 30, "bitstamp was not taken off")
    after = paper.get("/settings")
    others = [name for name in before["enabled_exchanges"] if name != "bitstamp"]
    assert after == before | {"version": after["version"], "enabled_exchanges": others}
    given = {f"halt {json.loads(line)['id']}" for line in out.read_text().splitlines()}
    entries = audited_halts(paper)
    assert {row["entry_id"] for row in entries} & given
    assert {(row["who"], row["target"], row["outcome"]) for row in entries} == {("app halting", "bitstamp", "done")}


def audited_halts(paper: Running) -> list[dict[str, object]]:
    address = f"{paper.url}/api/audit?action=exchange.halt"
    answer = httpx.get(address, headers={"X-API-Key": paper.key}, timeout=10).raise_for_status()
    items: list[dict[str, object]] = answer.json()["items"]
    return items


def open_arbitrages(paper: Running) -> int:
    counts: dict[str, int] = paper.get("/pnl")["arbitrages"]
    return sum(counts.get(state, 0) for state in ("reserved", "single_leg"))


def test_after_a_kill_and_a_start_of_everything_it_is_still_halted(paper: Running, home: Path) -> None:
    names, before = traded(paper), last_sent(home, traded(paper))
    everything = psutil.Process(paper.process.pid).children(recursive=True)
    paper.process.kill()
    paper.process.wait()
    psutil.wait_procs(everything, timeout=15)
    assert ours_running(home) == []
    with running_paper(home) as again:
        again.wait_for("trading on paper", 240)
        assert again.get("/risk")["trading_state"] == "halted"
        again.until(lambda: rejected(again, "halted") > 0, 60, "nothing was rejected as halted")
        again.pause(STILL_SECONDS)
        assert last_sent(home, names) == before
        again.switch("running")
        again.until(lambda: last_sent(home, names) > before, 60, "trading did not go on")
        again.switch("reduce_only")
        again.until(lambda: rejected(again, "reduce_only") > 0, 60, "nothing was rejected as reduce_only")
        again.until(lambda: not open_arbitrages(again), 60, "what was open did not come to its end")
        assert again.stop() == 0, again.said


def rejected(paper: Running, reason: str) -> int:
    return sum(row["count"] for row in paper.get("/rejections") if row["reason"] == reason)
