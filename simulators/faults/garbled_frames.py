"""Injected faults of a stream: their effect on each message of a channel to one connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from simulators.faults.fault_kinds import ActiveFault, ExchangeFaults, FaultKind

Frame = str | bytes
SymbolOf = Callable[[str], str | None]

_GARBAGE: tuple[Frame, ...] = (
    "<html><body><h1>502 Bad Gateway</h1></body></html>",
    "\ufffd\x00\x1f{]",
    "[]",
    "null",
    '{"\u0000": [[[[1e400]]]]}',
    b"\xff\xfe\x00\x01\x80",
)
_PINGS = ('"ping"', '"bts:heartbeat"')
_WHOLE_PING = "ping"
"""Text messages that exchanges define as pings: parts of one, and a whole one."""


@dataclass(slots=True)
class FrameFaults:
    """Applies an exchange's faults to one connection; `symbol_of` maps a channel to its market."""

    faults: ExchangeFaults
    symbol_of: SymbolOf
    _held: dict[str, str] = field(default_factory=dict)
    """Channel → the message that the next one overtakes."""
    _silences: list[ActiveFault] = field(default_factory=list)

    def frames(self, channel: str, text: str) -> list[Frame]:
        """Return the frames to send instead of the message, in order."""
        if self.faults.is_quiet and not self._held and not self._silences:
            return [text]
        symbol = self.symbol_of(channel)
        if self._is_silent(symbol, channel) or self._injects("dropped_message", symbol, channel):
            return []
        held = self._held.pop(channel, None)
        if held is None and self._injects("reordered_message", symbol, channel):
            self._held[channel] = text
            return []
        frames = self._faulty(text, symbol, channel)
        return frames if held is None else [*frames, held]

    def is_closed(self) -> bool:
        """Return whether the connection is closed, as in maintenance."""
        return not self.faults.is_quiet and self.faults.newest("maintenance") is not None

    def is_ended(self) -> bool:
        """Return whether the connection has come to its end, as by age."""
        return not self.faults.is_quiet and self.faults.inject("socket_ended") is not None

    def ignores_ping(self, text: str | None = None) -> bool:
        """Return whether a ping stays unanswered; `text` if it is a message that may be one."""
        is_ping = text is None or text == _WHOLE_PING or any(ping in text for ping in _PINGS)
        if self.faults.is_quiet or not is_ping:
            return False
        return self.faults.inject("no_pongs") is not None

    def _faulty(self, text: str, symbol: str | None, channel: str) -> list[Frame]:
        if self._injects("truncated_frame", symbol, channel):
            return [cut(text, self.faults.random)]
        if self._injects("garbage_frame", symbol, channel):
            return [self.faults.random.choice(_GARBAGE), text]
        if self._injects("duplicated_message", symbol, channel):
            return [text, text]
        return [text]

    def _is_silent(self, symbol: str | None, channel: str) -> bool:
        """Return whether the channel is silent: a count silences so many connections for good, seconds silence all of
        them for that time."""
        now = self.faults.clock.now()
        self._silences = [
            silence
            for silence in self._silences
            if not silence.is_cleared and (silence.ends_at is None or now < silence.ends_at)
        ]
        if any(silence.fault.applies_to(symbol, channel) for silence in self._silences):
            return True
        silence = self.faults.inject("silent_stream", symbol, channel)
        if silence is None:
            return False
        self._silences.append(silence)
        return True

    def _injects(self, kind: FaultKind, symbol: str | None, channel: str) -> bool:
        return self.faults.inject(kind, symbol, channel) is not None


def cut(text: str, random: Random) -> str:
    """Return a truncated frame: never empty, never complete."""
    return text[: random.randrange(1, len(text))] if len(text) > 1 else text
