"""Puts off what happens in markets that nobody has looked at until somebody does."""

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from runtime.clock import Clock

Value = TypeVar("Value")
_MOST = 4
"""Most steps of one market that are put off: each keeps its levels once somebody has needed a number."""


class PutOffStep(Protocol):
    """Quotes and trades of one step of a market."""

    def draw(self) -> int:
        """Return how many trades it has; called once, in the order of the steps of all markets."""
        ...

    def make_up(self) -> None:
        """Quote and trade."""
        ...


@dataclass(slots=True)
class _Row:
    step: PutOffStep
    moment: int
    numbered_from: int = 0
    """The last number before those of its trades."""


@dataclass(slots=True)
class VenueClock:
    """An exchange's clock; it runs `behind`, in microseconds, while what was put off is made up for."""

    clock: Clock
    behind: int = 0

    def now(self) -> int:
        return self.clock.now() - self.behind

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)


class PutOffSteps:
    """The steps that one exchange has put off, and its numbers, which the trades in those steps also use.

    Once made up for, books, trades, numbers and times are those that the market would have had.
    """

    def __init__(self, clock: VenueClock, last_number: int) -> None:
        self._clock = clock
        self._last = last_number
        self._rows: dict[str, list[_Row]] = {}
        self._undrawn: list[_Row] = []
        self._seen: set[str] = set()

    def may_put_off(self, symbol: str) -> bool:
        """Return whether nobody has looked at the market, and not too much of it was put off."""
        return symbol not in self._seen and len(self._rows.get(symbol, ())) < _MOST

    def put_off(self, symbol: str, step: PutOffStep) -> None:
        row = _Row(step, self._clock.now())
        self._rows.setdefault(symbol, []).append(row)
        self._undrawn.append(row)

    def look(self, symbol: str) -> None:
        """Make up for what was put off in that market, if anything was: from then on somebody has looked at it."""
        if symbol in self._rows:
            self.see(symbol)

    def see(self, symbol: str) -> None:
        """Put off nothing of that market from now on."""
        self._seen.add(symbol)
        rows = self._rows.pop(symbol, ())
        if not rows:
            return
        self._draw()
        last = self._last
        for row in rows:
            self._last = row.numbered_from
            self._clock.behind = self._clock.clock.now() - row.moment
            row.step.make_up()
        self._last, self._clock.behind = last, 0

    def next_number(self) -> int:
        """Return the next number; orders and trades share one numbering."""
        self._draw()
        self._last += 1
        return self._last

    def skip_to(self, number: int) -> None:
        """Skip numbers up to this one, which were used before a restart."""
        self._last = max(self._last, number)

    def _draw(self) -> None:
        """Draw the trades that were put off, which come before whatever needs a number now."""
        for row in self._undrawn:
            row.numbered_from = self._last
            self._last += row.step.draw()
        self._undrawn.clear()


class MarketValues(MutableMapping[str, Value]):
    """Values by symbol; `look` is called before a market's value is read."""

    def __init__(self, values: dict[str, Value], look: Callable[[str], None]) -> None:
        self._values = values
        self._look = look

    def __getitem__(self, symbol: str) -> Value:
        self._look(symbol)
        return self._values[symbol]

    def __setitem__(self, symbol: str, value: Value) -> None:
        self._values[symbol] = value

    def __delitem__(self, symbol: str) -> None:
        del self._values[symbol]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
