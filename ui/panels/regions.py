"""The regions on a page: a line about this page's region, their tables, and links that operators cut and heal."""

from collections.abc import Sequence

import streamlit

from runtime.carrier_socket import CarrierSilentError, LinkCommandRefusedError
from ui.errors import UiError
from ui.page_parts.page_actions import ActionOutcome, perform, render_outcome, store_outcome
from ui.page_parts.page_sign_in import signed_in
from ui.page_parts.page_times import shown_zone
from ui.panels.region_tables import (
    has_faults,
    is_clock_off,
    is_cut_off,
    links_table,
    regions_table,
    standing_words,
)
from ui.rows.region import RegionLinkRow, RegionsRow
from ui.services.dashboard import Dashboard, running
from ui.services.region import CHANGE, LinksFixedError, change_links, regions_now, standing_now

PLACE = "regions"
REFRESH_SECONDS = 3.0
NO_ANSWER = "The regions did not answer in time. Try again in a moment."
CONSEQUENCES = (
    "All its links are cut, both ways; packets under way are lost. It opens nothing new, follows its sent orders until "
    "they are final, and books them after healing. If it is the leader, another region leads within seconds."
)

SKEWS = ("+2s", "-2s")
OF_CLOCKS = (
    "The clock of all its feeds, bots and pages. Its prices are then from the future, or old before they arrive: pairs "
    "of its exchanges with others are not traded. Leases, and the second in which a grant is valid, go by other clocks."
)


def render_region_line() -> None:
    """Draw one line that stays up to date; nothing without regions, without a server, or if the user may not read."""
    try:
        dashboard = running()
    except UiError:
        return
    if dashboard.session.place.regions and signed_in(dashboard) is not None:
        streamlit.fragment(_render_line, run_every=REFRESH_SECONDS)(dashboard)


def render_regions(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself; nothing without regions."""
    if dashboard.session.place.regions:
        streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render_line(dashboard: Dashboard) -> None:
    try:
        row = dashboard.answer(standing_now(dashboard))
    except TimeoutError:
        streamlit.caption(NO_ANSWER)
        return
    if row is not None:
        streamlit.caption(standing_words(row, shown_zone()))


def _render(dashboard: Dashboard) -> None:
    streamlit.subheader("Regions", anchor="regions")
    try:
        row = dashboard.answer(regions_now(dashboard))
    except TimeoutError:
        streamlit.warning(NO_ANSWER)
        return
    render_outcome(PLACE)
    if row is None:
        return
    zone = shown_zone()
    streamlit.caption(standing_words(row, zone))
    streamlit.html(regions_table(row, zone))
    streamlit.html(links_table(row))
    if dashboard.session.mode == "paper" and row["links"]:
        _render_changes(dashboard, row)


def _render_changes(dashboard: Dashboard, row: RegionsRow) -> None:
    with streamlit.container(horizontal=True, gap="small"):
        for name in (region["name"] for region in row["regions"]):
            _render_cut(dashboard, name, row["links"])
            if has_faults(name, row["links"]) or is_clock_off(name, row["regions"]):
                _button(dashboard, f"Heal {name}", f"heal {name}")
        _render_clocks(dashboard, row)
        _button(dashboard, "Heal all", "heal")
    streamlit.caption("Single directions, losses, delays and clocks: `arbitrage region`, or POST /api/regions/links.")


def _render_clocks(dashboard: Dashboard, row: RegionsRow) -> None:
    with streamlit.popover("Set a clock off …"):
        streamlit.markdown(OF_CLOCKS)
        for name in (region["name"] for region in row["regions"] if region["exchanges"]):
            with streamlit.container(horizontal=True, gap="small"):
                for skew in SKEWS:
                    _button(dashboard, f"{name} {skew}", f"skew {name} {skew}")


def _render_cut(dashboard: Dashboard, name: str, links: Sequence[RegionLinkRow]) -> None:
    if is_cut_off(name, links):
        return
    with streamlit.popover(f"Cut {name} off …"):
        streamlit.markdown(CONSEQUENCES)
        _button(dashboard, f"Yes, cut {name} off", f"cut {name}", is_primary=True)


def _button(dashboard: Dashboard, label: str, command: str, *, is_primary: bool = False) -> None:
    streamlit.button(
        label,
        key=f"regions.{command}",
        type="primary" if is_primary else "secondary",
        on_click=_change,
        args=(dashboard, command),
    )


def _change(dashboard: Dashboard, command: str) -> None:
    """Send the command. A callback: it runs before the script."""
    try:
        outcome: ActionOutcome[list[RegionLinkRow]] = perform(
            dashboard,
            (CHANGE, command),
            lambda caller: change_links(dashboard, command, caller),
            lambda _: f"Done: {command}.",
        )
    except LinksFixedError as fixed:
        outcome = ActionOutcome(False, f"Not done: {fixed.why}")
    except LinkCommandRefusedError as refused:
        outcome = ActionOutcome(False, f"Not done: {refused}")
    except CarrierSilentError as silent:
        outcome = ActionOutcome(False, f"The links may or may not have been changed: {silent}")
    store_outcome(PLACE, outcome)
