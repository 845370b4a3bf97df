"""Offset of an exchange's clock to ours, measured by request or estimated from message times. Microseconds."""

LEAK = 20_000
"""An estimate from messages decays by 1/LEAK of the elapsed time, which is more than clocks drift."""


class ClockOffset:
    """The offset that a feed corrects exchange times by.

    A message cannot come from the future, so each gives a lower bound of the offset. The fastest message gives the best
    bound; the others differ from it by their delay.
    """

    def __init__(self) -> None:
        self.value: int | None = None
        self.is_measured = False
        """Whether the exchange's clock was measured; otherwise the delay of the fastest message is part of the
        offset."""
        self._at = 0

    def add_message(self, exchange_time: int, now: int) -> None:
        """Record that a message with that time was received now."""
        bound = exchange_time - now
        if self.value is not None:
            leak = 0 if self.is_measured else max(0, now - self._at) // LEAK
            bound = max(bound, self.value - leak)
        self.value, self._at = bound, now

    def measure(self, value: int, now: int) -> None:
        """Set the offset measured by request."""
        self.value, self._at, self.is_measured = value, now, True

    def restart(self, value: int, now: int) -> None:
        """Discard the estimate: the exchange's clock was set."""
        self.value, self._at = value, now


class ClockSamples:
    """Samples of the exchange's clock by request and response; each bounds the offset from both sides."""

    def __init__(self) -> None:
        self._min: int | None = None
        self._max = 0

    def add(self, sent: int, received: int, shown: int, step: int) -> int:
        """Return the offset after one more sample: `shown` is the exchange's time, with a resolution of `step`.

        The bounds of all samples are intersected, so the fastest responses decide. Where the intersection is empty the
        clock was set or has drifted, and the newest sample alone counts.
        """
        low, high = shown - received, shown + step - sent
        if self._min is not None and max(low, self._min) <= min(high, self._max):
            low, high = max(low, self._min), min(high, self._max)
        self._min, self._max = low, high
        return (low + high) // 2
