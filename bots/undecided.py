"""Opportunities that another process decides on, for the case that it dies. They are forgotten once it has looked at
them: each is some kilobytes, and a hundred may come in a second."""

from collections import deque
from collections.abc import Callable, Iterable

from bots.subscriptions import opportunity_in
from market.prices.opportunities import Opportunity
from market.trade.leases import Lease, decided_partition
from streams.records import Record

MAX_UNDECIDED = 2_000
"""The newest of those that nobody has looked at."""


class UndecidedOpportunities:
    """In the order in which they came. `partition_of`: the partition of the opportunities that one is of."""

    def __init__(self, partition_of: Callable[[Opportunity], int]) -> None:
        self._partition_of = partition_of
        self._kept: deque[Opportunity | Record] = deque(maxlen=MAX_UNDECIDED)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, one: Opportunity | Record) -> None:
        """Keep one; a record is parsed when it is needed."""
        self._kept.append(one)

    def forget(self, leases: Iterable[Lease]) -> None:
        """Forget what the holders of the decision rights among these leases had looked at when they last said so."""
        rights = ((decided_partition(lease.exchange), lease.used) for lease in leases)
        looked_at = {partition: int(used or 0) for partition, used in rights if partition is not None}
        kept = (one for one in self._kept if self._detected(one) >= looked_at.get(self._partition(one), 0))
        self._kept = deque(kept, maxlen=MAX_UNDECIDED)

    def read(self) -> list[Opportunity]:
        """Return all of them, parsed; malformed ones are dropped."""
        parsed = (opportunity_in(one) if isinstance(one, Record) else one for one in self._kept)
        known = [one for one in parsed if one is not None]
        self._kept = deque(known, maxlen=MAX_UNDECIDED)
        return known

    def take(self, partition: int) -> list[Opportunity]:
        """Remove and return those of one partition."""
        known = self.read()
        self._kept = deque((one for one in known if self._partition_of(one) != partition), maxlen=MAX_UNDECIDED)
        return [one for one in known if self._partition_of(one) == partition]

    def _partition(self, one: Opportunity | Record) -> int:
        return one.partition if isinstance(one, Record) else self._partition_of(one)

    def _detected(self, one: Opportunity | Record) -> int:
        return one.time if isinstance(one, Record) else one.detected_time
