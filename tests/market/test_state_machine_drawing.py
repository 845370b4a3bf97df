"""docs/state-machine.md draws the tables that both stores go by, and explains each reason that is resumed."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from market.trade.leg_lifecycle import RESUMED
from market.trade.lifecycle import NEXT_LEG_STATES, NEXT_STATES, Stage
from market.trade.unwinding import UNCONFIRMED

PAGE = (Path(__file__).parents[2] / "docs" / "state-machine.md").read_text()
DRAWINGS = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
STEP = re.compile(r"^\s+(\S+) --> (\w+)", re.MULTILINE)


def steps_of(table: Iterable[tuple[str | None, Iterable[str]]]) -> list[tuple[str, str]]:
    return sorted((state or "[*]", following) for state, all_following in table for following in all_following)


def drawn(number: int) -> list[tuple[str, str]]:
    return sorted((state, following) for state, following in STEP.findall(DRAWINGS[number]))


def test_the_arbitrage_is_drawn_as_it_is_checked() -> None:
    assert drawn(0) == steps_of(NEXT_STATES.items())


def test_a_leg_is_drawn_as_it_is_checked() -> None:
    assert drawn(2) == steps_of(NEXT_LEG_STATES.items())


def test_every_stage_is_drawn() -> None:
    assert [stage for stage in get_args(Stage) if not re.search(rf"\b{stage}\b", DRAWINGS[0] + DRAWINGS[1])] == []


def test_every_reason_that_is_resumed_is_explained() -> None:
    assert [reason for reason in (*RESUMED, UNCONFIRMED) if f"| `{reason}` |" not in PAGE] == []
