"""Times on a page: UTC, or the browser's zone if the user chose that."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit

from market.time_units import MICROSECONDS
from ui.page_parts.dom_tables import Cell

IS_LOCAL = "times_are_local"
"""Key in the session's state: whether the user chose local times."""


def shown_zone() -> tzinfo:
    """Return the zone that the user chose; UTC if the browser's zone is unknown."""
    name = streamlit.context.timezone
    if not streamlit.session_state.get(IS_LOCAL) or not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def zone_word(zone: tzinfo) -> str:
    """Return the zone's name as the header shows it. A zone with summer time has no name of its own without a date."""
    return "UTC" if zone is UTC else "local"


def moment_cell(microseconds: int, zone: tzinfo) -> Cell:
    """Return a time as a cell. On a narrow page it is only the time of day, with the date in its title."""
    text = moment(microseconds, zone)
    return Cell(text, exact=text, narrow=f"{datetime.fromtimestamp(microseconds / MICROSECONDS, zone):%H:%M:%S}")


def moment(microseconds: int, zone: tzinfo) -> str:
    """Return date, time and zone, to the second."""
    return f"{datetime.fromtimestamp(microseconds / MICROSECONDS, zone):%Y-%m-%d %H:%M:%S %Z}"
