"""The newest quote of each symbol of one exchange, and how old it is, as a local paper account is shown them."""

from market.prices.quotes import FeedMark, Quote


class PaperQuotes:
    """Rows come in the order of the log; one that comes again changes nothing. A replay's withdrawal may have the
    number of the quote that takes the place of what it withdraws."""

    def __init__(self) -> None:
        self._quotes: dict[str, Quote] = {}
        self._quoted: dict[str, int] = {}
        """Sequence of the newest quote of each symbol, withdrawn or not."""
        self._marked: dict[str, int] = {}
        """Of its newest mark."""
        self._verified: dict[str, int] = {}
        """When the newest quote came, or was renewed; microseconds."""

    def see(self, quote: Quote) -> bool:
        """Whether it is newer than what was seen before."""
        symbol = quote.symbol
        if quote.sequence <= self._quoted.get(symbol, -1) or quote.sequence < self._marked.get(symbol, -1):
            return False
        self._quoted[symbol] = quote.sequence
        self._quotes[symbol] = quote
        self._verified[symbol] = quote.received_time
        return True

    def mark(self, mark: FeedMark) -> None:
        """Of kinds `alive` and `withdrawn`."""
        symbol = mark.symbol
        if mark.sequence <= max(self._quoted.get(symbol, -1), self._marked.get(symbol, -1)):
            return
        self._marked[symbol] = mark.sequence
        if mark.kind == "withdrawn":
            self._quotes.pop(symbol, None)
        elif symbol in self._quotes:
            self._verified[symbol] = mark.received_time

    def newest(self, symbol: str) -> Quote | None:
        """None where there is none, or it was withdrawn."""
        return self._quotes.get(symbol)

    def age(self, symbol: str, now: int) -> int:
        """Of a quote that there is; microseconds."""
        return now - self._verified[symbol]
