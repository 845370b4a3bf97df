"""The moving average strategy's rule, as its app has it: the app's host in a bot's process, with neither Kafka nor
Spark.

The state of a market is the store's, its last closes, so that any process can go on with it. What is kept here of them
is no more than a head start.
"""

from decimal import Context, Decimal, localcontext
from importlib.resources import files
from threading import Lock

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.errors import AppTextError
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import described
from cep.errors import CepCannotStartError
from market.money import ZERO
from market.trade.moving_average import SIDES, AverageCrossing, Close, MovingAverage

FILE_NAME = "moving-average.app"
CLOSES, MEANS, SIGNALS = "Closes", "Means", "Signals"
COLUMNS = {
    CLOSES: "exchange string, symbol string, price decimal",
    MEANS: "exchange string, symbol string, price decimal, mean decimal, closes long, side int",
    SIGNALS: "exchange string, symbol string, side string, price decimal, mean decimal",
}
"""What the session gives and reads, in this order; the app may have other streams beside them."""
WIDE = Context(prec=1_000)
"""Sums and products of closes are exact in it: a number of ours has at most 40 digits, and exponents within 30."""
SHOWN = Context(prec=28)
"""Digits of a mean that people read."""
MOST_BEGUN = 1_000
"""Markets that are begun before the app begins without any: what it has of each is some kilobytes."""

Closes = tuple[Decimal, ...]


def shipped_average_app() -> "AverageApp":
    """Return the app of the text that ships, `apps/moving-average.app`. Raises CepCannotStartError."""
    return AverageApp(files("cep.apps.hosts").joinpath(FILE_NAME).read_text(encoding="utf-8"))


class AverageApp:
    """`market.trade.moving_average.AverageRule`. May be called from several threads, as the store's transactions do."""

    def __init__(self, text: str) -> None:
        """Raise CepCannotStartError, one sentence with its place, if it is no app that gives signals of closes."""
        self._lock = Lock()
        self._seen: dict[tuple[str, str], Closes | None] = {}
        """What the app has seen of each market, as far as it looks back; None while it is not known."""
        self.begun = 0
        """How often a market was begun, which is a market of its own to the app: it cannot forget one."""
        self._means: list[Row] = []
        self._signals: list[Row] = []
        try:
            self._app = parse_with_product_streams(text)
            self._begin()
        except AppTextError as error:
            raise CepCannotStartError(f"{FILE_NAME}: {error}") from None

    def __call__(self, before: MovingAverage, close: Close) -> tuple[MovingAverage, AverageCrossing | None]:
        """Raise ValueError if the app gives no mean of a close."""
        market = (close.exchange, close.symbol)
        with self._lock, localcontext(WIDE):
            if not self._goes_on(market, before.closes):
                # new, or the transaction of the close before did not come through, or another process came between
                self._begin_market(market, before.closes)
            self._seen[market] = None
            self._means.clear()
            self._signals.clear()
            self._send(market, close.price)
            after, crossing = self._answer(before, close)
            self._seen[market] = after.closes
        return after, crossing

    def _begin(self) -> None:
        """Begin the app without any rows; the text was parsed once."""
        engine = StreamEngine(self._app)
        _check_columns(engine)
        self._seen.clear()
        self._names: dict[tuple[str, str], str] = {}
        engine.listen(MEANS, lambda _at, row: self._means.append(row))
        engine.listen(SIGNALS, lambda _at, row: self._signals.append(row))
        self._sender = engine.sender(CLOSES)

    def _goes_on(self, market: tuple[str, str], closes: Closes) -> bool:
        """Whether the app has seen these closes of the market, and looks back on no others. Those behind what it has
        seen are given to it: between two signals of a recording there are some."""
        seen = self._seen.get(market)
        if seen is None or seen == closes:
            return seen is not None
        first = next((n for n in range(len(seen)) if seen[n:] == closes[: len(seen) - n]), len(seen))
        missing = closes[len(seen) - first :]
        if first == len(seen) or not missing:
            return False
        self._means.clear()
        for price in missing:
            self._send(market, price)
        # without a mean it is begun, and the answer says what is wrong
        return bool(self._means) and self._means[-1][-2] == len(closes)

    def _begin_market(self, market: tuple[str, str], closes: Closes) -> None:
        self.begun += 1
        if self.begun % MOST_BEGUN == 0:
            self._begin()
        self._names[market] = f"{market[1]} {self.begun}"
        for price in closes:
            self._send(market, price)

    def _send(self, market: tuple[str, str], price: Decimal) -> None:
        self._sender(0, (market[0], self._names[market], price))

    def _answer(self, before: MovingAverage, close: Close) -> tuple[MovingAverage, AverageCrossing | None]:
        if len(self._means) != 1:
            raise ValueError(f"{FILE_NAME} gives {len(self._means)} rows of {MEANS} for one close, not one")
        *_, kept, side = self._means[0]
        after = MovingAverage((*before.closes, close.price)[-kept:], side)
        if not self._signals:
            return after, None
        _, _, trade_type, _, mean = self._signals[-1]
        if trade_type not in SIDES:
            raise ValueError(f"{FILE_NAME} gives the signal {trade_type!r}, and the session knows {', '.join(SIDES)}")
        return after, AverageCrossing(trade_type, _shown(mean))


def _shown(mean: Decimal) -> Decimal:
    """Without zeros that only earlier closes had; adding nothing leaves no exponent above 0."""
    return SHOWN.add(SHOWN.normalize(mean), ZERO)


def _check_columns(engine: StreamEngine) -> None:
    for stream, wanted in COLUMNS.items():
        try:
            is_there = described(engine.columns_of(stream)) == wanted
        except KeyError:
            is_there = False
        if not is_there:
            raise CepCannotStartError(f"{FILE_NAME}: the session needs its stream {stream} ({wanted}).")
