"""When each caller was last seen since this process began, and from where: in memory, bounded."""

from collections import OrderedDict
from dataclasses import dataclass

from runtime.clock import wall_now
from ui.auth.callers import Caller, Means

MOST_CALLERS = 1_000


@dataclass(frozen=True, slots=True)
class LastRequest:
    """A caller as last seen; `at` in microseconds UTC."""

    caller: Caller
    at: int


class LastSeen:
    """Of callers with a name: those that reading is open to are nobody."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[Means, str, str], LastRequest] = OrderedDict()

    def note(self, caller: Caller) -> None:
        if caller.means == "open":
            return
        key = caller.means, caller.name, caller.sign_in
        self._seen[key] = LastRequest(caller, wall_now())
        self._seen.move_to_end(key)
        if len(self._seen) > MOST_CALLERS:
            self._seen.popitem(last=False)

    def of(self, means: Means, name: str = "", sign_in: str = "") -> list[LastRequest]:
        """Return those of these means, the newest first; `name` and `sign_in`: of these alone."""
        found = [one for key, one in self._seen.items() if key[0] == means]
        return [one for one in reversed(found) if name in ("", one.caller.name) and sign_in in ("", one.caller.sign_in)]
