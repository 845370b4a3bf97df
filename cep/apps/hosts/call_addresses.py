"""Where the requests of an app go: the operator says so, and to what nobody named none goes."""

from collections.abc import Iterable, Mapping

from cep.apps.hosts.app_outside import CallSink
from cep.apps.language.errors import AppTextError

SIMULATED = "simulated:"
"""What an address begins with that is a simulated exchange of the running session, by its name."""


def call_addresses(
    calls: Iterable[CallSink], allowed: Mapping[str, str], exchanges_url: str | None
) -> Mapping[str, str]:
    """By the origins in the app's text. `exchanges_url`: of the session's simulated exchanges; None if there
    are none.

    Raises AppTextError for a request that may not be made.
    """
    return {call.origin: _address(call, allowed, exchanges_url) for call in calls}


def address_of(call: CallSink, allowed: Mapping[str, str]) -> str | None:
    """In the operator's words; None if requests there are not allowed."""
    return allowed.get(call.origin)


def _address(call: CallSink, allowed: Mapping[str, str], exchanges_url: str | None) -> str:
    address = address_of(call, allowed)
    if address is None:
        problem = f"requests to {call.origin} are not allowed here; the operator allows them below [apps.addresses]"
        raise AppTextError(call.at, problem)
    if not address.startswith(SIMULATED):
        return address
    if exchanges_url is None:
        problem = f"{call.origin} stands for {address} ([apps.addresses]), and this session has no simulated exchanges"
        raise AppTextError(call.at, problem)
    return f"{exchanges_url}/{address.removeprefix(SIMULATED)}"
