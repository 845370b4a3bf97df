"""The newest quote of each symbol of one exchange, and how old it is, as a local paper account is shown them."""

from market.quotes import FeedMark, Quote


class PaperQuotes:
    """Rows come in the order of the log; one that comes again changes nothing."""

    def __init__(self) -> None:
        self._quotes: dict[str, Quote] = {}
        self._sequences: dict[str, int] = {}
        """Of the newest row of each symbol, mark or quote."""
        self._verified: dict[str, int] = {}
        """When the newest quote came, or was renewed; microseconds."""

    def see(self, quote: Quote) -> bool:
        """Whether it is newer than what was seen before."""
        if not self._is_next(quote.symbol, quote.sequence):
            return False
        self._quotes[quote.symbol] = quote
        self._verified[quote.symbol] = quote.received_time
        return True

    def mark(self, mark: FeedMark) -> None:
        """Of kinds `alive` and `withdrawn`."""
        if not self._is_next(mark.symbol, mark.sequence):
            return
        if mark.kind == "withdrawn":
            self.withdraw(mark.symbol)
        elif mark.symbol in self._quotes:
            self._verified[mark.symbol] = mark.received_time

    def withdraw(self, symbol: str) -> None:
        self._quotes.pop(symbol, None)

    def newest(self, symbol: str) -> Quote | None:
        """None where there is none, or it was withdrawn."""
        return self._quotes.get(symbol)

    def age(self, symbol: str, now: int) -> int:
        """Of a quote that there is; microseconds."""
        return now - self._verified[symbol]

    def _is_next(self, symbol: str, sequence: int) -> bool:
        if sequence <= self._sequences.get(symbol, -1):
            return False
        self._sequences[symbol] = sequence
        return True
