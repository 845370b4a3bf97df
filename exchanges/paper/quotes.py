"""The newest quote of each symbol of one exchange, and its age, for a paper account."""

from market.prices.quotes import FeedMark, Quote


class PaperQuotes:
    """Rows come in log order; a repeated row changes nothing. In a replay, a withdrawal may have the sequence of the
    quote that replaces the withdrawn one."""

    def __init__(self) -> None:
        self._quotes: dict[str, Quote] = {}
        self._quoted: dict[str, int] = {}
        """Sequence of the newest quote of each symbol, withdrawn or not."""
        self._marked: dict[str, int] = {}
        """Sequence of the newest mark of each symbol."""
        self._verified: dict[str, int] = {}
        """When the newest quote was received or renewed; microseconds."""

    def update(self, quote: Quote) -> bool:
        """Whether it is newer than the quotes before."""
        symbol = quote.symbol
        if quote.sequence <= self._quoted.get(symbol, -1) or quote.sequence < self._marked.get(symbol, -1):
            return False
        self._quoted[symbol] = quote.sequence
        self._quotes[symbol] = quote
        self._verified[symbol] = quote.received_time
        return True

    def mark(self, mark: FeedMark) -> None:
        """Apply a mark of kind `alive` or `withdrawn`."""
        symbol = mark.symbol
        if mark.sequence <= max(self._quoted.get(symbol, -1), self._marked.get(symbol, -1)):
            return
        self._marked[symbol] = mark.sequence
        if mark.kind == "withdrawn":
            self._quotes.pop(symbol, None)
        elif symbol in self._quotes:
            self._verified[symbol] = mark.received_time

    def newest(self, symbol: str) -> Quote | None:
        """None if there is none, or it was withdrawn."""
        return self._quotes.get(symbol)

    def age(self, symbol: str, now: int) -> int:
        """Age of the symbol's quote, which must exist; microseconds."""
        return now - self._verified[symbol]
