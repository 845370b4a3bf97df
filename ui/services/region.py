"""The session's regions as this region's page knows them, and changes of the links between them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from market.trade.arbitrages import OPEN_STATES, Arbitrage
from runtime.carrier_socket import CarrierSilentError, LinkCommandRefusedError, ask_carrier
from runtime.clock import wall_now
from runtime.link_states import CarrierState
from session.session import Session
from store.errors import StoreError
from ui.auth.callers import Caller
from ui.rows.region import RegionLinkRow, RegionsRow, StandingRow, link_rows, region_rows, standing_row
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard

CHANGE = "links.change"
"""The action in the audit log."""
MAX_OPEN = 500
ANSWER_SECONDS = 2.0
"""Time limit for the store; without its answer the rest is shown."""
NO_REGIONS = "This session has no regions."
LINKS_AS_THEY_ARE = (
    "The links between its regions are as they are: this session has no carrier that delays or cuts them."
)


@dataclass(slots=True)
class LinksFixedError(Exception):
    """The links cannot be changed here, or not now; `why` in a sentence."""

    why: str


async def standing_now(dashboard: Dashboard) -> StandingRow | None:
    """Return the standing, without asking anybody; None without regions."""
    standing = dashboard.hub.regions
    return None if standing is None else standing_row(standing, wall_now(), dashboard.session.clock().now())


async def regions_now(dashboard: Dashboard) -> RegionsRow | None:
    """Return the regions; None without regions."""
    standing, seen, session = dashboard.hub.regions, await standing_now(dashboard), dashboard.session
    if standing is None or seen is None:
        return None
    open_arbitrages, (state, unknown) = await asyncio.gather(_open_arbitrages(dashboard), _carrier_state(session))
    groups = dashboard.hub.live_state.ledger.totals.groups
    clocks = None if state is None else state.clocks_ms
    return RegionsRow(
        **seen,
        regions=region_rows(session, standing, seen["mirror_lags"], open_arbitrages, groups, clocks),
        links=link_rows(() if state is None else state.links, session.place.regions),
        links_unknown=unknown,
    )


async def change_links(
    dashboard: Dashboard, command: str, caller: Caller, seconds: float = ANSWER_SECONDS
) -> list[RegionLinkRow]:
    """Carry out one command of `arbitrage region`; return the links after it.

    A cut may take the store away from this page, so it waits at most `seconds` to record the end of the change in the
    audit log; later the end is written when the store answers again. Raises LinksFixedError, LinkCommandRefusedError,
    CarrierSilentError, StoreError.
    """
    standing = dashboard.hub.regions
    if standing is not None and standing.primary_lost_since is not None:
        raise LinksFixedError(
            f"Region {standing.region} does not reach MongoDB's primary, so the change could not be recorded: use the "
            "page of another region, or `arbitrage region` in a terminal."
        )
    answer: asyncio.Future[CarrierState] = asyncio.get_running_loop().create_future()
    recording = asyncio.create_task(_recorded_change(dashboard, command, caller, answer))
    _recording.add(recording)
    recording.add_done_callback(_recording.discard)
    either: set[asyncio.Future[Any]] = {recording, answer}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # the caller has given up: a command that the carrier has not got yet is dropped
        if not answer.done():
            recording.cancel()
    if not answer.done():
        await recording
    await asyncio.wait({recording}, timeout=seconds)
    return link_rows(answer.result().links, dashboard.session.place.regions)


async def _recorded_change(
    dashboard: Dashboard, command: str, caller: Caller, answer: "asyncio.Future[CarrierState]"
) -> None:
    async with auditing(dashboard, caller, CHANGE, command) as note:
        home = carrier_home(dashboard.session)
        before = await asyncio.to_thread(ask_carrier, home, "state")
        after = await asyncio.to_thread(ask_carrier, home, command)
        note.before, note.after = _differing(before, after), _differing(after, before)
        answer.set_result(after)


_recording: set["asyncio.Task[None]"] = set()
"""Holds changes whose end is not recorded yet: nothing else may refer to them."""


def carrier_home(session: Session) -> Path:
    """Return the folder in which the carrier of a paper session takes commands. Raises LinksFixedError if there is
    none."""
    if session.mode != "paper":
        raise LinksFixedError("Only a paper session has links that can be changed.")
    if session.place.carrier_home is None:
        raise LinksFixedError(LINKS_AS_THEY_ARE if session.place.regions else NO_REGIONS)
    return session.place.carrier_home


async def _open_arbitrages(dashboard: Dashboard) -> Sequence[Arbitrage] | None:
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            return (await dashboard.reader.arbitrages(OPEN_STATES, None, MAX_OPEN)).items
    return None


async def _carrier_state(session: Session) -> tuple[CarrierState | None, str | None]:
    """Return links and clocks, or why they are not known."""
    if session.place.carrier_home is None:
        return None, LINKS_AS_THEY_ARE
    try:
        return await asyncio.to_thread(ask_carrier, session.place.carrier_home, "state"), None
    except (CarrierSilentError, LinkCommandRefusedError) as error:
        return None, f"Not known: {error}"


def _differing(state: CarrierState, other: CarrierState) -> dict[str, str]:
    """Return direction → condition, for those links that differ in the other state; clocks alike."""
    own, others = _conditions(state), _conditions(other)
    return {name: condition for name, condition in own.items() if others[name] != condition}


def _conditions(state: CarrierState) -> dict[str, str]:
    """Return the condition of each direction and of each place's clock."""
    links = {f"{link.source}>{link.target}": link.condition for link in state.links}
    return links | {f"clock of {name}": f"{state.clocks_ms.get(name, 0):+g} ms" for name in state.addresses}
