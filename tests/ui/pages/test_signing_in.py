"""A key typed once in a tab counts on all its pages, and stays nowhere in them."""

import asyncio
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from market.access import AccessTerms, RateTerms
from market.clock import wall_now
from market.settings import Settings
from ui.access import Access
from ui.auditing import newest_entries
from ui.dashboard import Dashboard, announce
from ui.kept_keys import KeptKey, add_key, revoke_key
from ui.keys import digest_of, ensure_api_key, new_key
from ui.pages.acting import Outcome, acted
from ui.pages.signing_in import NOT_SIGNED_IN
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


def test_wrong_keys_typed_on_pages_are_counted_with_those_over_rest(dashboard: Dashboard) -> None:
    terms = AccessTerms(guesses=RateTerms(0.001, 2))
    announce(replace(dashboard, access=Access(replace(dashboard.session, access=terms))))
    app = page()
    for words in ("This key is not", "This key is not", "This key is not known here, and too many were wrong: wait"):
        sign_in(app, "wrong")
        assert [error.value[: len(words)] for error in app.error] == [words]
    sign_in(app, ensure_api_key(dashboard.session.home).read_text().strip())
    assert said(app) == ["owner operator key", "may"]


def attempt(dashboard: Dashboard) -> Outcome[Settings]:
    return acted(
        dashboard,
        ("trading.switch", "trading_state"),
        lambda caller: switch_trading(dashboard, "halted", caller),
        lambda _: "Halted.",
    )


def test_a_change_that_a_page_refuses_is_audited(dashboard: Dashboard) -> None:
    outcome = attempt(dashboard)
    assert (outcome.is_good, outcome.words) == (False, NOT_SIGNED_IN)
    (entry,) = dashboard.answer(newest_entries(dashboard, 5))
    assert (entry.who, entry.address, entry.action, entry.target) == (
        "anybody",
        "page",
        "trading.switch",
        "trading_state",
    )
    assert (entry.outcome, entry.reason) == ("refused", NOT_SIGNED_IN)


def test_what_no_page_waits_for_any_more_is_not_done_later(dashboard: Dashboard) -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        dashboard.answer(endless(), 0.05)
    dashboard.snapshot()
    assert ended == ["cancelled"]
