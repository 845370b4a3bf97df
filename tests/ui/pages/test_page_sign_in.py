"""A browser that signed in counts on all pages, and its key stays nowhere in them."""

import asyncio
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from market.decide.settings import Settings
from runtime.clock import wall_now
from session.access_terms import AccessTerms
from tests.ui.pages.tabs import owners_key, sign_in
from ui.auth.access_service import Access
from ui.auth.api_keys import digest_of, known_key, new_key
from ui.auth.callers import Role
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.auth.socket_tickets import Purpose
from ui.page_parts.page_actions import ActionOutcome, perform
from ui.page_parts.page_sign_in import NOT_SIGNED_IN
from ui.services.change_audit import newest_entries
from ui.services.dashboard import Dashboard, announce
from ui.services.settings import switch_trading

SECONDS = 30
SCRIPT = """
import streamlit
from ui.services.dashboard import running
from ui.panels.audit import render_audit
from ui.page_parts.page_sign_in import operator_of, require_operator, signed_in, why_not_operator

dashboard = running()
require_operator(dashboard)
caller = signed_in(dashboard)
streamlit.text("nobody" if caller is None else f"{caller.name} {caller.role} {caller.means}")
streamlit.text("may" if operator_of(dashboard) else why_not_operator(dashboard))
render_audit(dashboard)
"""


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=SECONDS).run()


def given(dashboard: Dashboard, role: Role = "viewer") -> str:
    key = new_key()
    add_key(dashboard.session.home, StoredKey("desk", role, wall_now(), digest_of(key)))
    return key


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [text.value for text in app.text]


def test_who_signed_in_may_act_until_the_sign_out_and_no_key_lies_in_the_script(dashboard: Dashboard) -> None:
    app = page()
    assert said(app) == ["anybody viewer open", "Not done: sign in with an operator's API key first."]
    signed = sign_in(app, dashboard)
    assert said(app) == ["owner operator sign-in", "may"]
    assert not app.text_input
    kept, key = repr(app.session_state), owners_key(dashboard)
    assert "owner" in kept
    assert not [secret for secret in (key, digest_of(key), signed.cookie) if secret in kept]
    dashboard.access.sign_ins.end(signed.cookie)
    assert said(app.run())[0] == "anybody viewer open"


@pytest.mark.parametrize(
    ("role", "bounds"),
    [
        ("viewer", "desk is a viewer and may not change anything"),
        ("author", "desk is an author and may publish stream apps, and change nothing else"),
    ],
)
def test_a_sign_in_without_changes_says_whose_it_is_and_ends_with_its_key(
    dashboard: Dashboard, role: Role, bounds: str
) -> None:
    app = page()
    sign_in(app, dashboard, given(dashboard, role))
    assert said(app) == [f"desk {role} sign-in", f"Not done: {bounds}."]
    assert [one.value for one in app.caption][-1] == "The audit log is shown to signed-in operators."
    revoke_key(dashboard.session.home, "desk")
    assert said(app.run())[0] == "anybody viewer open"


@pytest.mark.parametrize(
    ("purpose", "who"),
    [("page", "desk viewer sign-in"), ("live", "anybody viewer open"), (None, "anybody viewer open")],
)
def test_a_tab_becomes_whom_its_ticket_was_issued_to_once(
    dashboard: Dashboard, purpose: Purpose | None, who: str
) -> None:
    async def issued() -> str:
        known = known_key(dashboard.session.home, given(dashboard))
        assert known is not None
        caller = dashboard.access.sign_ins.caller(dashboard.access.sign_ins.begin(known))
        assert caller is not None
        return "none" if purpose is None else dashboard.access.tickets.issue(caller, purpose)

    script = "from ui.services.dashboard import running\nfrom ui.page_parts.page_sign_in import store_caller\n"
    earned = f"{script}import streamlit\nstore_caller(running(), {dashboard.answer(issued())!r})\n{SCRIPT}"
    app = AppTest.from_string(earned, default_timeout=SECONDS).run()
    assert said(app)[0] == who
    # the script above brings the same ticket again
    assert said(app.run())[0] == "anybody viewer open"


def test_where_reading_needs_a_key_nobody_is_nobody(dashboard: Dashboard) -> None:
    keyed = replace(
        dashboard,
        access=Access(
            replace(dashboard.session, page=replace(dashboard.session.page, access=AccessTerms(require_key=True)))
        ),
    )
    announce(keyed)
    app = page()
    assert said(app)[0] == "nobody"
    sign_in(app, keyed, given(dashboard))
    assert said(app)[0] == "desk viewer sign-in"


def test_an_operator_sees_who_changed_what(dashboard: Dashboard) -> None:
    caller = dashboard.access.by_key(owners_key(dashboard), "127.0.0.1")
    assert caller is not None
    dashboard.answer(switch_trading(dashboard, "reduce_only", caller, "erika <b>"))
    app = page()
    sign_in(app, dashboard)
    shown = " ".join(str(element.proto.body) for element in app.get("html"))
    assert "trading.switch" in shown
    assert "trading_state running → reduce_only" in shown
    assert "erika &lt;b&gt;" in shown


def attempt(dashboard: Dashboard) -> ActionOutcome[Settings]:
    return perform(
        dashboard,
        ("trading.switch", "trading_state"),
        lambda caller: switch_trading(dashboard, "halted", caller),
        lambda _: "Halted.",
    )


def test_a_change_that_a_page_rejects_is_audited(dashboard: Dashboard) -> None:
    outcome = attempt(dashboard)
    assert (outcome.is_good, outcome.words) == (False, NOT_SIGNED_IN)
    (entry,) = dashboard.answer(newest_entries(dashboard, 5))
    assert (entry.who, entry.address, entry.action, entry.target) == (
        "anybody",
        "page",
        "trading.switch",
        "trading_state",
    )
    assert (entry.outcome, entry.reason) == ("rejected", NOT_SIGNED_IN)


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
