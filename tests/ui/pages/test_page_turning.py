"""A list gone through page by page, with the tab's state as Streamlit keeps it."""

from streamlit.testing.v1 import AppTest

SCRIPT = """
import streamlit
from ui.page_parts.page_turning import paging

place = paging("some", streamlit.text_input("filter", key="filter"))
page = place.cursor or "1"
streamlit.text(f"{page} of {place.number}")
place.render_buttons(str(int(page) + 1) if page < "3" else None)
"""
"""Three pages, named by number; the cursor of a page is its name."""


def _started() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=30).run()


def _shown(app: AppTest) -> str:
    assert not app.exception
    return app.text[0].value


def _may(app: AppTest) -> list[str]:
    return [button.label for button in app.button if not button.disabled]


def test_pages_are_gone_through_and_back() -> None:
    app = _started()
    assert (_shown(app), _may(app)) == ("1 of 1", ["Older"])
    app.button(key="some.older").click().run()
    assert (_shown(app), _may(app)) == ("2 of 2", ["Newest", "Newer", "Older"])
    app.button(key="some.older").click().run()
    assert (_shown(app), _may(app)) == ("3 of 3", ["Newest", "Newer"])
    app.button(key="some.newer").click().run()
    assert _shown(app) == "2 of 2"
    app.button(key="some.newest").click().run()
    assert (_shown(app), _may(app)) == ("1 of 1", ["Older"])


def test_another_filter_begins_with_the_newest_page() -> None:
    app = _started()
    app.button(key="some.older").click().run()
    app.text_input(key="filter").set_value("other").run()
    assert _shown(app) == "1 of 1"
