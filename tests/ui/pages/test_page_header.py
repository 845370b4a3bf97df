"""The head of every page as a script (no browser), and the times that follow its choice."""

import json
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from streamlit.testing.v1 import AppTest

from session.session import Mode, Placement
from tests.ui.samples import session_of
from ui.page_parts.page_frame import MODE_TITLES, tab_title
from ui.page_parts.page_times import moment

HEAD = "from ui.pages.header import render_header; render_header()"
WINTER = 1_700_000_000_000_000


def reported(app: AppTest) -> dict[str, Any]:
    """Return what Python gives to the part that draws the head."""
    data: dict[str, Any] = json.loads(app.get("bidi_component")[0].proto.json)
    return data


@pytest.mark.usefixtures("dashboard")
def test_it_says_the_mode_of_the_session_and_begins_in_utc() -> None:
    app = AppTest.from_string(HEAD, default_timeout=30).run()
    assert not app.exception
    assert reported(app) == {"mode": "paper", "is_local": False}


def test_without_a_server_it_never_says_paper() -> None:
    app = AppTest.from_string(HEAD, default_timeout=30).run()
    assert not app.exception
    assert reported(app)["mode"] not in get_args(Mode)


def test_every_mode_has_its_words_in_the_title_of_the_tab_and_only_live_shouts() -> None:
    assert set(MODE_TITLES) == set(get_args(Mode))
    assert [mode for mode, title in MODE_TITLES.items() if title.isupper()] == ["live"]


def test_the_title_of_the_tab_says_the_region_where_there_is_one(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    assert tab_title(None) == "Not connected · cross-exchange arbitrage"
    assert tab_title(session) == "Paper trading · cross-exchange arbitrage"
    regional = replace(session, place=Placement("eu", ("us", "eu")))
    assert tab_title(regional) == "eu · Paper trading · cross-exchange arbitrage"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        (UTC, "2023-11-14 22:13:20 UTC"),
        (ZoneInfo("Asia/Tokyo"), "2023-11-15 07:13:20 JST"),
        (ZoneInfo("America/New_York"), "2023-11-14 17:13:20 EST"),
    ],
)
def test_a_moment_is_shown_in_the_chosen_zone_with_its_name(zone: Any, shown: str) -> None:
    assert moment(WINTER, zone) == shown
