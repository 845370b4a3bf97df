"""What all pages share: who may not read sees the field for a key, and nothing else."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from session.access_terms import AccessTerms
from tests.ui.pages.browser import PAGES
from tests.ui.pages.tabs import sign_in
from ui.auth.access_service import Access
from ui.services.dashboard import Dashboard, announce


@pytest.mark.parametrize("name", [path for path in PAGES.values() if path])
def test_where_reading_needs_a_key_a_page_shows_nothing_without_one(dashboard: Dashboard, name: str) -> None:
    session = replace(dashboard.session, page=replace(dashboard.session.page, access=AccessTerms(require_key=True)))
    keyed = replace(dashboard, session=session, access=Access(session))
    announce(keyed)
    app = AppTest.from_string(f"from ui.pages.{name} import render_{name}; render_{name}()", default_timeout=30).run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Reading needs an API key here."]
    assert len(app.get("bidi_component")) == 1, "where to sign in, and nothing else"
    assert len(app.get("echarts_chart")) == 0
    sign_in(app, keyed)
    assert not app.exception
    assert "Reading needs an API key here." not in [info.value for info in app.info]
