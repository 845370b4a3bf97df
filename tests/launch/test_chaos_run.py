"""Faults land where they are meant to and are taken back; a run's document and exit code say what was found."""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from exchanges.simulated_markets import paper_markets
from launch.chaos.audit.records import Violation
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.report import AuditReport, ChaosRun
from launch.chaos.run import (
    BOTS,
    EXIT_CODES,
    SETTINGS,
    ChaosOptions,
    chaos_configuration,
    chaos_home,
    empty_home,
    not_recovered,
    report,
)
from launch.chaos.schedule import InjectedFault, InjectedSetting, Injection, Kill, KillAtOrder, Pause, schedule_of
from launch.chaos.settings_tuner import SettingsTuner
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.errors import CannotStartError, LaunchError, NoResultError
from launch.sessions.paper import paper_settings
from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.supervisor import Supervisor
from runtime.clock import SystemClock, wall_now
from session.session import PageTerms, Services, Session, SimulatedTerms
from simulators.faults.fault_kinds import Fault
from simulators.server import ACCOUNTS
from store.mongo.store import open_store
from streams.broker.embedded_broker import free_ports
from tests.exchanges.served import Served, served
from tests.launch.audited_world import clean_world
from tests.launch.test_supervisor import eventually_restarted, process_of, sleeper

WAIT_SECONDS = 20.0
BASE = paper_settings(Configuration(settings=SETTINGS))


def session_of(home: Path, exchanges_url: str | None = None, mongodb: str = "mongodb://127.0.0.1:1") -> Session:
    (port,) = free_ports(1)
    return Session(
        session_id=uuid4().hex,
        mode="paper",
        home=home,
        services=Services(kafka="", mongodb=mongodb, database=f"chaos_{uuid4().hex[:8]}"),
        markets=paper_markets(),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=exchanges_url),
        page=PageTerms(port=port),
    )


@asynccontextmanager
async def running_targets(
    home: Path, mongodb: str = "mongodb://127.0.0.1:1"
) -> AsyncIterator[tuple[Supervisor, FaultInjector]]:
    """Run two sleeping processes, to inject faults into."""
    supervisor = Supervisor(home, [sleeper(home, "bot-kraken"), sleeper(home, "ui")], lambda _: None)
    await supervisor.start()
    try:
        await supervisor.all_ready(WAIT_SECONDS)
        session = session_of(home, mongodb=mongodb)
        yield supervisor, FaultInjector(session, supervisor, SettingsTuner(session, BASE), lambda _: None)
    finally:
        await supervisor.stop()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not done():
            await SystemClock().sleep(0.02)


async def test_a_kill_is_a_kill_and_the_part_comes_back(tmp_path: Path) -> None:
    async with running_targets(tmp_path) as (supervisor, injector):
        first = process_of(tmp_path, "bot-kraken")
        other = process_of(tmp_path, "ui")
        await injector.run([Kill(0.0, "bot-kraken")])
        assert await eventually_restarted(tmp_path, "bot-kraken", first) != first
        assert process_of(tmp_path, "ui") == other
        assert injector.injected == {"kill bot": 1}
        assert supervisor.restarts == {"bot-kraken": 1}


async def test_a_bot_is_killed_when_its_exchange_has_an_order(tmp_path: Path, mongodb_uri: str) -> None:
    async with running_targets(tmp_path, mongodb_uri) as (supervisor, injector):
        bot, other = process_of(tmp_path, "bot-kraken"), process_of(tmp_path, "ui")
        journal = tmp_path / ACCOUNTS / "kraken.jsonl"
        journal.parent.mkdir(exist_ok=True)
        journal.write_text("opening\n")
        async with await open_store(injector.session) as store:
            assert await store.leases.acquire("kraken", f"kraken@here:{bot}:abcdef") is not None
        injecting = asyncio.create_task(injector.run([KillAtOrder(0.0, "kraken"), KillAtOrder(0.0, "bitstamp")]))
        # it looks at the size from time to time, so an order that came before its first look does not count
        async with asyncio.timeout(WAIT_SECONDS):
            while not injecting.done() and supervisor.restarts == {}:
                with journal.open("a") as file:
                    file.write("order\n")
                await SystemClock().sleep(0.05)
        await injecting
        assert await eventually_restarted(tmp_path, "bot-kraken", bot) != bot
        assert process_of(tmp_path, "ui") == other
        assert +injector.injected == {"kill bot at order": 1}, "nobody acts for the other exchange"


async def test_a_fault_for_a_process_that_is_down_is_not_counted(tmp_path: Path) -> None:
    async with running_targets(tmp_path) as (_, injector):
        await injector.run([Kill(0.0, "cep"), Kill(0.0, "ui", "jvm"), Pause(0.0, "bot-bitstamp", 3.5)])
        assert +injector.injected == Counter()
        assert injector.stops_of_bots() == []


async def test_a_paused_part_stands_still_and_goes_on(tmp_path: Path) -> None:
    async with running_targets(tmp_path) as (_, injector):
        process = psutil.Process(process_of(tmp_path, "ui"))
        pausing = asyncio.create_task(injector.run([Pause(0.0, "ui", 0.5)]))
        await until(lambda: process.status() == psutil.STATUS_STOPPED)
        await pausing
        await until(lambda: process.status() != psutil.STATUS_STOPPED)
        assert injector.injected == {"pause ui": 1}


async def test_when_a_bot_stood_still_is_recorded_for_the_audit(tmp_path: Path) -> None:
    async with running_targets(tmp_path) as (_, injector):
        began = wall_now()
        await injector.run([Pause(0.0, "bot-kraken", 0.2), Pause(0.1, "ui", 0.1)])
        await injector.run([Pause(0.0, "bot-kraken", 0.1)])
        pausing = asyncio.create_task(injector.run([Pause(0.0, "bot-kraken", 600.0)]))
        await until(lambda: injector.injected["pause bot"] == 3)
        *over, last = injector.stops_of_bots()
        assert last.until is None, "it stands still"
        pausing.cancel()
        await asyncio.gather(pausing, return_exceptions=True)
        # clear would ask exchanges and store for more, which are not there
        with pytest.raises((LaunchError, FileNotFoundError)):
            await injector.clear()
        stops = injector.stops_of_bots()
        assert [stop.exchange for stop in stops] == ["kraken"] * 3
        assert stops[:2] == over
        moments = [at for stop in stops for at in (stop.since, stop.until or 0)]
        assert moments == sorted(moments), "the stop that clear ended has an end"
        assert moments[0] >= began
        assert moments[1] - moments[0] >= 200_000


@asynccontextmanager
async def faulty_exchanges(home: Path) -> AsyncIterator[tuple[Served, FaultInjector]]:
    async with served(home, only=("kraken",)) as world:
        session = session_of(home, world.url)
        yield (
            world,
            FaultInjector(session, Supervisor(home, [], lambda _: None), SettingsTuner(session, BASE), lambda _: None),
        )


async def test_exchanges_misbehave_when_reported_to(tmp_path: Path) -> None:
    async with faulty_exchanges(tmp_path) as (world, injector):
        await injector.run([InjectedFault(0.0, Fault("kraken", "rejected_order", count=2))])
        (active,) = world.faults.active()
        assert (active.fault.kind, active.left) == ("rejected_order", 2)
        assert await injector.observed_faults() == {}
        world.faults.of("kraken").inject("rejected_order")
        assert await injector.observed_faults() == {"rejected_order": 1}


async def test_exchanges_that_do_not_answer_give_no_result(tmp_path: Path) -> None:
    async with faulty_exchanges(tmp_path) as (_, injector):
        pass
    with pytest.raises(NoResultError, match=r"do not answer: .*; run it on") as silent:
        await injector.observed_faults()
    assert silent.value.exit_code == EXIT_CODES["no result"]


async def test_settings_are_changed_by_the_store_where_the_web_is_down_and_come_back(
    tmp_path: Path, mongodb_uri: str
) -> None:
    session = session_of(tmp_path, mongodb=mongodb_uri)
    tuner = SettingsTuner(session, BASE)
    async with await open_store(session) as store:
        await store.settings.create(BASE)
        await tuner.change({"trading_state": "halted", "max_notional": 60})
        changed = await store.settings.current()
        assert changed is not None
        assert changed == BASE.model_copy(update={"trading_state": "halted", "max_notional": Decimal(60), "version": 2})
        await tuner.restore(["trading_state"])
        await tuner.restore()
        assert await store.settings.current() == BASE.model_copy(update={"version": 4})
    assert tuner.by_rest == 0


async def test_in_the_end_everything_is_taken_back(tmp_path: Path, mongodb_uri: str) -> None:
    async with served(tmp_path, only=("kraken",)) as world:
        session = session_of(tmp_path, world.url, mongodb_uri)
        supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "ui")], lambda _: None)
        injector = FaultInjector(session, supervisor, SettingsTuner(session, BASE), lambda _: None)
        async with await open_store(session) as store:
            await store.settings.create(BASE)
            await supervisor.start()
            await supervisor.all_ready(WAIT_SECONDS)
            process = psutil.Process(process_of(tmp_path, "ui"))
            schedule: list[Injection] = [
                Pause(0.0, "ui", 600.0),
                InjectedFault(0.0, Fault("kraken", "maintenance", seconds=600.0)),
                InjectedSetting(0.0, (("trading_state", "halted"),), 600.0),
            ]
            injecting = asyncio.create_task(injector.run(schedule))
            async with asyncio.timeout(WAIT_SECONDS):
                while (current := await store.settings.current()) is None or current.trading_state != "halted":
                    await SystemClock().sleep(0.02)
            await until(lambda: process.status() == psutil.STATUS_STOPPED and bool(world.faults.active()))
            injecting.cancel()
            await asyncio.gather(injecting, return_exceptions=True)
            await injector.clear()
            await until(lambda: process.status() != psutil.STATUS_STOPPED)
            assert world.faults.active() == []
            assert await store.settings.current() == BASE.model_copy(update={"version": 3})
        await supervisor.stop()


async def test_a_part_that_does_not_come_back_is_a_violation(tmp_path: Path) -> None:
    async with running_targets(tmp_path) as (supervisor, _):
        assert await not_recovered(supervisor) == ()
        never = ProcessSpec("publisher", (sys.executable, "-c", "import time; time.sleep(1000)"))
        supervisor.add([never])
        (violation,) = await not_recovered(supervisor, 0.2)
        assert (violation.kind, "publisher" in violation.detail) == ("not_recovered", True)


def run_with(*violations: Violation, times: int = 5, order_faults: int = 3) -> ChaosRun:
    """Return a run with `times` the two orders of a clean world."""
    world = clean_world()
    schedule: tuple[Injection, ...] = schedule_of(4, 30, ("kraken",), ("bot-kraken",))
    snapshot = replace(world.snapshot, leases={"kraken": 3})
    faults = {"kill bot": 2, "lie": order_faults}
    finding = AuditReport(tuple(world.accounts.values()) * times, snapshot, violations, late_while_stopped=7)
    return ChaosRun(4, 30.0, schedule, faults, finding, {"bot-kraken": 2}, 1)


@pytest.mark.parametrize(
    ("violations", "code"), [((), 0), ((Violation("posted_twice", "buy leg on kraken: 2", "opportunity-1"),), 1)]
)
def test_the_exit_code_and_the_document_say_whether_anything_was_wrong(
    tmp_path: Path, violations: tuple[Violation, ...], code: int
) -> None:
    said: list[str] = []
    file = tmp_path / "out.json"
    run = run_with(*violations)
    assert report(run, ChaosOptions(30.0, 4, file), said.append) == code
    document = json.loads(file.read_text())
    assert (document["seed"], document["seconds"], document["faults"]) == (4, 30.0, {"kill bot": 2, "lie": 3})
    assert (document["orders"], document["fills"], document["arbitrages"]) == (10, 10, {"closed": 1})
    assert document["late_while_stopped"] == 7
    assert "7 orders came late from a bot that was stopped: no violations" in said
    assert document["takeovers"] == {"kraken": 2}, "its first bot took over from nobody"
    assert [row["kind"] for row in document["violations"]] == [violation.kind for violation in violations]
    assert len(document["schedule"]) == len(run.schedule)
    assert any("posted_twice" in line for line in said) == bool(violations)


@pytest.mark.parametrize(
    ("violations", "times", "order_faults", "result", "code"),
    [
        ((), 5, 3, "no violations", 0),
        ((), 4, 3, "no result", 3),
        ((), 0, 0, "no result", 3),
        ((), 5, 2, "no result", 3),
        # its findings stand, however little it did
        ((Violation("posted_twice", "buy leg on kraken: 2"),), 1, 0, "violations", 1),
    ],
)
def test_a_run_that_hardly_traded_is_no_result(
    tmp_path: Path, violations: tuple[Violation, ...], times: int, order_faults: int, result: str, code: int
) -> None:
    said: list[str] = []
    file = tmp_path / "out.json"
    run = run_with(*violations, times=times, order_faults=order_faults)
    assert report(run, ChaosOptions(30.0, 4, file), said.append) == code
    document = json.loads(file.read_text())
    assert (document["result"], document["order_faults"]) == (result, order_faults)
    assert any(line.startswith("NO RESULT") for line in said) == (result == "no result")
    assert any("no violations: ledger" in line for line in said) == (code == 0)


def test_its_folder_is_its_own_and_starts_empty(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "exchanges").mkdir()
    (tmp_path / "exchanges" / "kraken.jsonl").write_text("a user's")
    own = chaos_home(tmp_path)
    assert own.parent == tmp_path
    for name in ("lock", "run.json"):
        (own / name).touch()
    (own / "exchanges").mkdir()
    (own / "exchanges" / "kraken.jsonl").write_text("of the run before")
    empty_home(own)
    assert {path.name for path in own.iterdir()} == {"lock", "jars", "api_key"}
    assert (tmp_path / "exchanges" / "kraken.jsonl").read_text() == "a user's"
    assert (tmp_path / "jars").is_dir()


def test_without_a_place_for_the_document_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(["chaos", "--json", str(tmp_path / "no" / "out.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("names", "said"), [(["kraken"], "names only one exchange"), (["kraken", "nowhere"], "unknown exchange 'nowhere'")]
)
def test_exchanges_are_named_as_in_a_configuration(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: list[str],
    said: str,
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(["chaos", "--exchanges", *names]) == 2
    assert said in capsys.readouterr().err


def test_a_run_has_the_users_exchanges_and_its_own_settings() -> None:
    asked = {"assets": ["BTC", "ETH"], "exchange": {"kraken": {"adapter": "generic"}}, "settings": {"max_notional": 5}}
    config = chaos_configuration(Configuration.model_validate(asked))
    assert (config.assets, config.exchange["kraken"].adapter) == (("BTC", "ETH"), "generic")
    assert (config.bots_per_exchange, config.settings) == (BOTS, SETTINGS)


def test_beside_cycles_pairs_must_pay() -> None:
    asked = {"exchanges": ["kraken", "binance", "bitstamp"], "cycles": {"within": True}}
    config = chaos_configuration(Configuration.model_validate(asked))
    assert config.cycles is not None
    thresholds = dict.fromkeys(("kraken/binance", "kraken/bitstamp", "binance/bitstamp"), 12.0)
    assert config.settings == SETTINGS | {"min_net_bps": 2.0, "pair_thresholds": thresholds}
    assert paper_settings(config).pair_thresholds == thresholds


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"mongodb": "mongodb://127.0.0.1/?replicaSet=rs0"}, "a chaos run kills both, so it starts its own"),
        ({"kafka": "127.0.0.1:9092"}, "a chaos run kills both, so it starts its own"),
        ({"exchange": {"kraken": {"mode": "live"}}}, "is not paper trading"),
        ({"assets": ["XYZ"]}, "unknown asset 'XYZ'"),
    ],
)
def test_what_no_chaos_run_can_have(asked: dict[str, object], said: str) -> None:
    with pytest.raises(CannotStartError, match=re.escape(said)):
        chaos_configuration(Configuration.model_validate(asked))
