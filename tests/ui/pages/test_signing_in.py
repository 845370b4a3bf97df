"""A key typed once in a tab counts on all its pages, and stays nowhere in them."""

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from market.access import AccessTerms
from market.clock import wall_now
from ui.access import Access
from ui.dashboard import Dashboard, announce
from ui.kept_keys import KeptKey, add_key, revoke_key
from ui.keys import digest_of, ensure_api_key, new_key
from ui.tuning import switch_trading

SECONDS = 30
SCRIPT = """
import streamlit
from ui.dashboard import running
from ui.pages.audit import show_audit
from ui.pages.signing_in import operator_of, require_operator, signed_in, why_not_operator

dashboard = running()
require_operator(dashboard)
caller = signed_in(dashboard)
streamlit.text("nobody" if caller is None else f"{caller.name} {caller.role} {caller.means}")
streamlit.text("may" if operator_of(dashboard) else why_not_operator(dashboard))
show_audit(dashboard)
"""


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=SECONDS).run()


def sign_in(app: AppTest, key: str) -> AppTest:
    app.text_input(key="typed_key").input(key)
    return next(button for button in app.button if button.label == "Sign in").click().run()


def given(dashboard: Dashboard) -> str:
    key = new_key()
    add_key(dashboard.session.home, KeptKey("desk", "viewer", wall_now(), digest_of(key)))
    return key


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [text.value for text in app.text]


def test_the_owners_key_makes_an_operator_and_lies_nowhere(dashboard: Dashboard) -> None:
    key = ensure_api_key(dashboard.session.home).read_text().strip()
    app = page()
    assert said(app) == ["anybody viewer open", "Not done: sign in with an operator's API key first."]
    sign_in(app, key)
    assert said(app) == ["owner operator key", "may"]
    assert not app.text_input
    kept = repr(app.session_state)
    assert "owner" in kept
    assert key not in kept
    assert digest_of(key) not in kept
    next(button for button in app.button if button.label == "Sign out").click().run()
    assert said(app)[0] == "anybody viewer open"


def test_a_viewers_key_reads_and_a_revoked_one_is_forgotten(dashboard: Dashboard) -> None:
    app = sign_in(page(), given(dashboard))
    assert said(app) == ["desk viewer key", "Not done: desk is a viewer and may change nothing."]
    assert [one.value for one in app.caption][-1] == "Who changed what is shown to signed-in operators."
    revoke_key(dashboard.session.home, "desk")
    assert said(app.run())[0] == "anybody viewer open"


def test_a_wrong_key_is_said_and_changes_nothing(dashboard: Dashboard) -> None:
    app = sign_in(page(), "wrong")
    assert [error.value for error in app.error] == ["This key is not, or no longer, known here."]
    assert said(app)[0] == "anybody viewer open"
    assert dashboard.access.is_reading_open


def test_where_reading_needs_a_key_nobody_is_nobody(dashboard: Dashboard) -> None:
    keyed = Access(replace(dashboard.session, access=AccessTerms(require_key=True)))
    announce(replace(dashboard, access=keyed))
    app = page()
    assert said(app)[0] == "nobody"
    assert said(sign_in(app, given(dashboard)))[0] == "desk viewer key"


def test_an_operator_sees_who_changed_what(dashboard: Dashboard) -> None:
    caller = dashboard.access.by_key(ensure_api_key(dashboard.session.home).read_text().strip(), "127.0.0.1")
    assert caller is not None
    dashboard.answer(switch_trading(dashboard, "reducing", caller, "erika <b>"))
    app = sign_in(page(), ensure_api_key(dashboard.session.home).read_text().strip())
    shown = " ".join(str(element.proto.body) for element in app.get("html"))
    assert "trading.switch" in shown
    assert "trading_state running → reducing" in shown
    assert "erika &lt;b&gt;" in shown
