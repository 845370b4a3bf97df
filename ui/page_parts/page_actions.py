"""Changes made from a page: by the signed-in user, through the service that REST uses, with the outcome as text."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit

from store.errors import StoreError, VersionConflictError
from ui.auth.callers import ANYBODY, Caller
from ui.page_parts.page_sign_in import PAGE_ADDRESS, operator_of, signed_in, why_not_operator
from ui.services.change_audit import audit_rejection
from ui.services.dashboard import Dashboard

Result = TypeVar("Result")

UNKNOWN = "MongoDB did not answer: the change may or may not have been made. Refresh in a moment."


@dataclass(frozen=True, slots=True)
class ActionOutcome(Generic[Result]):
    """One sentence for the user; `result` None if nothing was changed."""

    is_good: bool
    words: str
    result: Result | None = None


def perform(
    dashboard: Dashboard,
    attempt: tuple[str, str],
    change: Callable[[Caller], Coroutine[Any, Any, Result]],
    said: Callable[[Result], str],
) -> ActionOutcome[Result]:
    """Make the change. A rejection by the service is raised for the caller."""
    caller = operator_of(dashboard)
    if caller is None:
        return ActionOutcome(False, _rejected_attempt(dashboard, attempt))
    try:
        result = dashboard.answer(change(caller))
    except VersionConflictError:
        # a rejection like any other, though the store raises it
        raise
    except (StoreError, TimeoutError):
        return ActionOutcome(False, UNKNOWN)
    return ActionOutcome(True, said(result), result)


def _rejected_attempt(dashboard: Dashboard, attempt: tuple[str, str]) -> str:
    """Record the attempt in the audit log, then return the reason."""
    why, who = why_not_operator(dashboard), signed_in(dashboard) or Caller(ANYBODY, "viewer", "open", PAGE_ADDRESS)
    with suppress(TimeoutError):
        dashboard.answer(audit_rejection(dashboard, who, *attempt, why))
    return why


def store_outcome(place: str, outcome: ActionOutcome[Any]) -> None:
    """Keep the outcome for the next rendering of `place`."""
    streamlit.session_state[f"outcome.{place}"] = outcome


def render_outcome(place: str) -> bool:
    """Render the outcome once. Return whether there was one."""
    outcome: ActionOutcome[Any] | None = streamlit.session_state.pop(f"outcome.{place}", None)
    if outcome is not None:
        (streamlit.success if outcome.is_good else streamlit.error)(outcome.words)
    return outcome is not None
