"""What the exchange says of our API key, and of how the account pays its fees: asked before live trading starts."""

from typing import Any

from exchanges.catalogue import orders_of
from exchanges.ports.orders import KeyRights, understood
from market.instruments.markets import Market


async def key_rights(client: Any, market: Market) -> KeyRights:
    """By signed reads. Raises ccxt's errors, AnswerNotUnderstoodError."""
    orders = orders_of(client.id)
    return KeyRights() if orders is None else await understood(orders.key_rights(client, market))


def refusal(exchange: str, rights: KeyRights) -> str | None:
    """Why live trading must not begin with such a key, in a sentence; None if nothing is against it."""
    if rights.may_withdraw:
        return (
            f"the API key for {exchange} may withdraw: make one without that right, since a bot never needs it and "
            "whoever finds the key could empty the account"
        )
    if rights.pays_in is not None:
        return (
            f"{exchange} takes this account's fees in {rights.pays_in}, which profit and the daily loss limit cannot "
            f"value: switch off paying fees with {rights.pays_in} there"
        )
    return None
