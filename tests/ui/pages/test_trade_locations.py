"""The column of trades that says in which regions the bots are that trade."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.ui.regional_dashboard import regional_session
from tests.ui.samples import session_of
from ui.page_parts.dom_tables import Line, words
from ui.panels.trades_list import LOCATION, with_locations

HEADS = words("Id")
LINE: Line = ["one"]


@pytest.mark.parametrize(
    ("exchanges", "place"),
    [
        (("alpha", "beta"), "us → eu"),
        (("gamma", "alpha"), "jp → us"),
        # both legs in one region, a moving average's order, and a fill
        (("alpha", "delta"), "us"),
        (("beta", "beta"), "eu"),
        (("gamma",), "jp"),
        # of an earlier session with other exchanges
        (("alpha", "other"), "us → –"),
    ],
)
def test_a_trade_is_where_the_bots_of_its_exchanges_are(tmp_path: Path, exchanges: tuple[str, ...], place: str) -> None:
    session = regional_session(tmp_path)
    another = replace(session.markets[0], exchange="delta")
    regional = replace(session, markets=(*session.markets, another))
    assert with_locations(regional, HEADS, [LINE], [exchanges]) == ((*HEADS, LOCATION), [["one", place]])


def test_without_regions_there_is_no_such_column(tmp_path: Path) -> None:
    assert with_locations(session_of(tmp_path), HEADS, [LINE], [("alpha", "beta")]) == (HEADS, [LINE])
