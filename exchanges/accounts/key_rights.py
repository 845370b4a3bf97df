"""What the exchange says of our API key, and of how the account pays its fees: asked before live trading starts."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import ccxt

from exchanges.exchange_symbols import binance_symbol
from exchanges.ports.orders import row_of, understood
from market.instruments.markets import Market


@dataclass(frozen=True, slots=True)
class KeyRights:
    """`may_withdraw`, `is_bound`: whether the key may withdraw, and works from listed addresses alone; None if the
    exchange does not say. `pays_in`: a currency of neither side of a market that fees are taken in."""

    may_withdraw: bool | None = None
    is_bound: bool | None = None
    pays_in: str | None = None


async def key_rights(client: Any, market: Market) -> KeyRights:
    """By signed reads. Raises ccxt's errors, AnswerNotUnderstoodError."""
    ask = _ASKED.get(client.id)
    return KeyRights() if ask is None else await understood(ask(client, market))


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


async def _binance(client: Any, market: Market) -> KeyRights:
    """GET /api/v3/account/commission, and GET /sapi/v1/account/apiRestrictions, which the test network lacks."""
    asked = {"symbol": binance_symbol(market)}
    discount = row_of(row_of(await client.privateGetAccountCommission(asked)).get("discount"))
    is_taken = discount.get("enabledForAccount") is True and discount.get("enabledForSymbol") is True
    pays_in = str(discount.get("discountAsset")) if is_taken else None
    try:
        said = row_of(await client.sapiGetAccountApiRestrictions())
    except ccxt.NotSupported:
        return KeyRights(pays_in=pays_in)
    return KeyRights(said.get("enableWithdrawals") is True, said.get("ipRestrict") is True, pays_in)


async def _kraken(client: Any, _market: Market) -> KeyRights:
    """POST /0/private/GetApiKeyInfo, which needs no permission."""
    said = row_of(row_of(await client.privatePostGetApiKeyInfo()).get("result"))
    permissions, addresses = said.get("permissions"), said.get("ipAllowlist")
    return KeyRights(
        may_withdraw=isinstance(permissions, list) and "withdraw-funds" in permissions, is_bound=bool(addresses)
    )


async def _bitflyer(client: Any, _market: Market) -> KeyRights:
    """GET /v1/me/getpermissions: the paths that the key may ask."""
    paths = await client.privateGetGetpermissions()
    moving = {"/v1/me/withdraw", "/v1/me/sendcoin"}
    return KeyRights(may_withdraw=isinstance(paths, list) and not moving.isdisjoint(map(str, paths)))


_ASKED: dict[str, Callable[[Any, Market], Awaitable[KeyRights]]] = {
    "binance": _binance,
    "kraken": _kraken,
    "bitflyer": _bitflyer,
}
