"""Partitions: every key has queries of its own. A row without a key goes nowhere. As in Siddhi 5.1."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_made, function_of
from cep.apps.compiler.query import QueryPlan
from cep.apps.language.app_parser import parse_expression
from cep.apps.language.app_tree import Annotation, RangeKey, ValueKey
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Duration
from cep.apps.parts.chunks import Row, RowTaker
from cep.apps.parts.scope import Columns, Environment, RowScope, unknown
from cep.apps.parts.values import text_of

Keys = Callable[[Row, int], Sequence[str]]
"""Finds a row's keys: the one of a value, or every range that it is in."""
KeyedTaker = Callable[[Mapping[str, RowTaker], Callable[[str], RowTaker]], RowTaker]
"""Made of the queries by key, and of what makes those of a new key: hands one row to the queries of its key."""
OF_A_VALUE = """
def bind(by_key, made):
    def take(at, row):
        value = {value}
        if value is None: return
        key = value if value.__class__ is str else text_of(value)
        (by_key.get(key) or made(key))(at, row)
    return take
"""


OF_A_STRING = """
def bind(by_key, made):
    def take(at, row):
        value = {value}
        try:
            taker = by_key[value]
        except KeyError:
            if value is None: return
            taker = made(value)
        taker(at, row)
    return take
"""
"""The same for a key that is a string, or null."""


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """Every `interval` what had no row for `idle` is forgotten; milliseconds."""

    interval: int
    idle: int


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """`take`: a shorter way of one row, if it has one key at most."""

    of: Keys
    take: KeyedTaker | None = None


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """`keys`: of each partitioned stream; `inner`: streams that each key has for itself."""

    keys: Mapping[str, PartitionKey]
    queries: tuple[QueryPlan, ...]
    inner: tuple[str, ...]
    line: int
    """The line of the app's text where it begins."""
    purge: PurgePlan | None = None

    @property
    def label(self) -> str:
        """In a sentence."""
        return f"the partition at line {self.line}"


def purge_plan(annotations: Sequence[Annotation]) -> PurgePlan | None:
    """`@purge(enable = 'true', interval = '1 sec', idle.period = '10 sec')`. Raises AppTextError,
    AppUnsupportedError."""
    plan = None
    for annotation in annotations:
        if annotation.name.lower() == "info":
            continue
        if annotation.name.lower() != "purge":
            raise AppUnsupportedError(annotation.at, f"@{annotation.name} of a partition is not supported")
        items = {item.key: item.value for item in annotation.items}
        if items.get("enable", "true").lower() == "true":
            plan = PurgePlan(*(_time(annotation, items, key) for key in ("interval", "idle.period")))
    return plan


def _time(annotation: Annotation, items: Mapping[str | None, str], key: str) -> int:
    try:
        node = parse_expression(items[key])
    except (KeyError, AppTextError):
        node = None
    if not isinstance(node, Duration) or node.milliseconds <= 0:
        raise AppTextError(annotation.at, f"@purge takes {key} = '10 sec', or another time above 0")
    return node.milliseconds


def partition_key(
    key: ValueKey | RangeKey, sources: Mapping[str, Columns], environment: Environment
) -> tuple[str, PartitionKey]:
    """Return the stream, and what gives its rows' keys. Raises AppTextError."""
    if key.stream not in sources:
        raise unknown(key.at, f"there is no stream {key.stream!r}", key.stream, list(sources))
    compiler = ExpressionCompiler(RowScope(sources[key.stream], frozenset((key.stream,))))
    if isinstance(key, ValueKey):
        code = compiler.code_of(key.key)
        source, template = code.source, OF_A_STRING if code.type == "string" else OF_A_VALUE
        value = function_of(source, "row, at", environment)
        names = {**environment.names, "text_of": text_of}
        take = function_made(template.replace("{value}", source), "bind", replace(environment, names=names))
        return key.stream, PartitionKey(
            lambda row, at: [] if (one := value(row, at)) is None else [text_of(one)], cast(KeyedTaker, take)
        )
    ranges = [
        (cast(Callable[[Row, int], bool], function_of(compiler.condition_of(condition), "row, at", environment)), name)
        for condition, name in key.ranges
    ]
    return key.stream, PartitionKey(lambda row, at: [name for holds, name in ranges if holds(row, at)])
