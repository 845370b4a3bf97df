"""The states of the parts: how each follows from what happens, and what it takes to stop one."""

import pytest

from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.process_states import ProcessStates
from store.records.processes import MAX_STARTS, ProcessKind, ProcessOrder, ProcessState, kind_of

BOT = ProcessSpec("bot-alpha", ("true",), exchange="alpha")
SECOND = ProcessSpec("bot-alpha-2", ("true",), exchange="alpha")
CEP = ProcessSpec("cep", ("true",))
STOPPED = ProcessOrder("stopped", "erika", 5)


def roll_of(*parts: ProcessSpec, is_ordered: bool = True) -> ProcessStates:
    roll = ProcessStates(is_ordered=is_ordered)
    for part in parts:
        roll.add(part)
    return roll


def state_of(roll: ProcessStates, name: str = "bot-alpha") -> tuple[ProcessState, int | None]:
    (reported,) = roll.reports([name])
    return reported.state, reported.pid


def test_the_life_of_a_part() -> None:
    roll = roll_of(BOT)
    assert state_of(roll) == ("starting", None)
    roll.set_starting("bot-alpha")
    roll.set_running("bot-alpha", 7)
    assert state_of(roll) == ("starting", 7)
    roll.set_ready("bot-alpha")
    assert state_of(roll) == ("ready", 7)
    roll.set_ended("bot-alpha", "exit code 1")
    assert state_of(roll) == ("restarting", None)
    roll.set_running("bot-alpha", 8)
    roll.set_ready("bot-alpha")
    roll.set_stopping("bot-alpha")
    assert state_of(roll) == ("stopping", 8)
    roll.set_stopped("bot-alpha", "stopped by erika")
    assert state_of(roll) == ("stopped", None)
    (reported,) = roll.reports(["bot-alpha"])
    assert (reported.restarts, reported.last_end) == (1, "stopped by erika")


def test_only_what_never_gets_ready_has_failed() -> None:
    roll = roll_of(BOT)
    states = []
    for _ in range(MAX_STARTS + 1):
        roll.set_running("bot-alpha", 7)
        roll.set_ended("bot-alpha", "exit code 2")
        states.append(state_of(roll)[0])
    assert states == ["restarting"] * (MAX_STARTS - 1) + ["failed"] * 2
    roll.set_running("bot-alpha", 8)
    roll.set_ready("bot-alpha")
    roll.set_ended("bot-alpha", "exit code 2")
    assert state_of(roll)[0] == "restarting"


def test_what_may_be_stopped_waits_until_it_is_known_whether_it_is_wanted() -> None:
    roll = roll_of(BOT, CEP)
    assert (roll.is_wanted("bot-alpha"), roll.is_wanted("cep")) == (False, True)
    assert roll.stop_order("bot-alpha") is None
    roll.apply_orders({})
    assert roll.is_wanted("bot-alpha")
    roll.apply_orders({"bot-alpha": STOPPED, "cep": STOPPED})
    assert roll.stop_order("bot-alpha") == STOPPED
    assert (roll.is_wanted("bot-alpha"), roll.is_wanted("cep")) == (False, True)


def test_where_nobody_can_want_anything_all_are_to_run() -> None:
    roll = roll_of(BOT, is_ordered=False)
    assert roll.is_wanted("bot-alpha")
    roll.apply_orders({"bot-alpha": STOPPED})
    assert roll.is_wanted("bot-alpha")


def test_an_exchange_is_idle_once_all_its_bots_are_stopped() -> None:
    roll = roll_of(BOT, SECOND, CEP)
    roll.apply_orders({"bot-alpha": STOPPED})
    assert roll.idle_exchanges() == frozenset()
    roll.apply_orders({"bot-alpha": STOPPED, "bot-alpha-2": STOPPED})
    assert roll.idle_exchanges() == {"alpha"}


def test_only_changes_are_news() -> None:
    roll = roll_of(BOT)
    roll.set_running("bot-alpha", 7)
    first = roll.versions()
    roll.set_running("bot-alpha", 7)
    assert roll.versions() == first
    roll.set_ready("bot-alpha")
    assert roll.versions() != first


def test_a_new_process_in_the_same_state_is_no_new_beginning() -> None:
    roll = roll_of(BOT)
    roll.set_starting("bot-alpha")
    (before,) = roll.reports(["bot-alpha"])
    roll.set_running("bot-alpha", 7)
    (after,) = roll.reports(["bot-alpha"])
    assert after.age >= before.age


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bot-kraken-2", "bot"), ("feed-fx", "feed"), ("cep", "cep"), ("mongodb", "mongodb"), ("whatever", "other")],
)
def test_the_kind_of_a_part(name: str, kind: ProcessKind) -> None:
    assert kind_of(name) == kind
