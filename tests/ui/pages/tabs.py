"""A tab whose browser has signed in, for pages that run as scripts."""

from dataclasses import dataclass

from streamlit.testing.v1 import AppTest

from ui.auth.api_keys import ensure_api_key, known_key
from ui.page_parts.page_sign_in import SIGNED_IN
from ui.services.dashboard import Dashboard


@dataclass(frozen=True, slots=True)
class SignIn:
    """A browser's sign-in: its cookie."""

    cookie: str


def owners_key(dashboard: Dashboard) -> str:
    return ensure_api_key(dashboard.session.home).read_text().strip()


def sign_in(app: AppTest, dashboard: Dashboard, key: str | None = None) -> SignIn:
    """By the owner's key unless told; what the tab's script keeps once its browser has brought a ticket."""
    known = known_key(dashboard.session.home, key or owners_key(dashboard))
    assert known is not None
    cookie = dashboard.access.sign_ins.begin(known)
    app.session_state[SIGNED_IN] = dashboard.access.sign_ins.caller(cookie, "127.0.0.1")
    app.run()
    return SignIn(cookie)
