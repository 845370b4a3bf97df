"""The asset and the exchange that a page's lists are about: chosen on the page, and kept in its address, to be
shared."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit

from exchanges.labels import exchange_name
from session.session import Session
from ui.services.dashboard import Dashboard
from ui.services.session_markets import unknown_asset, unknown_exchange

KEYS = {"base": "market.base", "exchange": "market.exchange"}
"""Parameter of the address, as in REST → key of its field, the same on every page, so that a choice follows the
user."""


@dataclass(frozen=True, slots=True)
class MarketChoice:
    """The chosen asset and exchange; None: any."""

    base: str | None
    exchange: str | None


def choose_market(dashboard: Dashboard) -> MarketChoice:
    """Draw two fields at the script's current place; typing into one searches it. Names in the address that do not
    exist are reported on the page."""
    session = dashboard.session
    _tell_unknown(session)
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        base = _choose("base", "Asset", session.bases, str, 150)
        exchange = _choose("exchange", "Exchange", session.exchanges, exchange_name, 190)
    return MarketChoice(base, exchange)


def _tell_unknown(session: Session) -> None:
    for name, unknown in (("base", unknown_asset), ("exchange", unknown_exchange)):
        asked = streamlit.query_params.get(name)
        if asked and (sentence := unknown(session, asked)):
            streamlit.warning(sentence)


def _choose(name: str, label: str, options: tuple[str, ...], shown: Callable[[str], str], width: int) -> str | None:
    key, asked = KEYS[name], streamlit.query_params.get(name)
    # the address counts when the page is opened; Streamlit's own binding would write the name as it is shown
    if key not in streamlit.session_state and asked in options:
        streamlit.session_state[key] = asked
    chosen = streamlit.selectbox(
        label, options, None, format_func=shown, key=key, placeholder="All", width=width, persist_state="session"
    )
    if chosen is None:
        streamlit.query_params.pop(name, None)
    elif chosen != asked:
        streamlit.query_params[name] = chosen
    return chosen
