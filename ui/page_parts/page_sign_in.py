"""Who is using the pages: the browser that signed in, by its cookie, for all its tabs and across reloads.

A script sees the cookies with which its tab connected, and none that came later. So after signing in the tab brings a
ticket, valid once, and the script keeps the caller that the ticket was issued to. A caller whose sign-in or key is no
longer valid does not count.
"""

from functools import partial

import streamlit

from ui.auth.callers import Caller
from ui.auth.sign_ins import COOKIE
from ui.page_parts.own_component import own_component
from ui.services.dashboard import Dashboard

SIGNED_IN = "signed_in_caller"
KEY = "signing_in"
NOT_SIGNED_IN = "Not done: sign in with an operator's API key first."
PAGE_ADDRESS = "page"


def signed_in(dashboard: Dashboard) -> Caller | None:
    """Return who this tab is: by the browser's sign-in, else the anonymous viewer if reading is open.

    None if reading needs a key and there is none.
    """
    access = dashboard.access
    kept: Caller | None = streamlit.session_state.get(SIGNED_IN)
    if kept is not None and access.still_holds(kept):
        return kept
    by_cookie = access.sign_ins.caller(streamlit.context.cookies.get(COOKIE), PAGE_ADDRESS)
    return by_cookie or access.anybody(PAGE_ADDRESS)


def operator_of(dashboard: Dashboard) -> Caller | None:
    """Return the signed-in operator of this tab; None if there is none."""
    caller = signed_in(dashboard)
    return caller if caller is not None and caller.may_change else None


def why_not_operator(dashboard: Dashboard) -> str:
    """Return why this tab may not make changes, in one sentence."""
    caller = signed_in(dashboard)
    if caller is None or caller.means == "open":
        return NOT_SIGNED_IN
    return f"Not done: {caller.bounds}."


def require_operator(dashboard: Dashboard) -> Caller | None:
    """Return the operator, for a page that is about to offer a change; else None, with a field for a key on the
    page."""
    caller = operator_of(dashboard)
    render_signing_in(dashboard)
    return caller


def render_signing_in(dashboard: Dashboard) -> None:
    """Draw one line: who is signed in, or the field for a key. The browser itself sends the key, to REST."""
    caller = signed_in(dashboard)
    own_component("signing_in")(
        key=KEY,
        data={"name": "" if caller is None or caller.means == "open" else caller.name},
        on_ticket_change=partial(take_ticket, dashboard),
    )


def take_ticket(dashboard: Dashboard) -> None:
    """Store the caller before the script runs. An empty ticket: the browser signed out."""
    store_caller(dashboard, str(streamlit.session_state[KEY]["ticket"] or ""))


def store_caller(dashboard: Dashboard, ticket: str) -> None:
    """Store who this tab is by its ticket; nobody if the ticket is not valid."""

    async def redeemed() -> Caller | None:
        # tickets belong to the server's loop
        return dashboard.access.tickets.redeem(ticket, "page")

    try:
        caller = dashboard.answer(redeemed())
    except TimeoutError:
        # the browser sees that this tab has no caller yet, and brings another ticket
        return
    if caller is None or caller.means == "open":
        streamlit.session_state.pop(SIGNED_IN, None)
    else:
        streamlit.session_state[SIGNED_IN] = caller
