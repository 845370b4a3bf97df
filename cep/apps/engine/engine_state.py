"""What a running app has kept, for those who put it away and go on from it: all of it, or key by key."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from cep.apps.engine.partition_instances import PartitionInstances
from cep.apps.parts.app_context import AppContext, KeyedState, Stateful


class EngineState:
    """`partitions`: in the order of the text."""

    def __init__(self, context: AppContext, partitions: Sequence[PartitionInstances]) -> None:
        self._context, self._partitions = context, partitions

    @property
    def keyed(self) -> dict[int, KeyedState]:
        """Parts that are put away key by key, by a number of theirs that is the same in each run of the app."""
        return {rank: part for rank, part in self._context.parts() if isinstance(part, KeyedState)}

    def saved(self, of_part: Callable[[Stateful], object] = lambda part: part.state()) -> object:
        """Return all of it; it is valid until the next row. `of_part`: what is put away of a part."""
        instances = [
            (instance.ranks.start, number, key, instance.used_at)
            for number, partition in enumerate(self._partitions)
            for key, instance in partition.by_key.items()
        ]
        return sorted(instances), self._context.state(of_part)

    def restore(self, state: Any) -> None:
        """Go on as the engine of the same app that the state is of. To be called once, before any row."""
        instances, of_parts = state
        for first, number, key, used_at in instances:
            # parts have the numbers that they had
            self._context.ranks = first - 1
            self._partitions[number].instance(key).used_at = used_at
        self._context.restore(of_parts)

    def take_over(
        self, before: "EngineState", ranks: Sequence[tuple[range, range]], partitions: Sequence[tuple[int, int]]
    ) -> None:
        """Go on where another app was, with what parts of it have kept, and the keys of partitions of it: each pair is
        its part, and ours. To be called before any row."""
        self._context.take_over(before._context, ranks)
        for number, own in partitions:
            by_key = sorted(before._partitions[number].by_key.items(), key=lambda one: one[1].ranks.start)
            states = dict(
                zip(
                    (key for key, _ in by_key),
                    before._context.states_of(instance.ranks for _, instance in by_key),
                    strict=True,
                )
            )
            partition = self._partitions[own]
            partition.kept = states.get
            for key, instance in by_key:
                partition.instance(key).used_at = instance.used_at
            partition.kept = None

    def keep_keys(self, kept: Callable[[int, str], object | None]) -> None:
        """Let each key of a partition begin with what `kept` gives of it, by the partition's place in the text and the
        key: None if it is new. For an app whose state is all by key; to be called before any row."""
        for number, partition in enumerate(self._partitions):
            partition.kept = partial(kept, number)

    def by_key(self) -> Iterator[tuple[int, str, object]]:
        """Yield of all keys that are at hand the place of the partition, the key, and what it has kept."""
        keys = [
            (number, key, instance.ranks)
            for number, partition in enumerate(self._partitions)
            for key, instance in partition.by_key.items()
        ]
        states = self._context.states_of(ranks for _, _, ranks in keys)
        for (number, key, _), state in zip(keys, states, strict=True):
            yield number, key, state
