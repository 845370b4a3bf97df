"""Environment variables with the API keys of real accounts, and the one that arms live trading."""

import re
from collections.abc import Collection, Mapping

from exchanges.catalogue import facts_of
from exchanges.credentials import Credentials
from exchanges.errors import AccountRejectedError

ARM_VARIABLE = "ARBITRAGE_ARM_LIVE"
"""Must be `yes` before anything is sent to a real exchange, or to its sandbox."""
_SUFFIXES = {"api_key": "KEY", "secret": "SECRET", "password": "PASSWORD", "uid": "UID"}
"""Field of Credentials → end of the variable's name."""
# those of notification destinations are read by another process
_KEY_VARIABLE = re.compile(rf"ARBITRAGE_(?!NOTICES_)[A-Z0-9_]+_({'|'.join(_SUFFIXES.values())})")


def key_variables(exchange: str, is_sandbox: bool, fields: Collection[str] | None = None) -> dict[str, str]:
    """Environment variables of an account's credentials, by field; a sandbox has its own.

    `fields`: those that it needs, if `exchange` is no name of ccxt's.
    """
    prefix = f"ARBITRAGE_{'SANDBOX_' if is_sandbox else ''}{exchange.upper()}_"
    return {field: prefix + _SUFFIXES[field] for field in fields or own_key_fields(exchange)}


def own_key_fields(ccxt_id: str) -> tuple[str, ...]:
    """Return the fields of the credentials of an exchange of the catalogue; of others the usual ones."""
    facts = facts_of(ccxt_id)
    return ("api_key", "secret") if facts is None else facts.key_fields


def key_variables_of(exchange: str) -> set[str]:
    """All environment variables that may contain an API key of this exchange."""
    return {name for box in (False, True) for name in key_variables(exchange, box, _SUFFIXES).values()}


def is_key_variable(name: str) -> bool:
    """Whether it may contain an API key, of whatever exchange."""
    return _KEY_VARIABLE.fullmatch(name) is not None


def environment_credentials(
    exchange: str,
    environment: Mapping[str, str],
    is_sandbox: bool = False,
    fields: Collection[str] | None = None,
) -> Credentials:
    """Return the API keys of a real exchange. Raises AccountRejectedError, naming each variable that is missing."""
    variables = key_variables(exchange, is_sandbox, fields)
    missing = [name for name in variables.values() if not environment.get(name, "").strip()]
    if missing:
        kind = "sandbox" if is_sandbox else "live"
        raise AccountRejectedError(f"{kind} trading on {exchange} needs {' and '.join(missing)} in the environment")
    return Credentials(**{part: environment[name].strip() for part, name in variables.items()})
