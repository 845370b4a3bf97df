"""A market of two exchanges that moves at random, and the opportunities in it."""

from random import Random

from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from market.prices.quotes import Quote
from tests.backtest.trading_samples import SECOND, START, Book, offered, tick
from tests.market.samples import EUR_MARKET, USD_MARKET, levels


class Recording:
    """Two books that move at random, and opportunities when one of them is cheap."""

    def __init__(self, seed: int, quotes: int, until: int | None = None, seed_behind: int = 0) -> None:
        """Make the recording; what comes after `until` is drawn from another seed."""
        random = Random(seed)
        self.rows: list[dict[str, object]] = []
        self.quotes: list[Quote] = []
        self.opportunities: list[Opportunity] = []
        time, asks, bids = START, _asks(random), _bids(random)
        for number in range(quotes):
            time += random.randrange(1, SECOND // 5)
            if until is not None and time > until:
                random, until = Random(seed_behind), None
            if number % 2:
                asks = _asks(random)
                self._show(USD_MARKET, time, (("5000", "1"), ("4990", "1")), asks)
            else:
                bids = _bids(random)
                self._show(EUR_MARKET, time, bids, (("7000", "1"), ("7010", "1")))
            if number > 1 and random.random() < 0.6:
                self.opportunities.append(offered(time, f"{seed}-{number}", asks, bids))

    def _show(self, market: Market, time: int, bids: Book, asks: Book) -> None:
        self.rows.append(tick(market, time, bids, asks))
        self.quotes.append(
            Quote(
                kind="quote",
                exchange=market.exchange,
                region=market.region,
                symbol=market.symbol,
                base=market.base,
                quote_currency=market.quote_currency,
                bids=levels(*bids),
                asks=levels(*asks),
                exchange_time=None,
                received_time=time,
                sequence=time,
            )
        )


def _asks(random: Random) -> Book:
    """Return asks of about 6,000 USD; sometimes far from it, so that a seen price is gone once the order arrives."""
    best = 6_000 + random.choice((0, 0, 1, 2, 60))
    return (str(best), _amount(random)), (str(best + 3), _amount(random))


def _bids(random: Random) -> Book:
    best = 5_618 - random.choice((0, 0, 1, 2, 60))
    return (str(best), _amount(random)), (str(best - 3), _amount(random))


def _amount(random: Random) -> str:
    return random.choice(("0.02", "0.05", "0.1", "0.5"))
