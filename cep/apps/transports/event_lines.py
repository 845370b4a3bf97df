"""Server-sent events, line by line (HTML Standard, 9.2.6). Pure."""

from dataclasses import dataclass, field

MOST_EVENT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`id`: the last one that the server said, by which it goes on; empty if it said none."""

    data: str
    event: str
    id: str


@dataclass(slots=True)
class EventLines:
    """`id`: of the last event."""

    id: str = ""
    _data: list[str] = field(default_factory=list)
    _event: str = ""
    _size: int = 0

    def take(self, line: str) -> ServerEvent | None:
        """Take the next line, without its end; return the event that it completes. Raises ValueError if the event is
        too long."""
        if line:
            self._note(line)
            return None
        data, event = self._data, self._event or "message"
        self._data, self._event, self._size = [], "", 0
        return ServerEvent("\n".join(data), event, self.id) if data else None

    def _note(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                # its end too: lines without text have one
                self._size += len(value) + 1
                if self._size > MOST_EVENT_BYTES:
                    raise ValueError(f"an event has more than {MOST_EVENT_BYTES:,} characters")
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self.id = value
            case _:
                # a comment, how long to wait, or what nobody knows
                pass
