"""The markets of imported rows: size rules if they are known, and the identity of their assets.

An asset that is known to be another one than its ticker is compared as what it is. Two markets of one set whose
common ticker means two assets are rejected, and so is a contract on a coin, until the user says what it counts as.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from exchanges.dated_codes import counted_coins
from exchanges.listed_codes import listed_codes
from exchanges.ports.codes import power_of_ten
from market.instruments.assets import Asset, Assumption
from market.instruments.contracts import ALONE, Contract, contract_name, kind_of, known_contract
from market.instruments.markets import Market
from market.money import EXACT, decimal_of_whole, text_of
from tick_sets.errors import ImportRejectedError
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.rows.contract_amounts import amount_note
from tick_sets.rows.size_rules import ANY_STEP, SizeRules, known_markets, size_note
from tick_sets.rows.symbol_names import is_currency_pair

UNKNOWN_REGION = "unknown"
LONGEST_WORD = 100
"""Bytes of a name."""


@dataclass(frozen=True, slots=True)
class MarketWords:
    """What the user says of all files of one import."""

    region: str | None = None
    is_fx: bool = False
    alike: tuple[Assumption, ...] = ()
    contract_size: Decimal | None = None
    """The contract size of derivatives: in quote currency of an inverse one, in base of a linear one."""
    size_rules: SizeRules = field(default_factory=SizeRules)


class ImportedMarkets:
    """The markets of one set, those that it had before first. What counts as what holds for all of them alike."""

    def __init__(self, known: Iterable[Market], words: MarketWords) -> None:
        """Take the known markets; `words.alike`: all that the set counts alike. Raises ImportRejectedError if a known
        market cannot be compared so."""
        self._words = words
        self._counts_as = {one.asset_id: one.counts_as for one in words.alike}
        for word in self._counts_as.values():
            _check_word(word)
        self._assets: dict[str, tuple[str, Market]] = {}
        """Ticker of a base → what it means, and the first market that says so."""
        self.assumptions: dict[str, None] = {}
        self._markets = {(market.exchange, market.symbol): self._as_before(market) for market in known}
        for market in self._markets.values():
            self._learn_asset(market)

    @property
    def markets(self) -> tuple[Market, ...]:
        """Return the markets, traded ones first, each kind by exchange and symbol."""
        return tuple(sorted(self._markets.values(), key=lambda one: (one.is_fx, one.exchange, one.symbol)))

    @property
    def alike(self) -> tuple[Assumption, ...]:
        return self._words.alike

    def market_of(self, key: MarketKey) -> Market:
        """Return the market. Raises ImportRejectedError in one sentence."""
        if key not in self._markets:
            market = self._new_market(*key)
            self._learn_asset(market)
            self._markets[key] = market
        market = self._markets[key]
        self._words.size_rules.check(market)
        note = self._words.contract_size
        if market.contract is not None and note not in (None, market.contract.size):
            size = text_of(market.contract.size)
            raise ImportRejectedError(
                f"{market.exchange} {market.symbol}: its contract is {size} in this set; name another set with --set"
            )
        return market

    def _new_market(self, exchange: str, symbol: str) -> Market:
        base, _, quote = symbol.partition(":")[0].partition("/")
        if not exchange or not base or not quote:
            raise ImportRejectedError(
                f"{exchange} {symbol}: is not a market; name the exchange as in --exchange kraken, "
                f"the symbol as in --symbol BTC/USD"
            )
        for word in (exchange, base, quote):
            _check_word(word)
        market = known_markets().get((exchange, symbol))
        if market is None:
            market = self._words.size_rules.applied(_plain_market(exchange, symbol, base, quote))
        if self._words.region is not None:
            market = replace(market, region=self._words.region)
        is_fx = market.is_fx or self._words.is_fx or is_currency_pair(exchange, symbol)
        market = self._compared(replace(market, is_fx=is_fx, contract=self._contract_of(exchange, symbol)))
        # a step of the unit's price is a thousandth of it in the price of one
        return replace(market, tick_size=EXACT.divide(market.tick_size, market.coins_per_unit))

    def _as_before(self, market: Market) -> Market:
        """Return the set's own market, if it already has rows. Raises ImportRejectedError."""
        compared = self._compared(market)
        if compared.coins_per_unit != market.coins_per_unit:
            unit = text_of(max(compared.coins_per_unit, market.coins_per_unit))
            raise ImportRejectedError(
                f"{market.exchange} {market.symbol}: its prices are of {unit} coins, by which its rows in this set "
                f"would have to be converted; import its files into another set"
            )
        return compared

    def _contract_of(self, exchange: str, symbol: str) -> Contract | None:
        """Return the contract. Raises ImportRejectedError if only the user can know."""
        kind, place = kind_of(symbol), f"{exchange} {symbol}"
        if kind == "spot":
            if exchange in ALONE:
                raise ImportRejectedError(
                    f"{place}: {exchange} trades only contracts; say what this one is settled in, as in "
                    f"--symbol {symbol}:{symbol.partition('/')[2]}"
                )
            return None
        if kind == "other":
            raise ImportRejectedError(
                f"{place}: is settled in neither of its currencies, or is an option; its amounts have no size in base"
            )
        note, known = self._words.contract_size, known_contract(exchange, symbol)
        if note is not None:
            return Contract(kind, note)
        if known is None:
            base, _, quote = symbol.partition(":")[0].partition("/")
            raise ImportRejectedError(
                f"{place}: counts contracts, and it is not known how many {quote if kind == 'inverse' else base} one "
                f"is; set it, for example --contract-size {'100' if kind == 'inverse' else '0.01'}"
            )
        return known

    def _compared(self, market: Market) -> Market:
        """Return the market with what its two currencies count as, noting assumptions. Raises ImportRejectedError."""
        place = f"{market.exchange} {market.symbol}"
        base, _, quote = market.symbol.partition(":")[0].partition("/")
        for note in (amount_note(market), size_note(market)):
            if note is not None:
                self._assume(note)
        assets = listed_codes().assets_of(market)
        compared = replace(
            market,
            base=self._compared_as(market, base, assets[0]),
            quote_currency=self._compared_as(market, quote, assets[1]),
        )
        unit = _coins_per_unit(market.exchange, base, compared.base)
        if unit != 1:
            self._assume(f"prices and amounts of {place} are of {unit} {compared.base}: they became those of one")
        return replace(compared, coins_per_unit=decimal_of_whole(unit))

    def _compared_as(self, market: Market, ticker: str, asset: Asset | None) -> str:
        """Return what the asset counts as. Raises ImportRejectedError if only the user can know."""
        place = f"{market.exchange} {market.symbol}"
        coin, _ = counted_coins(market.exchange, ticker)
        asset_id = coin if asset is None else asset.asset_id
        is_contract = ":" in market.symbol and ticker == market.symbol.partition("/")[0]
        if asset is None and is_contract:
            asset_id = contract_name(coin, market.symbol)
        if asset_id in self._counts_as:
            return self._counts_as[asset_id]
        if is_contract:
            coin = asset_id.partition(" contract")[0]
            raise ImportRejectedError(
                f"{place}: is a contract on {coin}, which is not {coin} itself; "
                f"to compare both say --alike '{asset_id}={coin}'"
            )
        if asset is None:
            others = listed_codes().meanings(ticker)
            if others - {ticker}:
                raise ImportRejectedError(
                    f"{place}: {ticker} is one ticker of several assets ({', '.join(sorted(others))}), and it "
                    f"is not known which one it is there; set it, for example --alike {ticker}={min(others)}"
                )
            self._assume(f"{ticker} on {market.exchange} is taken for the asset that its ticker says")
        return asset_id

    def _learn_asset(self, market: Market) -> None:
        """Raise ImportRejectedError if the same ticker means another asset on another market of the set."""
        ticker = market.symbol.partition("/")[0]
        meant, first = self._assets.setdefault(ticker, (market.base, market))
        if meant != market.base:
            raise ImportRejectedError(
                f"{market.exchange} {market.symbol} and {first.exchange} {first.symbol} are two assets under one "
                f"ticker: {market.base} and {meant}; import them into sets of their own"
            )

    def _assume(self, said: str) -> None:
        self.assumptions[said] = None


def _coins_per_unit(exchange: str, code: str, compared_as: str) -> int:
    """Return how many coins a unit is: by the list of its exchange, or by the user's word that a code such as 1000PEPE
    is PEPE."""
    _, listed = counted_coins(exchange, code)
    said = power_of_ten(code)
    return said[1] if listed == 1 and said is not None and said[0] == compared_as else listed


def _check_word(word: str) -> None:
    """Check a word, because folders are named after assets. Raises ImportRejectedError."""
    if not word.isprintable() or set(word) & set("/\\") or len(word.encode()) > LONGEST_WORD:
        raise ImportRejectedError(f"{word[:LONGEST_WORD]!r}: is not the name of an exchange or an asset")


def _plain_market(exchange: str, symbol: str, base: str, quote: str) -> Market:
    regions = {one.exchange: one.region for one in known_markets().values()}
    return Market(
        exchange=exchange,
        region=regions.get(exchange, UNKNOWN_REGION),
        symbol=symbol,
        base=base,
        quote_currency=quote,
        tick_size=ANY_STEP,
        lot_step=ANY_STEP,
        minimum_amount=ANY_STEP,
        minimum_notional=Decimal(0),
        fee_side="quote",
    )
