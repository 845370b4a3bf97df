"""How far an exchange's clock is ahead of ours: from its own word, and from the times of its messages. Microseconds."""

LEAK = 20_000
"""What only messages tell is taken back by a part in so many of the time that passes: more than clocks drift."""


class ClockOffset:
    """The offset that a feed corrects exchange times by.

    A message cannot come from the future, so each is a lower bound of the offset; the bound of the quickest message is
    the best, and what the others exceed it by is their delay.
    """

    def __init__(self) -> None:
        self.value: int | None = None
        self.is_measured = False
        """Whether the exchange's clock was asked; otherwise the quickest message's delay is part of the offset."""
        self._at = 0

    def hear(self, exchange_time: int, now: int) -> None:
        """A message of that time came now."""
        bound = exchange_time - now
        if self.value is not None:
            leak = 0 if self.is_measured else max(0, now - self._at) // LEAK
            bound = max(bound, self.value - leak)
        self.value, self._at = bound, now

    def measure(self, value: int, now: int) -> None:
        """The exchange was asked for its time."""
        self.value, self._at, self.is_measured = value, now, True

    def restart(self, value: int, now: int) -> None:
        """What messages told before is no longer so: the exchange's clock was set."""
        self.value, self._at = value, now


class ClockSamples:
    """Readings of the exchange's clock by question and answer, each of which bounds the offset from both sides."""

    def __init__(self) -> None:
        self._least: int | None = None
        self._most = 0

    def add(self, sent: int, received: int, shown: int, step: int) -> int:
        """The offset after one more reading: `shown` is the exchange's time, which moves in `step`s.

        The bounds of all readings hold together, so the quickest answers decide. Where they contradict one another the
        clock was set, or has drifted: the newest reading stands alone.
        """
        least, most = shown - received, shown + step - sent
        if self._least is not None and max(least, self._least) <= min(most, self._most):
            least, most = max(least, self._least), min(most, self._most)
        self._least, self._most = least, most
        return (least + most) // 2
