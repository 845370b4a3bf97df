"""Names of assets and exchanges that a user asks for, and one sentence for those that the session does not have."""

from collections.abc import Iterable

from session.session import Session

LISTED = 12
"""Names that the sentence lists; a session may have fifty assets."""


def unknown_asset(session: Session, name: str) -> str | None:
    """Return the sentence; None if a market of the session, FX included, has it as its base."""
    if any(market.base == name for market in session.markets):
        return None
    return f"This session has no asset {name!r}; it has {listed(session.bases)}."


def unknown_exchange(session: Session, name: str) -> str | None:
    """Return the sentence; None if the session has it."""
    if name in session.exchanges:
        return None
    return f"This session has no exchange {name!r}; it has {listed(session.exchanges)}."


def is_of_market(base: str | None, exchange: str | None, its_base: str, *its_exchanges: str) -> bool:
    """Return whether a row passes the filter; None: any."""
    return base in (None, its_base) and (exchange is None or exchange in its_exchanges)


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return ", ".join(known[:LISTED]) + more
