"""Contracts of tokens: two coins with one ticker differ if their contracts on one network do. Pure.

What is not known stays unknown, and proves nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

Contracts = Mapping[str, str]
"""Network → address of the token there."""

_ON_ETHEREUM = {
    "AAVE": "0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9",
    "APE": "0x4d224452801ACEd8B2F0aebE155379bb5D594381",
    "AXS": "0xBB0E17EF65F82Ab018d8EDd776e8DD940327B28b",
    "BAT": "0x0D8775F648430679A709E98d2b0Cb6250d2887EF",
    "CHZ": "0x3506424F91fD33084466F402d5D97f05F8e3b4AF",
    "COMP": "0xc00e94Cb662C3520282E6f5717214004A7f26888",
    "CRV": "0xD533a949740bb3306d119CC777fa900bA034cd52",
    "ENJ": "0xF629cBd94d3791C9250152BD8dfBDF380E2a3B9c",
    "FET": "0xaea46A60368A7bD060eec7DF8CBa43b7EF41Ad85",
    "GALA": "0xd1d2Eb1B1e90B638588728b4130137D262C87cae",
    "GRT": "0xc944E90C64B2c07662A292be6244BDf05Cda44a7",
    "IMX": "0xF57e7e7C23978C3cAEC3C3548E3D615c346e79fF",
    "JASMY": "0x7420B4b9a0110cdC71fB720908340C03F9Bc03EC",
    "LDO": "0x5A98FcBEA516Cf06857215779Fd812CA3beF1B32",
    "LINK": "0x514910771AF9Ca656af840dff83E8264EcF986CA",
    "MANA": "0x0F5D2fB29fb7d3CFeE444a200298f468908cC942",
    "SAND": "0x3845badAde8e6dFF049820680d1F14bD3903a5d0",
    "SNX": "0xC011a73ee8576Fb46F5E1c5751cA3B9Fe0af2a6F",
    "SUSHI": "0x6B3595068778DD592e39A122f4f5a5cF09C90fE2",
    "UNI": "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "YFI": "0x0bc529c00C6401aEF6D220BE8C6Ea1667F6Ad93e",
    "ZRX": "0xE41d2489571d322189246DaFA5ebDe1F4699F498",
    "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    "USDT": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    "WBTC": "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
    "NEIROCTO": "0x812Ba41e071C7b7fA4EBcFB62dF5F45f6fA853Ee",
    "NEIROETH": "0xEE2a03Aa6Dacf51C18679C516ad5283d8E7C2637",
}
_KNOWN: Mapping[str, Contracts] = {name: {"ethereum": address} for name, address in _ON_ETHEREUM.items()} | {
    "BTCB": {"bnb chain": "0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c"},
}
_NETWORKS = {
    "erc20": "ethereum",
    "eth": "ethereum",
    "bep20": "bnb chain",
    "bsc": "bnb chain",
    "spl": "solana",
    "sol": "solana",
    "avaxc": "avalanche",
}
"""ccxt's codes of networks, in small letters."""
_LAST_CHARACTERS = 6
"""OKX states no more of an address (its documentation of `ctAddr`)."""


@dataclass(frozen=True, slots=True)
class Token:
    """One asset at one exchange, by the name that it is compared by; `source` says who knows its contracts."""

    name: str
    source: str
    contracts: Contracts


def known_contracts(asset_id: str) -> Contracts:
    """Return the contracts of one of our assets; empty if it is no token or nobody has looked."""
    return _KNOWN.get(asset_id, {})


def network_name(code: str) -> str:
    """Ours of a network that ccxt calls by that code."""
    return _NETWORKS.get(code.lower(), code.lower())


def is_address(text: str) -> bool:
    """Whether it can be a contract's. Some exchanges state a row of one digit for a network's own coin."""
    return len(text) >= _LAST_CHARACTERS and len(set(text.lower().removeprefix("0x"))) > 1


def contract_fault(tokens: Iterable[Token]) -> str | None:
    """Return the first two of one name that are different coins, in one sentence; None if none are known to be."""
    by_name: dict[str, dict[str, Token]] = {}
    for token in tokens:
        by_name.setdefault(token.name, {})[token.source] = token
    for by_source in by_name.values():
        for one, other in combinations(by_source.values(), 2):
            network = _network_that_differs(one.contracts, other.contracts)
            if network is not None:
                return (
                    f"{one.name} is not compared: its contract on {network} is {one.contracts[network]} "
                    f"({one.source}), but {other.contracts[network]} ({other.source}); these are two coins"
                )
    return None


def _network_that_differs(one: Contracts, other: Contracts) -> str | None:
    """None if they share none, or one contract: an exchange with the same coin on one network may take a bridged
    form of it on another."""
    shared = sorted(one.keys() & other.keys())
    if any(_is_same(one[network], other[network]) for network in shared):
        return None
    return shared[0] if shared else None


def _is_same(one: str, other: str) -> bool:
    """Addresses of Ethereum's kind in any letters; an address of which only the end is stated by that."""
    if one.startswith("0x") or other.startswith("0x"):
        one, other = one.lower(), other.lower()
    if len(one) == _LAST_CHARACTERS or len(other) == _LAST_CHARACTERS:
        return one.endswith(other) or other.endswith(one)
    return one == other
