"""How exchanges write the symbols of their spot markets: which code comes first, and what they quote in.

Facts alone, by exchange, in its own codes: from its list of symbols if no other source is named, as of 2026-11. An
exchange that is not listed writes the base first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

First = Literal["base", "quote", "either"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """`quotes`: the currencies that it quotes in, by which a symbol without a separator is split; empty: not listed."""

    quotes: tuple[str, ...] = ()
    first: First = "base"
    """The one that comes first of the two codes of a symbol with a separator; "either": both orders were in use."""


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SPELLINGS: Mapping[str, Spelling] = {
    "bitstamp": Spelling(_codes("USD EUR GBP USDT USDC BTC ETH PAX PYUSD RLUSD")),
    "binance": Spelling(
        _codes(
            """USDT USDC FDUSD TUSD BUSD USDP USDS USD1 DAI VAI UST PAX BTC ETH BNB XRP TRX DOGE DOT SOL
            EUR GBP AUD TRY BRL RUB UAH NGN ZAR JPY MXN ARS PLN RON CZK COP IDRT BIDR BVND BKRW EURI"""
        )
    ),
    "binanceus": Spelling(_codes("USD USDT USDC BUSD DAI BTC ETH BNB")),
    "binanceusdm": Spelling(_codes("USDT USDC BUSD BTC")),
    "binancecoinm": Spelling(_codes("USD")),
    # old assets have four letters: XXBT, ZUSD
    "kraken": Spelling(
        _codes(
            """ZUSD ZEUR ZGBP ZJPY ZCAD ZAUD USD EUR GBP JPY CAD AUD CHF USDT USDC USDG USDD USDR PYUSD RLUSD DAI
            EURQ EURR XXBT XBT XETH ETH SOL DOT"""
        )
    ),
    "bitfinex": Spelling(_codes("USD UST EUR GBP JPY BTC ETH EUT XAUT MIM CNHT TRY EOS XCH")),
    "gemini": Spelling(_codes("USD USDT GUSD RLUSD USDC EUR GBP SGD BTC ETH BCH LTC FIL DAI")),
    "htx": Spelling(_codes("USDT USDC USDD HUSD TUSD BTC ETH HT TRX EUR GBP TRY BRL UAH")),
    "bybit": Spelling(_codes("USDT USDC USDE DAI BTC ETH EUR BRL PLN TRY MNT SOL")),
    "bitget": Spelling(_codes("USDT USDC USDE BTC ETH EUR BRL BGB")),
    "mexc": Spelling(_codes("USDT USDC USDE USDF USD1 TUSD BTC ETH EUR BRL MX")),
    "upbit": Spelling(_codes("KRW BTC USDT SGD IDR THB"), "quote"),
    # docs.poloniex.com: USDT_BTC in the system until July 2022, BTC_USDT since
    "poloniex": Spelling(first="either"),
    # version 1 of its interface wrote USDT-BTC, version 3 BTC-USDT
    "bittrex": Spelling(first="either"),
    # KRW-BTC since version 2 of its interface, BTC_KRW before
    "bithumb": Spelling(first="either"),
}

USUAL_QUOTES = _codes("USD USDT USDC FDUSD BUSD TUSD GUSD EUR GBP JPY KRW BTC ETH BNB")
"""What an exchange that is not listed may quote in."""

STABLE_COINS = frozenset(
    _codes(
        """BUSD TUSD FDUSD GUSD HUSD PYUSD RLUSD USDP USDD USDE USDF USDG USDQ USDR USDS USD1 USTC UST DAI PAX MIM VAI
        EURT EURC EURI EURQ EURR EURS XSGD IDRT BIDR BVND BKRW CNHT"""
    )
)
"""Coins that stand for a currency, beside those that are assets here: they may be priced in one another."""

QUOTED_BEFORE = tuple(
    frozenset(_codes(text))
    for text in ("USD EUR GBP JPY KRW SGD IDR THB", "USDT USDC USDD TUSD", "BTC", "TRX", "ETH", "XMR", "BNB")
)
"""If both orders are in use: of two codes the one in the earlier set is the quote; of one set, nobody can say."""

WELL_KNOWN = frozenset(
    _codes(
        """1INCH ACH AGIX AGLD ALICE ALPHA AMP ANKR ANT API3 AR ARPA ASTR AUCTION AUDIO BADGER BAL BAND BEAM BICO BLUR
        BNB BNT BONK BSV BTT C98 CAKE CELO CELR CFX CHR CKB COTI CTSI CVC CVX DASH DCR DENT DGB DYDX EGLD EIGEN ENA ENS
        EOS ETHFI EUL FLM FLOKI FLOW FLR FTM FXS GAL GLM GMT GMX GNO GNT GODS GTC HIGH HNT HOOK HOT HT ICX ID IOST IOTA
        JOE JTO JUP KAS KAVA KEEP KLAY KNC KSM LIT LPT LQTY LRC LSK MAGIC MATIC METIS MINA MKR MNT MTL NANO NEO NEXO NKN
        NMR NOT NU OCEAN OGN OMG ONDO ONE ONT ORDI OXT PAXG PENDLE PEPE PERP POL POLY POWR PYTH QNT QTUM RAD RAY REEF
        REN REP REQ RLC RNDR RONIN ROSE RPL RSR RUNE RVN S SATS SC SHIB SKL SLP SPELL SRM SSV STG STORJ STRK SUPER SXP
        SYN T TAO THETA TON TRB TRU TRX TURBO TWT UMA VET VTHO W WAVES WAXP WIF WLD WOO XEC XEM XMR XTZ XVG XYO YGG ZEC
        ZEN ZIL ZK ZRO"""
    )
)
"""Codes of coins that many exchanges list, beside those that are assets here. They tell the readings of a symbol
without a separator apart, and say nothing of what the coin is."""


def spelling_of(exchange: str) -> Spelling:
    return _SPELLINGS.get(exchange, Spelling())
