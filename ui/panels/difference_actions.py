"""The differences that keep an exchange reduce-only: unexplained ones, each to be acknowledged or adopted."""

from collections.abc import Sequence
from itertools import groupby

import streamlit

from exchanges.labels import exchange_name
from market.accounting.differences import CannotSettleError, PersonsVerdict, StoredDifference
from store.errors import StoreError
from ui.page_parts.page_actions import ActionOutcome, perform, render_outcome, store_outcome
from ui.page_parts.page_times import moment, shown_zone
from ui.services.bot import NoSuchDifferenceError, open_differences, settle_difference
from ui.services.dashboard import Dashboard
from wording.labels import difference_advice

PLACE = "differences"
REFRESH_SECONDS = 5.0
WORDS: dict[PersonsVerdict, str] = {
    "acknowledged": "Acknowledge",
    "deposit": "Adopt as deposit",
    "withdrawal": "Adopt as withdrawal",
}


def render_difference_actions(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself; nothing if nothing is open."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    render_outcome(PLACE)
    try:
        found = dashboard.answer(open_differences(dashboard))
    except (StoreError, TimeoutError):
        # the cards above say that MongoDB does not answer
        return
    for exchange, of_exchange in groupby(sorted(found, key=lambda one: one.exchange), key=lambda one: one.exchange):
        _render_exchange(dashboard, exchange, list(of_exchange))


def _render_exchange(dashboard: Dashboard, exchange: str, found: Sequence[StoredDifference]) -> None:
    with streamlit.container(border=True, key=f"differences.{exchange}"):
        streamlit.markdown(
            f"**{exchange_name(exchange)} is reduce-only**: its account differs from our books. Acknowledge what you "
            "know of, such as a trade by hand, or adopt it as a deposit or withdrawal; then the exchange trades again."
        )
        # what an order in doubt may have moved is looked at by itself: booked in passing, the order stays unbooked
        clear = [one for one in found if not one.cause]
        if len(clear) > 1:
            streamlit.button(
                f"Acknowledge all {len(clear)} of {exchange_name(exchange)}",
                key=f"settle.{exchange}",
                on_click=_settle,
                args=(dashboard, tuple(one.difference_id for one in clear), "acknowledged"),
            )
        for one in found:
            _render_difference(dashboard, one)


def _render_difference(dashboard: Dashboard, one: StoredDifference) -> None:
    kind = one.kind.replace("_", " ").capitalize()
    streamlit.text(
        f"{kind}: {one.subject}. Ours: {one.ours}; theirs: {one.theirs}. Since {moment(one.found_at, shown_zone())}"
    )
    streamlit.caption(difference_advice(one.kind, one.cause))
    verdicts: list[PersonsVerdict] = ["acknowledged"]
    if one.kind == "balance_unexplained":
        verdicts += ["deposit", "withdrawal"]
    with streamlit.container(horizontal=True, gap="small"):
        for verdict in verdicts:
            streamlit.button(
                WORDS[verdict],
                key=f"settle.{verdict}.{one.difference_id}",
                on_click=_settle,
                args=(dashboard, (one.difference_id,), verdict),
            )


def _settle(dashboard: Dashboard, difference_ids: tuple[str, ...], verdict: PersonsVerdict) -> None:
    """Settle the differences; the first that cannot be settled ends it. A callback: it runs before the script."""
    for difference_id in difference_ids:
        outcome = _settled(dashboard, difference_id, verdict)
        store_outcome(PLACE, outcome)
        if not outcome.is_good:
            return


def _settled(dashboard: Dashboard, difference_id: str, verdict: PersonsVerdict) -> ActionOutcome[StoredDifference]:
    try:
        return perform(
            dashboard,
            ("difference.settle", difference_id),
            lambda caller: settle_difference(dashboard, difference_id, verdict, caller),
            lambda settled: f"{exchange_name(settled.exchange)}: {settled.subject} settled as {settled.settled}.",
        )
    except NoSuchDifferenceError:
        return ActionOutcome(False, "Not done: this difference is not known any more.")
    except CannotSettleError as refused:
        return ActionOutcome(False, f"Not done: {refused}")
