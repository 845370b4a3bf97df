"""The bots and feeds, each with Start or Stop; stopping needs a confirmation."""

from collections.abc import Sequence

import streamlit

from exchanges.labels import part_name
from store.errors import StoreError
from store.records.processes import Process, Wanted
from ui.page_parts.page_actions import ActionOutcome, perform, render_outcome, store_outcome
from ui.page_parts.page_times import shown_zone
from ui.panels.bot_cards import CSS, bot_card, feed_card
from ui.services.bot import BotRow, bots_now, with_starting_bots
from ui.services.dashboard import Dashboard
from ui.services.process import (
    NoSuchProcessError,
    ProcessOrderRejectedError,
    ProcessRow,
    order_process,
    processes_now,
)

PLACE = "bots"
KNOWN = "bots.known"
"""Key in the session's state: the bots and processes read last."""
REFRESH_SECONDS = 2.0
CARD_WIDTH = 292
STOP_CONSEQUENCES = {
    "bot": "It drains: it opens nothing new, follows its orders in flight to their end and hands its lease to a "
    "standby bot, if there is one. It stays stopped until it is started here, even if the session restarts.",
    "feed": "Its quotes are withdrawn at once and are not traded on. It stays stopped until it is started "
    "here, even if the session restarts.",
}


def render_bot_actions(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    streamlit.subheader("Bots", anchor=False)
    try:
        known = dashboard.answer(bots_now(dashboard)), dashboard.answer(processes_now(dashboard))
        streamlit.session_state[KNOWN] = known
    except (StoreError, TimeoutError):
        # a store that is busy, as when a bot starts, must not take the cards away
        known = streamlit.session_state.get(KNOWN, ([], []))
        streamlit.warning("MongoDB does not answer: the cards below may be out of date. Try again in a moment.")
        if not known[0]:
            return
    processes = known[1]
    feeds = [one for one in processes if one["kind"] == "feed"]
    bots = with_starting_bots(known[0], processes, dashboard.session)
    render_outcome(PLACE)
    if not bots:
        streamlit.info("No bot has been reported yet.")
        return
    streamlit.html(CSS)
    _render_bots(dashboard, bots)
    if feeds:
        ready = sum(feed["state"] == "ready" for feed in feeds)
        with streamlit.expander(f"Price feeds: {ready} of {len(feeds)} running", key="feeds"):
            _render_feeds(dashboard, feeds)


def _render_bots(dashboard: Dashboard, bots: Sequence[BotRow]) -> None:
    zone, settings = shown_zone(), dashboard.hub.settings
    trading = settings.trading_state if settings else "running"
    with streamlit.container(horizontal=True, gap="small"):
        for bot in bots:
            with streamlit.container(border=True, width=CARD_WIDTH, key=f"card.{bot['name']}"):
                streamlit.html(bot_card(bot, zone, trading))
                _render_action(
                    dashboard,
                    bot["name"],
                    "bot",
                    bot["wanted"],
                    is_known=bot["state"] != "unknown" and bot["since"] > 0,
                )


def _render_feeds(dashboard: Dashboard, feeds: Sequence[ProcessRow]) -> None:
    zone = shown_zone()
    with streamlit.container(horizontal=True, gap="small"):
        for feed in feeds:
            with streamlit.container(border=True, width=CARD_WIDTH, key=f"card.{feed['name']}"):
                streamlit.html(feed_card(feed, zone))
                _render_action(dashboard, feed["name"], "feed", feed["wanted"], is_known=feed["state"] != "unknown")


def _render_action(dashboard: Dashboard, name: str, kind: str, wanted: str, *, is_known: bool) -> None:
    """Draw the button; disabled if the state is unknown, since no supervisor would carry out the order."""
    if wanted == "stopped":
        streamlit.button(
            f"Start {part_name(name)}",
            key=f"start.{name}",
            type="primary",
            disabled=not is_known,
            on_click=_order,
            args=(dashboard, name, "running"),
            width="stretch",
        )
        return
    with streamlit.popover(f"Stop {part_name(name)} …", width="stretch", disabled=not is_known):
        streamlit.markdown(STOP_CONSEQUENCES[kind])
        streamlit.button(
            f"Yes, stop {part_name(name)}",
            key=f"stop.{name}",
            type="primary",
            on_click=_order,
            args=(dashboard, name, "stopped"),
        )


def _order(dashboard: Dashboard, name: str, wanted: Wanted) -> None:
    """Send the order. A callback: it runs before the script."""

    verb = "stops" if wanted == "stopped" else "starts"
    try:
        outcome: ActionOutcome[Process] = perform(
            dashboard,
            ("process.stop" if wanted == "stopped" else "process.start", name),
            lambda caller: order_process(dashboard, name, wanted, caller),
            lambda _: f"{part_name(name)} {verb}.",
        )
    except NoSuchProcessError:
        outcome = ActionOutcome(False, f"Not done: this session has no {name} any more.")
    except ProcessOrderRejectedError as rejected:
        outcome = ActionOutcome(False, f"Not done: {rejected.why}")
    store_outcome(PLACE, outcome)
