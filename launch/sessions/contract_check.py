"""Before a session at real exchanges starts: no two coins with one ticker, by the contracts that are known."""

from collections.abc import Iterable

from launch.errors import CannotStartError
from market.instruments.assets import SessionCodes, known_tokens
from market.instruments.token_contracts import Token, contract_fault
from session.session import Session


def check_contracts(session: Session, stated: Iterable[Token]) -> None:
    """Compares what the exchanges state with each other and with our list. Raises CannotStartError."""
    codes = SessionCodes({name: session.entry_of(name).ccxt for name in session.exchanges})
    known = [token for market in session.traded for token in known_tokens(market, codes)]
    fault = contract_fault([*known, *stated])
    if fault is not None:
        raise CannotStartError(f"{fault}.")
