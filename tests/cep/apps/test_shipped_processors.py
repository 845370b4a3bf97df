"""The processors in `apps/processors/`: their cases, and a push queue to fifty destinations, of which five are dead and
five slow."""

import heapq
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import app_source
from cep.apps.stream_app import OutputRow, StreamApp
from launch.commands.main import run

FOLDER = Path(__file__).parents[3] / "apps" / "processors"
APPS = sorted(FOLDER.glob("*.app"))
TERMS = OperatorTerms(functions=FOLDER)
DESTINATIONS, ROWS, EVERY_MS = 50, 40, 100
DEAD = [f"dead-{n}" for n in range(5)]
SLOW = [f"slow-{n}" for n in range(5)]
WELL = [f"well-{n}" for n in range(DESTINATIONS - len(DEAD) - len(SLOW))]
BACK_AT = 60_000
"""When the dead ones answer."""


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_its_cases_are_as_expected(app: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "arbitrage.toml"
    config.write_text(f"[apps]\nfunctions = '{FOLDER}'\n")
    assert run(["app", "test", str(app), str(app.with_suffix(".jsonl")), "--config", str(config)]) == 0
    assert "3 of 3 cases as expected" in capsys.readouterr().out


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_it_can_be_hosted_and_is_named_as_its_file(app: Path) -> None:
    source = app_source(app.read_text(), "file", (), TERMS)
    assert source.name == app.stem
    assert [name for name, _ in source.files] == ["push.py" if app.stem == "push-queue" else "customers.py"]


@dataclass(slots=True)
class World:
    """Fifty destinations. `taken`: times and rows that each has, in their order; `calls`: times of the batches that
    were sent to each."""

    app: StreamApp = field(
        default_factory=lambda: StreamApp((FOLDER / "push-queue.app").read_text(), terms=TERMS, begins_at=0)
    )
    taken: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    calls: dict[str, list[int]] = field(default_factory=dict)
    given: list[OutputRow] = field(default_factory=list)
    _events: list[tuple[int, int, str, list[object]]] = field(default_factory=list)
    _number: int = 0

    def at(self, time: int, stream: str, *values: object) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, stream, list(values)))

    def run(self, until: int) -> None:
        """Let all happen that is due, in the order of time."""
        while True:
            alarm, row = self.app.due, self._events[0][0] if self._events else None
            times = [one for one in (alarm, row) if one is not None and one <= until]
            if not times:
                return
            if row == min(times):
                at, _, stream, values = heapq.heappop(self._events)
                self._called(self.app.send(stream, values, at))
            else:
                self._called(self.app.advance(min(times)))

    def _called(self, rows: list[OutputRow]) -> None:
        self.given += rows
        for row in rows:
            assert row.stream == "call"
            to, batch = row.values["destination"], row.values["batch"]
            self.calls.setdefault(to, []).append(row.time)
            if to in DEAD and row.time < BACK_AT:
                continue
            answered = row.time + (4_000 if to in SLOW else 20)
            self.taken.setdefault(to, []).extend((answered, one) for one in row.values["body"].split("\n"))
            self.at(answered, "answer", to, batch, 200)


def pushed() -> World:
    world = World()
    for number in range(ROWS):
        for to in (*DEAD, *SLOW, *WELL):
            world.at(number * EVERY_MS, "push", to, str(number))
    return world


def test_dead_and_slow_destinations_hold_up_no_other() -> None:
    world = pushed()
    world.run(until=BACK_AT)
    for to in WELL:
        assert [int(row) for _, row in world.taken[to]] == list(range(ROWS))
        # a row waits a second for others, and for the answer to those before it
        assert max(at - int(row) * EVERY_MS for at, row in world.taken[to]) <= 1_000 + 2 * 20
    for to in SLOW:
        assert [int(row) for _, row in world.taken[to]] == list(range(ROWS))
        assert max(at - int(row) * EVERY_MS for at, row in world.taken[to]) <= 3 * 5_000
    assert not world.taken.keys() & set(DEAD)
    for to in DEAD:
        # each attempt waits ten seconds for an answer, and then longer and longer
        pauses = [after - before for before, after in zip(world.calls[to], world.calls[to][1:], strict=False)]
        assert len(pauses) >= 2
        assert pauses == sorted(pauses)
        assert len(world.calls[to]) <= 5
    # they failed at one time, and do not come back at one
    assert len({world.calls[to][2] for to in DEAD}) == len(DEAD)


def test_dead_destinations_that_come_back_get_all_in_order_and_nobody_is_kept_then() -> None:
    world = pushed()
    world.run(until=BACK_AT * 10)
    for to in DEAD:
        assert [int(row) for _, row in world.taken[to]] == list(range(ROWS))
    assert sum(map(len, world.taken.values())) == DESTINATIONS * ROWS
    assert world.app.due is None


def test_the_same_rows_give_the_same_calls_also_through_a_snapshot() -> None:
    first, second = pushed(), pushed()
    first.run(until=BACK_AT * 2)
    for until in range(0, BACK_AT * 2 + 1, 1_500):
        second.run(until)
        text = (FOLDER / "push-queue.app").read_text()
        second.app = StreamApp(text, terms=TERMS, snapshot=second.app.snapshot())
    assert second.given == first.given
