"""The kill switch: what each state permits, and that nothing else compares the states."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from market.decide.kill_switch import HALTED, TradingState, permits_new, permits_orders, reduced

ROOT = Path(__file__).parents[2]
ROOMS = ("market", "session", "streams", "store", "exchanges", "bots", "backtest", "notices", "ui", "launch")


@pytest.mark.parametrize(
    ("state", "begins", "sends", "without_new"),
    [
        ("running", True, True, "reduce_only"),
        ("reduce_only", False, True, "reduce_only"),
        ("halted", False, False, "halted"),
    ],
)
def test_what_a_state_permits(state: TradingState, begins: bool, sends: bool, without_new: TradingState) -> None:
    assert (permits_new(state), permits_orders(state), reduced(state)) == (begins, sends, without_new)


def test_the_first_state_of_real_trading_is_one_of_them() -> None:
    assert HALTED in get_args(TradingState)


def test_no_other_module_decides_by_comparing_the_trading_state() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if path.name != "kill_switch.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and _compares_a_state(node)
    ]
    assert not found, f"ask market/decide/kill_switch.py instead: {found}"


def _compares_a_state(node: ast.Compare) -> bool:
    """Whether it compares a `trading_state` with a constant, or anything with the word of the halt."""
    sides = [node.left, *node.comparators]
    constants = [side.value for side in sides if isinstance(side, ast.Constant)]
    is_state = any(isinstance(side, ast.Attribute) and side.attr == "trading_state" for side in sides)
    return HALTED in constants or (is_state and bool(constants))
