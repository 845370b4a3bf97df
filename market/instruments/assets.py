"""What may be compared with what: an asset is known by the exchange and its own code, never by a ticker alone.

What each exchange's codes are comes as data (`exchanges/listed_codes.py`); what is not listed is not traded. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from market.instruments.contracts import contract_name
from market.instruments.markets import Market, codes_in
from market.instruments.token_contracts import Token, known_contracts

Kind = Literal["coin", "fiat", "stable coin", "wrapped coin", "contract"]


@dataclass(frozen=True, slots=True)
class Asset:
    """`asset_id` is ours and unlike any other; `network` if another asset of the same name lives elsewhere."""

    asset_id: str
    kind: Kind
    network: str | None = None
    follows: str | None = None
    """The asset whose price it means to have; it is another one all the same."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """A replay's decision to count one asset as another; `said` stands in its report."""

    asset_id: str
    counts_as: str
    said: str


@dataclass(frozen=True, slots=True)
class SessionCodes:
    """How the codes of a session's exchanges are known beyond the listed ones."""

    listed_as: Mapping[str, str] = field(default_factory=dict)
    """ccxt's name of an exchange that has another one in the session."""
    said: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Exchange → codes that are, as the user says, the assets of that name."""

    def ccxt_id(self, exchange: str) -> str:
        return self.listed_as.get(exchange, exchange)

    def are_said(self, exchange: str, code: str) -> bool:
        return code in self.said.get(exchange, ())


@dataclass(frozen=True, slots=True)
class ListedCodes:
    """What the codes of exchanges are, as far as anybody has looked: exchange → its own code → our id of the asset."""

    whole: Mapping[str, Mapping[str, str]]
    """Exchanges of which all codes that may be traded are listed."""
    single: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Exchanges of which only these codes were looked at."""
    spelled: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Exchange → a code of our symbols, which are ccxt's → what it calls that itself, if that differs."""

    def has_codes(self, exchange: str) -> bool:
        """Whether all codes that may be traded at this exchange are listed. Of the others, only the symbols that a user
        names are traded, by ccxt's common codes."""
        return exchange in self.whole

    def asset_of(self, exchange: str, code: str) -> Asset | None:
        """Return the asset of an exchange's own code, case-sensitive; None if unknown."""
        codes = self.whole.get(exchange) or self.single.get(exchange, {})
        asset_id = codes.get(code)
        return None if asset_id is None else _ASSETS[asset_id]

    def assets_of(self, market: Market) -> tuple[Asset | None, Asset | None]:
        """Return base and quote of what really trades there, by its symbol. A contract on a coin is not the coin."""
        spelled = self.spelled.get(market.exchange, {})
        base, quote = (self.asset_of(market.exchange, spelled.get(code, code)) for code in codes_in(market.symbol))
        if base is not None and ":" in market.symbol:
            named = contract_name(base.asset_id, market.symbol)
            base = Asset(named, "contract", follows=base.asset_id)
        return base, quote

    def meanings(self, code: str) -> frozenset[str]:
        """Return ids of all assets that exchanges are known to call by this code."""
        lists = (*self.whole.values(), *self.single.values())
        return frozenset(codes[code] for codes in lists if code in codes)


_COINS = {
    "bitcoin": "BTC",
    "bitcoin cash": "BCH",
    "litecoin": "LTC",
    "dogecoin": "DOGE",
    "ethereum": "ETH LINK UNI AAVE GRT SAND MANA CRV COMP SNX YFI SUSHI BAT ZRX ENJ CHZ LDO APE AXS GALA FET JASMY "
    "MASK",
    "ethereum classic": "ETC",
    "solana": "SOL RENDER",
    "xrp ledger": "XRP",
    "cardano": "ADA",
    "polkadot": "DOT",
    "avalanche": "AVAX",
    "stellar": "XLM",
    "cosmos": "ATOM",
    "near": "NEAR",
    "filecoin": "FIL",
    "algorand": "ALGO",
    "hedera": "HBAR",
    "sui": "SUI",
    "immutable": "IMX",
    "injective": "INJ",
    "arbitrum": "ARB",
    "optimism": "OP",
    "aptos": "APT",
    "sei": "SEI",
    "celestia": "TIA",
    "stacks": "STX",
    "internet computer": "ICP",
}
"""Network → coins that every exchange whose codes are listed calls by that one code."""
COMMON_CODES = tuple(code for codes in _COINS.values() for code in codes.split())

_ASSETS = {
    asset.asset_id: asset
    for asset in (
        *(Asset(code, "coin", network) for network, codes in _COINS.items() for code in codes.split()),
        Asset("USD", "fiat"),
        Asset("EUR", "fiat"),
        Asset("GBP", "fiat"),
        Asset("JPY", "fiat"),
        Asset("USDT", "stable coin", follows="USD"),
        Asset("USDC", "stable coin", follows="USD"),
        Asset("USTC", "stable coin", "terra classic", follows="USD"),
        Asset("WBTC", "wrapped coin", "ethereum", follows="BTC"),
        Asset("BTCB", "wrapped coin", "bnb chain", follows="BTC"),
        Asset("BTC.e", "wrapped coin", "avalanche", follows="BTC"),
        Asset("LUNA", "coin", "terra 2"),
        Asset("LUNC", "coin", "terra classic"),
        Asset("NEIROCTO", "coin", "ethereum"),
        Asset("NEIROETH", "coin", "ethereum"),
        Asset("EPIK (Solana)", "coin", "solana"),
        Asset("XBT (MEXC)", "coin"),
        Asset("EPIK (Ethereum)", "coin", "ethereum"),
    )
}

_FIATS = frozenset(
    {"AUD", "BRL", "CAD", "CHF", "CZK", "DKK", "HKD", "IDR", "INR", "KRW", "MXN", "NOK", "NZD", "PLN", "SEK", "SGD"}
    | {"THB", "TRY", "TWD", "UAH", "VND", "ZAR", "RUB", "CNY", "ARS", "COP", "CLP", "PEN", "NGN", "KES", "EGP", "ILS"}
    | {"AED", "SAR", "HUF", "RON", "BGN", "MYR", "PHP", "PKR", "KZT"}
)
"""Codes of ISO 4217 beside those above; they mean one currency everywhere."""


def may_count_as(asset_id: str, other: str) -> bool:
    """Whether one means to have the other's price, as USDT and USDC that of USD. Of an asset that nobody has listed its
    name says so (FDUSD)."""
    mine, theirs = _ASSETS.get(asset_id), _ASSETS.get(other)
    if mine is None:
        return asset_id not in _FIATS and other in asset_id
    prices = {other} if theirs is None else {theirs.asset_id, theirs.follows}
    return bool({mine.asset_id, mine.follows} & prices - {None})


def is_currency(code: str) -> bool:
    """Whether it is the code of a fiat currency or of a stable coin, under its common name."""
    asset = _ASSETS.get(code)
    return code in _FIATS or (asset is not None and asset.kind in ("fiat", "stable coin"))


def identity_fault(
    listed: ListedCodes,
    markets: Iterable[Market],
    assumptions: Iterable[Assumption] = (),
    codes: SessionCodes | None = None,
) -> str | None:
    """Return the first market that is not what it would be compared as, in one sentence; None if all are.

    `codes`: of a session that may trade if nobody has listed the codes; None: only listed ones are known.
    """
    assumed = tuple(assumptions)
    for market in markets:
        reason = not_compared_because(listed, market, assumed, codes)
        if reason is not None:
            return f"{market.exchange} {market.symbol} is not traded: {reason}"
    return None


def not_compared_because(
    listed: ListedCodes,
    market: Market,
    assumptions: Iterable[Assumption] = (),
    codes: SessionCodes | None = None,
) -> str | None:
    """Why a market is not what it would be compared as; None if it is."""
    assumed = {one.asset_id: one.counts_as for one in assumptions}
    for name, asset, compared_as in _sides(listed, market, codes):
        if codes is not None and codes.are_said(market.exchange, name):
            continue
        reason = _side_fault(listed, market, name, asset, compared_as, assumed, codes)
        if reason is not None:
            return reason
    return None


def said_fault(listed: ListedCodes, markets: Iterable[Market], codes: SessionCodes) -> str | None:
    """Return the first code that a user says is one asset, while our lists know two, in one sentence."""
    known: dict[str, tuple[str, Asset]] = {}
    for market in markets:
        for name, asset, _ in _sides(listed, market, codes):
            if asset is None or not codes.are_said(market.exchange, name):
                continue
            exchange, first = known.setdefault(name, (market.exchange, asset))
            if first != asset:
                return (
                    f"[asset.{name}] compare: {name} on {exchange} is {_described(first)}, but on {market.exchange} it "
                    f"is {_described(asset)}; two assets are never compared"
                )
    return None


def known_tokens(listed: ListedCodes, market: Market, codes: SessionCodes | None = None) -> tuple[Token, ...]:
    """Return its base and quote by our list of contracts."""
    source = f"our list for {market.exchange}"
    return tuple(
        Token(compared_as, source, known_contracts(compared_as if asset is None else asset.asset_id))
        for _, asset, compared_as in _sides(listed, market, codes)
    )


def _sides(listed: ListedCodes, market: Market, codes: SessionCodes | None) -> Iterable[tuple[str, Asset | None, str]]:
    """Return base and quote: ccxt's code there, our asset, and what it is compared as."""
    names = codes_in(market.symbol)
    at_ccxt = market if codes is None else replace(market, exchange=codes.ccxt_id(market.exchange))
    return zip(names, listed.assets_of(at_ccxt), (market.base, market.quote_currency), strict=False)


def _side_fault(
    listed: ListedCodes,
    market: Market,
    name: str,
    asset: Asset | None,
    compared_as: str,
    assumed: Mapping[str, str],
    codes: SessionCodes | None,
) -> str | None:
    if asset is not None:
        if assumed.get(asset.asset_id, asset.asset_id) == compared_as:
            return None
        return f"it would be compared as {compared_as}, but it is {_described(asset)}, another asset"
    if codes is None or listed.has_codes(codes.ccxt_id(market.exchange)):
        return f"the asset {name} on {market.exchange} is not known"
    known = listed.meanings(name)
    if known == {name} or name in _FIATS:
        return None
    may_be = f"{name} there may be {' or '.join(sorted(known))}" if known else f"the asset {name} there is not known"
    return f"{may_be}; name the exchanges where it is one asset in [asset.{name}] compare"


def _described(asset: Asset) -> str:
    follows = f" that follows {asset.follows}" if asset.follows else ""
    network = f" on {asset.network}" if asset.network else ""
    return f"{asset.asset_id}, a {asset.kind}{network}{follows}"
