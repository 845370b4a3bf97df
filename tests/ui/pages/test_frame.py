"""What all pages share: who may not read sees the field for a key, and nothing else."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from market.access import AccessTerms
from ui.access import Access
from ui.dashboard import Dashboard, announce
from ui.keys import ensure_api_key
from ui.pages.signing_in import TYPED

PAGES = ("trades", "backtests", "opportunities", "bots", "health")


@pytest.mark.parametrize("name", PAGES)
def test_where_reading_needs_a_key_a_page_shows_nothing_without_one(dashboard: Dashboard, name: str) -> None:
    session = replace(dashboard.session, access=AccessTerms(require_key=True))
    announce(replace(dashboard, session=session, access=Access(session)))
    app = AppTest.from_string(f"from ui.pages.{name} import show_{name}; show_{name}()", default_timeout=30).run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Reading needs a key here."]
    assert [field.label for field in app.text_input] == ["API key"]
    assert len(app.get("echarts_chart")) == 0
    app.text_input(key=TYPED).input(ensure_api_key(session.home).read_text().strip())
    next(button for button in app.button if button.label == "Sign in").click().run()
    assert not app.exception
    assert "Reading needs a key here." not in [info.value for info in app.info]
