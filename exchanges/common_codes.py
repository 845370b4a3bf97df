"""What ccxt calls the codes of an exchange: the names that our symbols have, too."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from exchanges.errors import AccountRejectedError

_CLIENTS = "exchanges.requests.time_synced_signing"
"""Imported on use: ccxt takes half a second, which nobody who asks for no code need spend."""
_OLD_CODES = {"XBT": "BTC", "XXBT": "BTC", "XDG": "DOGE", "XXDG": "DOGE"}
"""At exchanges that ccxt does not know."""


def common_code(exchange: str, code: str) -> str:
    """BTC for Kraken's XXBT, LUNC for its LUNA; the exchange's own code if ccxt has no other."""
    return _common_codes(exchange).get(code, code)


@cache
def _common_codes(exchange: str) -> Mapping[str, str]:
    try:
        client = import_module(_CLIENTS).client_class(exchange)()
    except AccountRejectedError:
        return _OLD_CODES
    return {str(code): str(name) for code, name in client.commonCurrencies.items()}
