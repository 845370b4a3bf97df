"""The contracts of tokens as an exchange states them, from ccxt's list of its currencies. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from market.instruments.markets import Market, codes_in
from market.instruments.token_contracts import Contracts, Token, is_address, network_name

_FIELDS = ("contract", "contractAddress", "contract_address", "ctAddr")
"""Names of the contract's field in a currency's network in ccxt, or as the exchange calls it: KuCoin, Bitget and
Binance; Coinbase; OKX."""


def stated_tokens(markets: Iterable[Market], currencies: Mapping[str, Any] | None) -> tuple[Token, ...]:
    """Return base and quote of all traded markets of one exchange, each once, if it states any contract."""
    tokens: dict[str, Token] = {}
    for market in markets:
        if market.is_fx:
            continue
        for code, name in zip(codes_in(market.symbol), (market.base, market.quote_currency), strict=True):
            contracts = stated_contracts((currencies or {}).get(code))
            if contracts:
                tokens[name] = Token(name, f"stated by {market.exchange}", contracts)
    return tuple(tokens.values())


def stated_contracts(currency: Any) -> Contracts:
    """Return the contracts in ccxt's row of a currency; networks without a contract are left out."""
    networks = currency.get("networks") if isinstance(currency, Mapping) else None
    found = {}
    for code, network in (networks or {}).items():
        address = _address(network) if isinstance(network, Mapping) else None
        if address is not None:
            found[network_name(str(code))] = address
    return found


def _address(network: Mapping[str, Any]) -> str | None:
    info = network.get("info")
    rows = (network, info) if isinstance(info, Mapping) else (network,)
    stated = (row.get(name) for row in rows for name in _FIELDS)
    return next((text for text in stated if isinstance(text, str) and is_address(text)), None)
