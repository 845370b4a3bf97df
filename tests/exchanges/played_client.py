"""A client of ccxt whose every method gives the answers that a test has written."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class PlayedClient:
    """Gives the answers to each method in their order, the last one for ever; an error is raised."""

    answers: Mapping[str, list[object]]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    markets: Mapping[str, object] = field(default_factory=dict)
    exchange_ahead_ms: int = 0
    exchange_uncertainty_ms: int = 0

    def __getattr__(self, method: str) -> Callable[..., Awaitable[object]]:
        async def ask(query: dict[str, Any] | None = None) -> object:
            self.asked.append((method, query or {}))
            left = self.answers[method]
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask


def played_client(**answers: object) -> PlayedClient:
    """Return a client; an answer is a list of those to one method, or the only one."""
    return PlayedClient({name: one if isinstance(one, list) else [one] for name, one in answers.items()})
