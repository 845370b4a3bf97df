"""An app of three exchanges' public tickers: closes against the mean of the last ten, signals where they cross, kept in
a table. And what it has to give, computed another way."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

REGION = "play-us-west"
LENGTH = 10


@dataclass(frozen=True, slots=True)
class Ticker:
    """`close`: its name in the response, which is a number there or a text."""

    name: str
    exchange: str
    origin: str
    path: str
    close: str
    is_text: bool
    element: str = "$"


TICKERS = (
    Ticker(
        "Dollar", "coinbaseexchange", "https://api.pro.coinbase.com", "/products/btc-usd/ticker", "price", True, "$.*"
    ),
    Ticker("Euro", "bitstamp", "https://www.bitstamp.net", "/api/v2/ticker/btceur", "last", True),
    Ticker("Yen", "bitflyer", "https://api.bitflyer.com", "/v1/ticker", "ltp", False),
)

_HEAD = """@App:name('signals') @App:qlVersion('2')
CREATE TRIGGER Poll WITH (interval = {every});
CREATE SINK Bought WITH (type = 'log', prefix = 'BUY') (exchange string, region string, price double, at long);
CREATE SINK Sold WITH (type = 'log', prefix = 'SELL') (exchange string, region string, price double, at long);
CREATE TABLE GLOBAL signals (exchange string, region string, price double, at long);
INSERT INTO signals SELECT exchange, region, price, at FROM Bought;
INSERT INTO signals SELECT exchange, region, price, at FROM Sold;
"""
_TICKER = """
CREATE SINK Ask{one.name} WITH (type = 'http-call', publisher.url = '{one.origin}{one.path}', method = 'GET',
    headers = "'User-Agent:signals'", sink.id = '{one.exchange}', socket.idle.timeout = '20000',
    map.type = 'json') (at string);
CREATE SOURCE Told{one.name} WITH (type = 'http-call-response', sink.id = '{one.exchange}', http.status.code = '200',
    map.type = 'json', map.enclosing.element = '{one.element}') ({one.close} {kind});
CREATE SINK STREAM GLOBAL Mean{one.name} (exchange string, mean double, close double, at long);
INSERT INTO Ask{one.name} SELECT time:currentTimestamp() AS at FROM Poll;
INSERT INTO Mean{one.name}
SELECT '{one.exchange}' AS exchange, avg({close}) AS mean, {close} AS close, time:timestampInMilliseconds() AS at
FROM Told{one.name}[context:getVar('region') == 'play-us-west'] WINDOW SLIDING_LENGTH(10);
INSERT INTO Bought
SELECT b.exchange, context:getVar('region') AS region, b.close AS price, b.at
FROM every a = Mean{one.name}[a.close < a.mean], b = Mean{one.name}[b.close > b.mean];
INSERT INTO Sold
SELECT b.exchange, context:getVar('region') AS region, b.close AS price, b.at
FROM every a = Mean{one.name}[a.close > a.mean], b = Mean{one.name}[b.close < b.mean];
DELETE signals FOR EXPIRED EVENTS ON signals.exchange == exchange AND signals.at < at
SELECT exchange, at FROM Mean{one.name} WINDOW SLIDING_TIME({kept});
"""


def signal_text(every: str = "5 sec", kept: str = "1 min") -> str:
    parts = [_HEAD.format(every=every)]
    for one in TICKERS:
        close = f"convert({one.close}, 'double')" if one.is_text else one.close
        kind = "string" if one.is_text else "double"
        parts.append(_TICKER.format(one=one, close=close, kind=kind, kept=kept))
    return "".join(parts)


def exact_means(closes: Sequence[float]) -> list[Fraction]:
    """Return the means of the last ten closes, each included."""
    last = [closes[max(0, at + 1 - LENGTH) : at + 1] for at in range(len(closes))]
    return [Fraction(sum(map(Fraction, part))) / len(part) for part in last]


def expected_signals(closes: Sequence[float], means: Sequence[float | Fraction]) -> list[tuple[str, float]]:
    """`BUY` or `SELL` and the close at which it is given. A close that equals its mean ends what was begun."""
    sides = [(close > mean) - (close < mean) for close, mean in zip(closes, means, strict=True)]
    pairs = zip(sides, sides[1:], closes[1:], strict=False)
    return [("BUY" if after > 0 else "SELL", close) for before, after, close in pairs if before * after < 0]
