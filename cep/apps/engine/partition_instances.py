"""The queries of a partition's keys: made with a key's first row, and forgotten when the partition is purged."""

import math
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from cep.apps.compiler.partitions import PartitionKey, PartitionPlan
from cep.apps.compiler.query import QueryPlan
from cep.apps.engine.junctions import Junction, Junctions, Reader
from cep.apps.parts.app_context import AppContext, Stateful
from cep.apps.parts.chunks import Chunk, Receiver, RowTaker

Build = Callable[[QueryPlan, Junctions], None]
"""Make a query's parts, which read and write in the given junctions."""
KeyState = Callable[[str], object | None]
"""What a key had when it was put away; None if it is new."""


@dataclass(slots=True)
class PartitionInstance:
    """One key's queries. `ranks`: of their parts; `outer`: what they added to junctions that they share."""

    junctions: Junctions
    ranks: range
    outer: list[tuple[Junction, Reader]]
    used_at: int


class PartitionInstances(Stateful):
    """All of one partition."""

    def __init__(
        self, plan: PartitionPlan, context: AppContext, junctions: Junctions, build: Build, *, is_fused: bool
    ) -> None:
        self._plan, self._context, self._junctions, self._build = plan, context, junctions, build
        self.name = plan.label
        self.by_key: dict[str, PartitionInstance] = {}
        self.kept: KeyState | None = None
        """Where keys are that are not at hand; None if all are."""
        if plan.purge is not None:
            self._own = context.part()
            self._own.keep(self, self._on_time)
            self._own.wake_at(context.now + plan.purge.interval)
        for stream, key in plan.keys.items():
            # if keys are purged it is noted when each had its last row
            is_short = is_fused and plan.purge is None
            junctions[stream].add(self._receiver(stream, key), self._taker(stream, key) if is_short else None)

    def instance(self, key: str) -> PartitionInstance:
        if key not in self.by_key:
            state = None if self.kept is None else self.kept(key)
            if state is None:
                self.by_key[key] = self._made()
            else:
                with self._context.to_be_restored():
                    self.by_key[key] = made = self._made()
                self._context.restore_of(made.ranks, state)
        return self.by_key[key]

    def _made(self) -> PartitionInstance:
        first = self._context.ranks + 1
        before = {name: len(junction.readers) for name, junction in self._junctions.items()}
        own: dict[str, Junction] = {name: Junction() for name in (*self._plan.keys, *self._plan.inner)}
        junctions = ChainMap(own, self._junctions)
        for query in self._plan.queries:
            self._build(query, junctions)
        outer = [
            (junction, reader)
            for name, junction in self._junctions.items()
            for reader in junction.readers[before[name] :]
        ]
        return PartitionInstance(junctions, range(first, self._context.ranks + 1), outer, self._context.now)

    def _taker(self, stream: str, key: PartitionKey) -> RowTaker | None:
        """Return the shorter way of one row; None if there is none."""
        if key.take is None:
            return None
        by_key: dict[str, RowTaker] = {}

        def made(key: str) -> RowTaker:
            return by_key.setdefault(key, self.instance(key).junctions[stream].outlet[0])

        return key.take(by_key, made)

    def _receiver(self, stream: str, partition_key: PartitionKey) -> Receiver:
        """Rows to the queries of their keys; those of one key that follow each other stay together."""

        keys = partition_key.of

        def receive(chunk: Chunk) -> None:
            keyed = [(key, event) for event in chunk for key in keys(event[2], event[1])]
            for key, run in groupby(keyed, key=lambda one: one[0]):
                instance = self.instance(key)
                instance.used_at = self._context.now
                instance.junctions[stream].send([event for _, event in run])

        return receive

    def _on_time(self, due: int, _what: object) -> None:
        """Forget the keys that had no row for so long, from `due` to now: the clock may have leapt past several turns,
        and what a key waits for until its turn comes before it is forgotten."""
        purge, now = self._plan.purge, self._context.now
        if purge is None:
            return
        self._own.wake_at(due + purge.interval * ((now - due) // purge.interval + 1))
        with self._context.forgetting() as forget:
            for key, instance in sorted(self.by_key.items(), key=lambda one: one[1].used_at):
                # what another key gave may have come to this one by now
                turns = max(0, math.ceil((instance.used_at + purge.idle - due) / purge.interval))
                until = due + turns * purge.interval
                if until <= now:
                    forget(instance.ranks, until)
                    self._remove(key, instance)

    def _remove(self, key: str, instance: PartitionInstance) -> None:
        del self.by_key[key]
        for junction, reader in instance.outer:
            junction.remove(reader)
