"""The script that Streamlit runs (no browser): it begins with the page Live."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.pages.browser import PAGES
from ui.server import application

SECONDS = 30


@pytest.mark.usefixtures("dashboard")
def test_it_begins_with_the_live_panel() -> None:
    app = AppTest.from_file(str(application.SCRIPT), default_timeout=SECONDS).run()
    assert not app.exception
    assert app.get("bidi_component")
    assert not app.header


@pytest.mark.usefixtures("dashboard")
@pytest.mark.parametrize(("page", "title"), [(path, title) for title, path in PAGES.items() if path])
def test_every_page_runs_as_a_script(page: str, title: str) -> None:
    app = AppTest.from_string(
        f"from ui.pages.{page} import render_{page}; render_{page}()", default_timeout=SECONDS
    ).run()
    assert not app.exception
    assert app.header[0].value == title
