"""How a session reaches each of its exchanges. Pure."""

from dataclasses import dataclass
from typing import Literal

Adapter = Literal["verified", "generic"]
"""A reader and an order API of our own, or the generic ones on ccxt."""
OrderTransport = Literal["socket", "rest"]
"""How orders are sent. Over a socket that is not connected they go by REST."""


@dataclass(frozen=True, slots=True)
class ExchangeEntry:
    """One exchange of a session: ccxt's name of it, and whose reader and orders serve it."""

    ccxt: str
    adapter: Adapter = "verified"
    rate_limit_ms: float | None = None
    """ccxt's pace of a generic one, for processes that do not load its class."""
    leg_units: float | None = None
    """What a leg costs there in ccxt's units, likewise."""
    at_one_address: int = 1
    """How many exchanges of the session are this one at ccxt, itself included: they share what it allows an address."""
    said_codes: tuple[str, ...] = ()
    """Codes that are the assets of that name there because the user says so, whatever our lists know."""

    order_transport: OrderTransport | None = None
    """None: as was measured to be quicker, where the account's key allows it."""

    @property
    def is_generic(self) -> bool:
        return self.adapter == "generic"
