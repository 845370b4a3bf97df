"""What the streams of Bybit and OKX know of each market: the number of its last step, and its last day's trades."""

from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import MarketStep

_NUMBER_MICROSECONDS = 100
"""Numbers start at ten thousand per second since 1970, so that they grow across restarts."""


class StreamedSteps:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._days = {symbol: TradedDay() for symbol in exchange.listings}
        self._numbers = dict.fromkeys(exchange.listings, self.first_number)

    @property
    def first_number(self) -> int:
        """The number of a step that begins now."""
        return self._exchange.clock.now() // _NUMBER_MICROSECONDS

    def take(self, step: MarketStep) -> None:
        self._numbers[step.symbol] += 1
        for trade in step.trades:
            self._days[step.symbol].add(trade)

    def number(self, symbol: str) -> int:
        """Return the number of the market's last step."""
        self._exchange.venue.steps.look(symbol)
        return self._numbers[symbol]

    def figures(self, symbol: str) -> DayFigures | None:
        self._exchange.venue.steps.look(symbol)
        return self._days[symbol].figures(self._exchange.clock.now())
