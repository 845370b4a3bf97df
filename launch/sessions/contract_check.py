"""Checks before a session at real exchanges starts that no two coins have one ticker, by the contracts that are
known."""

from collections.abc import Iterable

from exchanges.listed_codes import listed_codes
from launch.errors import CannotStartError
from market.instruments.assets import SessionCodes, known_tokens
from market.instruments.token_contracts import Token, contract_fault
from session.session import Session


def check_contracts(session: Session, stated: Iterable[Token]) -> None:
    """Compare what the exchanges state with each other and with our list. Raises CannotStartError."""
    codes = codes_of(session)
    known = [token for market in session.traded for token in known_tokens(listed_codes(), market, codes)]
    fault = contract_fault([*known, *stated])
    if fault is not None:
        raise CannotStartError(f"{fault}.")


def codes_of(session: Session) -> SessionCodes:
    """Return how the codes of its exchanges are known."""
    entries = {name: session.entry_of(name) for name in session.exchanges}
    return SessionCodes(
        {name: entry.ccxt for name, entry in entries.items()},
        {name: frozenset(entry.said_codes) for name, entry in entries.items()},
    )
