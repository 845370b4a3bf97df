"""Aggregators: each keeps one value over the rows that entered and have not left. Semantics are Siddhi 5.1's.

A value that enters is added, one that leaves is removed; a reset forgets all. The functions that keep numbers leave
nulls out, but `count` counts rows. Without a row, sum, average and deviation are null.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall, ValueType
from cep.apps.parts.app_context import Stateful
from cep.apps.parts.scope import Code
from cep.apps.parts.values import NUMERIC, Value, as_long


class Aggregator(Protocol):
    """The state of one aggregator in one group."""

    def state(self) -> object: ...
    def restore(self, state: Any) -> None: ...
    def add(self, value: Value) -> None: ...
    def remove(self, value: Value) -> None: ...
    def reset(self) -> None: ...
    @property
    def value(self) -> Value: ...


class RowCount(Stateful):
    STATE = ("value",)

    def __init__(self) -> None:
        self.value: int = 0

    def add(self, value: Value) -> None:
        self.value += 1

    def remove(self, value: Value) -> None:
        self.value -= 1

    def reset(self) -> None:
        self.value = 0


class Sum(Stateful):
    STATE = ("count", "total")

    def __init__(self, zero: Any) -> None:
        self._zero = zero
        self.reset()

    def reset(self) -> None:
        self.count, self.total = 0, self._zero
        self._has_just_come = False

    def add(self, value: Value) -> None:
        self._has_just_come = value is not None
        if value is not None:
            self.count += 1
            self.total += value

    def remove(self, value: Value) -> None:
        self._has_just_come = False
        if value is not None:
            self.count -= 1
            self.total -= value

    @property
    def value(self) -> Value:
        """None without a row. Where more left than came, as in a join whose rows meet others when they leave, it is
        the total as soon as a value comes."""
        return self.total if self.count or self._has_just_come else None


class LongSum(Sum):
    """A sum in 64 bits, which wrap."""

    def add(self, value: Value) -> None:
        super().add(value)
        self.total = as_long(self.total)

    def remove(self, value: Value) -> None:
        super().remove(value)
        self.total = as_long(self.total)


class Average(Sum):
    @property
    def value(self) -> Value:
        return self.total / self.count if self.count else None


class Deviation(Stateful):
    """The standard deviation of the whole population, by Welford's method (https://doi.org/10.1080/00401706.1962.10490022)."""

    STATE = ("_count", "_mean", "_squares", "_sum")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._count, self._mean, self._squares, self._sum = 0, 0.0, 0.0, 0.0

    def add(self, value: Value) -> None:
        if value is None:
            return
        self._count += 1
        if self._count == 1:
            self._mean = self._sum = value
            self._squares = 0.0
        elif self._count != 0:
            # below 0 more had left than came, as in a join whose rows meet others when they leave
            self._sum += value
            before, self._mean = self._mean, self._sum / self._count
            self._squares += (value - before) * (value - self._mean)

    def remove(self, value: Value) -> None:
        if value is None:
            return
        self._count -= 1
        if self._count == 0:
            self.reset()
            return
        self._sum -= value
        before, self._mean = self._mean, self._sum / self._count
        self._squares -= (value - before) * (value - self._mean)

    @property
    def value(self) -> float | None:
        if self._count == 0:
            return None
        return 0.0 if self._count == 1 else math.sqrt(max(0.0, self._squares / self._count))


class Extreme(Stateful):
    """The least or the largest of the values that have not left. What left is taken from the heap when it is first;
    what leaves without having entered changes nothing."""

    STATE = ("_heap", "_there")

    def __init__(self, sign: int) -> None:
        """`sign`: 1 for the least, -1 for the largest."""
        self._sign = sign
        self._heap: list[Value] = []
        self._there: Counter[Value] = Counter()
        """How often each value of the heap is there."""

    def add(self, value: Value) -> None:
        if value is None:
            return
        value = self._sign * value
        if value not in self._there:
            heapq.heappush(self._heap, value)
        self._there[value] += 1

    def remove(self, value: Value) -> None:
        if value is None or not self._there.get(self._sign * value):
            return
        self._there[self._sign * value] -= 1
        while self._heap and not self._there[self._heap[0]]:
            del self._there[heapq.heappop(self._heap)]

    def reset(self) -> None:
        self._heap.clear()
        self._there.clear()

    @property
    def value(self) -> Value:
        return self._sign * self._heap[0] if self._heap else None


class ForeverExtreme(Stateful):
    """The least or the largest value since the last reset; what leaves changes nothing."""

    STATE = ("value",)

    def __init__(self, sign: int) -> None:
        """As of `Extreme`."""
        self._sign = sign
        self.value: Value = None

    def add(self, value: Value) -> None:
        if value is not None and (self.value is None or self._sign * value < self._sign * self.value):
            self.value = value

    def remove(self, value: Value) -> None:
        self.add(value)

    def reset(self) -> None:
        self.value = None


class DistinctCount(Stateful):
    STATE = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[Value] = Counter()

    def add(self, value: Value) -> None:
        self._counts[value] += 1

    def remove(self, value: Value) -> None:
        self._counts[value] -= 1
        if self._counts[value] <= 0:
            del self._counts[value]

    def reset(self) -> None:
        self._counts.clear()

    @property
    def value(self) -> int:
        return len(self._counts)


class AllTrue(Stateful):
    """`and`, or with `of_any` `or`, of conditions."""

    STATE = ("_true", "_false")

    def __init__(self, *, of_any: bool) -> None:
        self._of_any = of_any
        self.reset()

    def reset(self) -> None:
        self._true, self._false = 0, 0

    def add(self, value: Value) -> None:
        if value:
            self._true += 1
        else:
            self._false += 1

    def remove(self, value: Value) -> None:
        if value:
            self._true -= 1
        else:
            self._false -= 1

    @property
    def value(self) -> bool:
        return self._true > 0 if self._of_any else self._true > 0 and self._false == 0


class UnionSet(Stateful):
    STATE = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[Value] = Counter()

    def add(self, value: Value) -> None:
        self._counts.update(value or ())

    def remove(self, value: Value) -> None:
        self._counts.subtract(value or ())
        self._counts = +self._counts

    def reset(self) -> None:
        self._counts.clear()

    @property
    def value(self) -> frozenset[Value]:
        return frozenset(self._counts)


@dataclass(frozen=True, slots=True)
class AggregatorSource:
    """What an aggregator does as Python, for the function that is generated of a whole query: `{a}` is its state, `{x}`
    the value, `{n}` and `{t}` are names of its own, which `add` and `exchange` may leave to the `value` behind them. Of
    the common ones it is what their methods do, without the call."""

    add: str = "{a}.add({x})"
    remove: str = "{a}.remove({x})"
    value: str = "{a}.value"
    exchange: str = ""
    """What `remove` of the value `{o}` and `add` do one after the other if both are numbers; "": no shorter than they
    are."""
    load: str = ""
    """What takes its state into `{n}` and `{t}`, so that several values may come (`come`) and leave (`leave`) before
    `store`; "": there is nothing of the kind."""
    come: str = ""
    leave: str = ""
    store: str = ""


OF_COUNT = AggregatorSource("{a}.value += 1", "{a}.value -= 1")
OF_SUM = AggregatorSource(
    "if {x} is None: {n}, {t} = {a}.count, {a}.total\n"
    "else: {a}.count = {n} = {a}.count + 1; {a}.total = {t} = {a}.total + {x}",
    "if {x} is not None: {a}.count -= 1; {a}.total -= {x}",
    "({t} if {n} else None)",
    # in the order of both, since floats round at each
    "{a}.total = {t} = {a}.total - {o} + {x}; {n} = {a}.count",
    "{n}, {t} = {a}.count, {a}.total",
    "if {x} is not None: {n} += 1; {t} += {x}",
    "if {x} is not None: {n} -= 1; {t} -= {x}",
    "{a}.count, {a}.total = {n}, {t}",
)
OF_AVERAGE = replace(OF_SUM, value="({t} / {n} if {n} else None)")


@dataclass(frozen=True, slots=True)
class AggregatorKind:
    """An aggregator as a query has it: the type of its value, and what makes its state for each group."""

    type: ValueType
    make: Callable[[], Aggregator]
    source: AggregatorSource = AggregatorSource()
    keeps_values: bool = False
    """Whether its state, which is not small then, says of how many rows it has a value (`kept_values`)."""


def _numeric(call: FunctionCall, arguments: Sequence[Code]) -> ValueType:
    if len(arguments) != 1:
        raise AppTextError(call.at, f"{call.name}() takes one argument, and has {len(arguments)}")
    if arguments[0].type not in NUMERIC:
        raise AppTextError(call.arguments[0].at, f"{call.name}() takes a number, and this is {arguments[0].type}")
    return arguments[0].type


def _sum(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    type_ = _numeric(call, arguments)
    if type_ in ("int", "long"):
        return AggregatorKind("long", lambda: LongSum(0))
    if type_ == "decimal":
        return AggregatorKind("decimal", lambda: Sum(Decimal(0)), OF_SUM)
    return AggregatorKind("double", lambda: Sum(0.0), OF_SUM)


def _average(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    if _numeric(call, arguments) == "decimal":
        return AggregatorKind("decimal", lambda: Average(Decimal(0)), OF_AVERAGE)
    return AggregatorKind("double", lambda: Average(0.0), OF_AVERAGE)


def _deviation(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    if _numeric(call, arguments) == "decimal":
        raise AppTextError(call.arguments[0].at, "stdDev() takes no decimal: convert it to double")
    return AggregatorKind("double", Deviation)


def _extreme(make: Callable[[int], Aggregator], sign: int) -> Callable[[FunctionCall, Sequence[Code]], AggregatorKind]:
    def kind(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
        return AggregatorKind(_numeric(call, arguments), lambda: make(sign))

    return kind


def _count(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    if len(arguments) > 1:
        raise AppTextError(call.at, f"count() takes at most one argument, and has {len(arguments)}")
    return AggregatorKind("long", RowCount, OF_COUNT)


def _distinct_count(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    if len(arguments) != 1:
        raise AppTextError(call.at, f"distinctCount() takes one argument, and has {len(arguments)}")
    return AggregatorKind("long", DistinctCount)


def _condition(*, of_any: bool) -> Callable[[FunctionCall, Sequence[Code]], AggregatorKind]:
    def kind(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
        if len(arguments) != 1 or arguments[0].type != "bool":
            raise AppTextError(call.at, f"{call.name}() takes one condition")
        return AggregatorKind("bool", lambda: AllTrue(of_any=of_any))

    return kind


def _union_set(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    if len(arguments) != 1 or arguments[0].type != "object":
        raise AppTextError(call.at, "unionSet() takes one set, as createSet() makes it")
    return AggregatorKind("object", UnionSet)


AGGREGATORS: Mapping[str, Callable[[FunctionCall, Sequence[Code]], AggregatorKind]] = {
    "count": _count,
    "sum": _sum,
    "avg": _average,
    "stdDev": _deviation,
    "min": _extreme(Extreme, 1),
    "max": _extreme(Extreme, -1),
    "minForever": _extreme(ForeverExtreme, 1),
    "maxForever": _extreme(ForeverExtreme, -1),
    "distinctCount": _distinct_count,
    "and": _condition(of_any=False),
    "or": _condition(of_any=True),
    "unionSet": _union_set,
}
"""By the name in the language. Each raises AppTextError if its arguments are wrong."""
