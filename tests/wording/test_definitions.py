"""Definitions stand where pages name what they define."""

from pathlib import Path

import pytest

from ui.page_parts.dom_tables import Cell, Figure, figures, numbers, table
from wording.definitions import DEFINITIONS
from wording.labels import PROFIT_PARTS

UI = Path(__file__).parents[2] / "ui"
ROOMS = ("assets", "panels", "page_parts")


@pytest.fixture(scope="module")
def pages() -> str:
    files = [path for room in ROOMS for path in (UI / room).iterdir() if path.suffix in {".py", ".js", ".html"}]
    return "\n".join([*(path.read_text().replace("&amp;", "&") for path in files), *PROFIT_PARTS.values()])


@pytest.mark.parametrize("name", DEFINITIONS)
def test_nothing_is_defined_that_no_page_names(pages: str, name: str) -> None:
    assert name in pages


def test_a_head_and_a_figure_say_what_they_mean() -> None:
    assert '<th scope="col" class="number" title="The largest fall' in table("", numbers("Max drawdown"), [["1"]], "")
    assert 'title="' not in table("", numbers("Part"), [["1"]], "")
    assert '<dt title="All that was won by all' in figures([Figure("Profit factor", Cell("2"))])
