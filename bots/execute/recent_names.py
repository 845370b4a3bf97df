"""A set of the newest names, of bounded size."""

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class RecentNames:
    """The newest `max_names` names."""

    max_names: int
    _names: dict[Hashable, None] = field(default_factory=dict)

    def is_new(self, name: Hashable) -> bool:
        """Whether `name` was not in the set; adds it."""
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > self.max_names:
            del self._names[next(iter(self._names))]
        return True
