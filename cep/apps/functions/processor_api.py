"""What the operator's Python has of processors per key: a small state machine for each key, with alarms, that retires.

    from arbitrage.processors import ProcessorKey, processor

    @processor(key="customer", events=["sign_in", "sale"])
    class AtRisk:
        def on_event(self, me: ProcessorKey, stream: str, row: dict) -> None:
            me.set_alarm(days=7)

        def on_alarm(self, me: ProcessorKey, name: str) -> None:
            me.emit("at_risk", customer=me.key)
            me.retire()

Time and chance come from the app's log, so the same rows give the same rows: read `me.now` and `me.random()`, and no
clock, no network and no file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

MARK = "__arbitrage_processor__"
"""The attribute of a class that is one."""
Made = TypeVar("Made", bound=type[Any])


@dataclass(frozen=True, slots=True)
class ProcessorTerms:
    """`key`: the column of each event stream whose value is the key. `events`: the streams."""

    key: str
    events: tuple[str, ...]


class ProcessorKey(Protocol):
    """One key, while a row of it comes or an alarm of it is due. What is done counts once the method has returned: if
    it raises, nothing of it does, but for changes inside of lists and dicts of `state`."""

    key: Any
    state: dict[str, Any]
    """What it has kept: texts, numbers, booleans, Decimals, None, and lists, tuples, sets and dicts of them."""
    now: int
    """Milliseconds of the app's clock; of an alarm, when it was due."""

    def set_alarm(
        self, name: str = "", *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Call `on_alarm` so much later; an alarm of the name that is set already is moved."""
        ...

    def clear_alarm(self, name: str = "") -> None:
        """Forget an alarm; nothing if none of the name is set."""
        ...

    def emit(self, stream: str, /, **values: Any) -> None:
        """Give a row of one of the streams that the app's text names with `emits`; columns that are left out are null.
        Raises ValueError if it is none of the stream's."""
        ...

    def retire(self) -> None:
        """Forget the key, its state and its alarms; its next row finds it new."""
        ...

    def random(self) -> float:
        """Return a number from 0 up to 1, which follows from the log."""
        ...


def processor(*, key: str, events: Sequence[str]) -> Callable[[Made], Made]:
    """Make a class a processor, with `on_event(me, stream, row)`, and `on_alarm(me, name)` if it sets alarms. It is
    made once for an app; what it knows of a key is in the key's state. Raises TypeError."""
    terms = ProcessorTerms(key, (events,) if isinstance(events, str) else tuple(events))

    def marked(made: Made) -> Made:
        if not callable(getattr(made, "on_event", None)):
            raise TypeError(f"{made.__name__} has no on_event(self, me, stream, row)")
        setattr(made, MARK, terms)
        return made

    return marked
