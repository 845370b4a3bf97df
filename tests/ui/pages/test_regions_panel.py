"""The regions on a page as a script (no browser), with the real carrier's commands."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from session.session import Session
from tests.ui.loop_thread import loop_in_a_thread
from tests.ui.pages.tabs import sign_in
from tests.ui.regional_dashboard import AuditingReader, carrier, dashboard_at, regional_session, seen
from tests.ui.samples import session_of
from ui.auth.api_keys import ensure_api_key
from ui.services.dashboard import Dashboard, announce, withdraw

SECONDS = 30
LINE = "from ui.panels.regions import render_region_line; render_region_line()"
PANEL = (
    "from ui.panels.regions import render_regions; from ui.services.dashboard import running; render_regions(running())"
)
SKEWS = [f"{name} {skew}" for name in ("us", "eu", "jp") for skew in ("+2s", "-2s")]
LAST = [*SKEWS, "Heal all"]


@contextmanager
def shown(session: Session) -> Iterator[Dashboard]:
    """Return a dashboard for scripts, in us, which leads if there are regions."""
    ensure_api_key(session.home)
    reader = AuditingReader()

    async def made() -> Dashboard:
        return dashboard_at(session, reader)

    with loop_in_a_thread() as loop:
        dashboard = asyncio.run_coroutine_threadsafe(made(), loop).result(SECONDS)
        if session.place.regions:
            seen(dashboard, "primary", "secondary", "secondary")
        announce(dashboard)
        try:
            yield dashboard
        finally:
            withdraw()
            asyncio.run_coroutine_threadsafe(reader.close(), loop).result(SECONDS)


@pytest.fixture
def regional(tmp_path: Path) -> Iterator[Dashboard]:
    with carrier(tmp_path), shown(regional_session(tmp_path)) as dashboard:
        yield dashboard


def run(script: str) -> AppTest:
    return AppTest.from_string(script, default_timeout=SECONDS).run()


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def html(app: AppTest) -> str:
    return "\n".join(one.proto.body for one in app.get("html"))


def test_an_operator_cuts_a_region_off_and_heals_it(regional: Dashboard) -> None:
    app = run(PANEL)
    sign_in(app, regional)
    assert labels(app) == ["Yes, cut us off", "Yes, cut eu off", "Yes, cut jp off", *LAST]
    app = click(app, "Yes, cut jp off")
    assert [one.value for one in app.success] == ["Done: cut jp."]
    assert html(app).count(">cut<") == 4
    assert labels(app) == ["Yes, cut us off", "Heal us", "Yes, cut eu off", "Heal eu", "Heal jp", *LAST]
    app = click(app, "Heal jp")
    assert [one.value for one in app.success] == ["Done: heal jp."]
    assert ">cut<" not in html(app)


def test_an_operator_sets_a_clock_off_and_right_again(regional: Dashboard) -> None:
    app = run(PANEL)
    sign_in(app, regional)
    app = click(app, "eu -2s")
    assert [one.value for one in app.success] == ["Done: skew eu -2s."]
    assert "2 s behind" in html(app)
    assert labels(app)[1:3] == ["Yes, cut eu off", "Heal eu"]
    app = click(app, "Heal eu")
    assert "2 s behind" not in html(app)


def test_who_is_not_signed_in_changes_nothing_and_is_informed(regional: Dashboard) -> None:
    app = click(run(PANEL), "Yes, cut jp off")
    assert [one.value for one in app.error] == ["Not done: sign in with an operator's API key first."]
    assert ">cut<" not in html(app)


def test_a_page_without_the_primary_says_since_when_and_cuts_nothing(regional: Dashboard) -> None:
    seen(regional, "secondary", "unreachable", "unreachable", now=1_700_000_000_000_000)
    app = run(PANEL)
    sign_in(app, regional)
    assert "no primary of MongoDB is reached since 2023-11-14 22:13:20 UTC" in app.caption[0].value
    app = click(app, "Yes, cut jp off")
    assert [one.value.partition(",")[0] for one in app.error] == [
        "Not done: Region us does not reach MongoDB's primary"
    ]


def test_without_a_carrier_there_is_nothing_to_press(tmp_path: Path) -> None:
    with shown(regional_session(tmp_path, with_carrier=False)):
        app = run(PANEL)
        assert "has no carrier that delays or cuts them" in html(app)
        assert labels(app) == []


def test_a_line_says_where_the_page_is_and_nothing_without_regions(tmp_path: Path) -> None:
    with shown(regional_session(tmp_path, with_carrier=False)):
        (line,) = run(LINE).caption
        assert line.value.startswith("Region us · leader us, seen for ")
    with shown(session_of(tmp_path)):
        without = run(LINE), run(PANEL)
    for app in (*without, run(LINE)):
        assert not app.exception
        assert (len(app.caption), html(app)) == (0, "")
