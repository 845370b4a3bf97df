"""What one client sends to MongoDB: a trace of its commands, from which sequential round trips are counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from runtime.clock import steady_now


@dataclass(slots=True)
class SentCommand:
    """`address`: host:port that it went to; `waits_for_majority`: its answer comes once a majority has what it writes,
    which takes a round trip to another member. `began`, `ended` (None: no answer yet): by the steady clock."""

    name: str
    address: str
    waits_for_majority: bool
    began: int
    ended: int | None = None


class CommandTrace(CommandListener):
    """The commands of one client. The driver's threads write to it."""

    def __init__(self) -> None:
        self.sent: list[SentCommand] = []
        """In their order."""
        self._asked: dict[int, SentCommand] = {}

    def started(self, event: CommandStartedEvent) -> None:
        concern = event.command.get("writeConcern", {})
        address = "{}:{}".format(*event.connection_id)
        command = SentCommand(event.command_name, address, concern.get("w") == "majority", steady_now())
        self._asked[event.request_id] = command
        self.sent.append(command)

    def succeeded(self, event: CommandSucceededEvent) -> None:
        self._end(event.request_id)

    def failed(self, event: CommandFailedEvent) -> None:
        self._end(event.request_id)

    def _end(self, request_id: int) -> None:
        command = self._asked.pop(request_id, None)
        if command is not None:
            command.ended = steady_now()


def in_sequence(commands: Sequence[SentCommand]) -> list[SentCommand]:
    """Return the longest chain in which each command was sent after the answer to the one before: as many round
    trips."""
    chain: list[SentCommand] = []
    answered = ((command.ended, command) for command in commands if command.ended is not None)
    for _, command in sorted(answered, key=lambda one: one[0]):
        if not chain or command.began >= (chain[-1].ended or 0):
            chain.append(command)
    return chain
