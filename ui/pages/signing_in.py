"""Who looks at the pages: a signed-in browser, or a key typed once in this tab for all pages.

The key itself stays nowhere: the tab's state on the server keeps whose key it was and a mark of it, and both are
looked up again at each use, so that a revoked key ends at once.
"""

import hmac
import logging
from math import ceil

import streamlit

from market.access import Caller
from ui.dashboard import Dashboard
from ui.keys import KEY_FILE, caller_of, key_named, known_key
from ui.sign_ins import COOKIE

SIGNED_IN = "signed_in_key"
TYPED = "typed_key"
REFUSED = "typed_key_refused"
WRONG_KEY = "This key is not, or no longer, known here."
TOO_MANY = "This key is not known here, and too many were wrong: wait for {seconds} s."
THIS_MACHINE = "127.0.0.1"
NOT_SIGNED_IN = "Not done: sign in with an operator's API key first."
NOT_AN_OPERATOR = "Not done: {name} is a viewer and may change nothing."
PAGE_ADDRESS = "page"

log = logging.getLogger("ui")


def signed_in(dashboard: Dashboard) -> Caller | None:
    """Who this tab is: by the key typed in it, else by the browser's sign-in, else anybody where reading is open.

    None where reading needs a key and there is none.
    """
    home = dashboard.session.home
    kept: tuple[str, str] | None = streamlit.session_state.get(SIGNED_IN)
    if kept is not None:
        name, mark = kept
        key = key_named(home, name)
        if key is not None and hmac.compare_digest(key.mark, mark):
            return caller_of(key, "key", PAGE_ADDRESS)
    by_cookie = dashboard.access.sign_ins.caller(streamlit.context.cookies.get(COOKIE), PAGE_ADDRESS)
    return by_cookie or dashboard.access.anybody(PAGE_ADDRESS)


def operator_of(dashboard: Dashboard) -> Caller | None:
    """Who changes something from this tab; None where nobody signed in who may."""
    caller = signed_in(dashboard)
    return caller if caller is not None and caller.may_change else None


def why_not_operator(dashboard: Dashboard) -> str:
    """One sentence for who tried to change something all the same."""
    caller = signed_in(dashboard)
    if caller is None or caller.means == "open":
        return NOT_SIGNED_IN
    return NOT_AN_OPERATOR.format(name=caller.name)


def require_operator(dashboard: Dashboard) -> Caller | None:
    """For a page that is about to offer a change: who it is, else None after showing where to type a key."""
    caller = operator_of(dashboard)
    show_signing_in(dashboard)
    return caller


def show_signing_in(dashboard: Dashboard) -> None:
    """One line: who is signed in, or the field for a key. The key counts on all pages of this tab."""
    caller = signed_in(dashboard)
    if caller is not None and caller.means != "open":
        columns = streamlit.columns([5, 1], vertical_alignment="center")
        may = "may change settings" if caller.may_change else "may look, not change"
        columns[0].caption(f"Signed in as **{caller.name}** ({caller.role}): {may}.")
        if SIGNED_IN in streamlit.session_state:
            columns[1].button("Sign out", key="sign_out", on_click=_sign_out)
        if caller.may_change:
            return
    with streamlit.form("signing_in", border=False, clear_on_submit=True):
        columns = streamlit.columns([4, 1], vertical_alignment="bottom")
        columns[0].text_input(
            "API key",
            type="password",
            key=TYPED,
            autocomplete="off",
            placeholder="needed to change anything",
            help=f"The owner's lies in the file {KEY_FILE} in the data folder. It is asked for once a tab, never kept.",
        )
        columns[1].form_submit_button("Sign in", on_click=_sign_in, args=(dashboard,), width="stretch")
    refused: str | None = streamlit.session_state.pop(REFUSED, None)
    if refused is not None:
        streamlit.error(refused)


def sign_in_with(dashboard: Dashboard, given: str) -> Caller | None:
    """Remember in this tab whose key it is; None where it is nobody's."""
    key = known_key(dashboard.session.home, given)
    if key is None:
        return None
    streamlit.session_state[SIGNED_IN] = (key.name, key.mark)
    return caller_of(key, "key", PAGE_ADDRESS)


def _sign_in(dashboard: Dashboard) -> None:
    """Runs before the script does."""
    given = str(streamlit.session_state.get(TYPED, "")).strip()
    if sign_in_with(dashboard, given) is None:
        streamlit.session_state[REFUSED] = _why_refused(dashboard)


def _why_refused(dashboard: Dashboard) -> str:
    """Counted with the wrong keys that come over REST; as there, a right one passes all the same."""
    named = streamlit.context.ip_address
    # Streamlit names none where the browser runs on this machine
    address = named if isinstance(named, str) else THIS_MACHINE

    async def taken() -> float:
        return dashboard.access.guesses.take(address)

    try:
        wait = dashboard.answer(taken())
    except TimeoutError:
        return WRONG_KEY
    if not wait:
        return WRONG_KEY
    log.warning("wrong keys typed", extra={"address": address})
    return TOO_MANY.format(seconds=ceil(wait))


def _sign_out() -> None:
    streamlit.session_state.pop(SIGNED_IN, None)
