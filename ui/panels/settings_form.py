"""The settings form, which runs in the browser: this only passes it the fields and their ranges. Scripts that run later
do not change what the user has typed."""

import streamlit

from session.session import Session
from ui.page_parts.own_component import own_component
from ui.services.dashboard import Dashboard
from ui.services.settings_bounds import Bounds, bounds_of
from ui.services.settings_fields import FEE_UNIT, FIRST, TOPICS, FieldGroup, SettingField, unit_of

BPS, BPS_STEP = "bps", 0.5


def render_settings(dashboard: Dashboard) -> None:
    """Draw the form. Its values come from the tab's live feed and are saved through REST."""
    streamlit.subheader("Thresholds and limits", anchor=False)
    own_component("settings_form")(key="settings_form", data=form_document(dashboard.session))


def form_document(session: Session) -> dict[str, object]:
    """Return JSON: the group of fields that is always in view (`first`), those by topic, `fee` for the taker fee of an
    exchange, `limit` for the limits of one exchange or asset, `threshold` for those of one asset or pair, and the
    session's `exchanges` and `bases`."""
    currency = session.settlement_currency
    return {
        "exchanges": list(session.exchanges),
        "bases": list(session.bases),
        "first": _group(FIRST, currency),
        "topics": [_group(group, currency) for group in TOPICS],
        "fee": _ends(bounds_of("taker_fees"), FEE_UNIT) | {"unit": ""},
        "limit": _ends(bounds_of("exchange_limits"), currency) | {"unit": currency},
        "threshold": _ends(bounds_of("asset_thresholds"), BPS)
        | {"unit": BPS, "step": BPS_STEP, "least": "emit_net_bps"},
    }


def _group(group: FieldGroup, currency: str) -> dict[str, object]:
    return {"title": group.title, "fields": [_field(field, currency) for field in group.fields]}


def _field(field: SettingField, currency: str) -> dict[str, object]:
    """Return a field as JSON. Without a `step` it is a decimal, sent as a string; with `choices` it has no ends."""
    named: dict[str, object] = {"name": field.name, "label": field.label, "step": field.step}
    if field.choices:
        return named | {"choices": list(field.choices)}
    unit = unit_of(field, currency)
    return named | {"choices": [], "unit": unit} | _ends(bounds_of(field.name), unit)


def _ends(bounds: Bounds, unit: str) -> dict[str, object]:
    """Return the ends as numbers, for a first check: the server's own answer decides."""
    return {
        "range": bounds.words(unit),
        "low": None if bounds.low is None else float(bounds.low),
        "high": None if bounds.high is None else float(bounds.high),
        "is_low_open": bounds.is_low_open,
        "is_high_open": bounds.is_high_open,
    }
