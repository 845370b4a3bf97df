"""An app whose keys lie somewhere else gives the rows of one that has them all at hand, however its log is cut."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.engine.snapshots import SnapshotError
from cep.apps.errors import AppFailedError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.parts.app_limits import AppLimits
from cep.apps.structured.keyed_app import KeyedApp
from streams.message_format import row_of
from tests.cep.apps.equality.app_logs import SHIPPED, hosted_text, input_rows
from tests.cep.apps.equality.made_up_apps import BY_KEY
from tests.cep.apps.hosts.quote_app import told
from tests.cep.logs import LogMaker


@dataclass(slots=True)
class DictStates:
    """`KeyStates` in memory. `read`: keys that were fetched."""

    of_log: bytes | None = None
    keys: dict[tuple[int, str], bytes] = field(default_factory=dict)
    read: list[tuple[int, str]] = field(default_factory=list)

    def log(self) -> bytes | None:
        return self.of_log

    def keep_log(self, state: bytes) -> None:
        self.of_log = state

    def key(self, block: int, key: str) -> bytes | None:
        self.read.append((block, key))
        return self.keys.get((block, key))

    def keep_key(self, block: int, key: str, state: bytes) -> None:
        self.keys[block, key] = state

    def clear(self) -> None:
        self.of_log = None
        self.keys.clear()


def source_of(text: str) -> AppSource:
    return app_source(hosted_text(text), "a")


def log_of(source: AppSource) -> list[bytes]:
    if source.is_merged:
        return [row for partition, row in input_rows(source, 3, 400) if partition == 0]
    return LogMaker(3).write(600)


SOURCES = [source_of(text) for text in (*BY_KEY, (SHIPPED / "unusual-price.app").read_text())]
LOGS = {source.name: log_of(source) for source in SOURCES}
WHOLE = {source.name: HostedApp(source, 0) for source in SOURCES}
ROWS = {
    source.name: told(
        row for offset, one in enumerate(LOGS[source.name]) for row in WHOLE[source.name].take(offset, 0, row_of(one))
    )
    for source in SOURCES
}


BEHIND_EVERY = 60


def taken(source: AppSource, states: DictStates, log: Iterable[tuple[int, bytes]]) -> list[AppRow]:
    """As one micro-batch."""
    app = KeyedApp(source, 0, states)
    rows = [row for offset, one in log for row in app.take(offset, 0, row_of(one))]
    app.keep()
    return rows


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@settings(max_examples=12)
@given(st.lists(st.integers(0, 600), max_size=12))
def test_cut_anywhere_it_gives_what_one_kernel_gives(source: AppSource, cuts: list[int]) -> None:
    log, states, before, rows = list(enumerate(LOGS[source.name])), DictStates(), 0, list[AppRow]()
    for cut in (*sorted(cuts), len(log)):
        rows += taken(source, states, log[before:cut])
        before = max(before, cut)
    assert told(rows) == ROWS[source.name]
    assert len(rows) > 20 or source.name == "unusual-price"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_cut_behind_every_row_it_gives_the_same(source: AppSource) -> None:
    states, rows, log = DictStates(), list[AppRow](), list(enumerate(LOGS[source.name]))
    for one in log[:BEHIND_EVERY]:
        rows += taken(source, states, [one])
    rows += taken(source, states, log[BEHIND_EVERY:])
    assert told(rows) == ROWS[source.name]


def test_only_keys_with_rows_are_fetched_once_each_and_written() -> None:
    source, states = source_of(BY_KEY[1]), DictStates()
    log = list(enumerate(LOGS[source.name]))
    taken(source, states, log[:300])
    before, states.read = dict(states.keys), []
    (offset, row) = next(one for one in log[300:] if row_of(one[1])["kind"] == "quote")
    taken(source, states, [(offset, row)])
    exchange = row_of(row)["exchange"]
    assert states.read == [(0, exchange)]
    assert {key for key, state in states.keys.items() if state != before[key]} == {(0, exchange)}
    assert len(states.keys) > 2


def test_states_of_another_version_are_refused() -> None:
    source, states = SOURCES[0], DictStates()
    taken(source, states, list(enumerate(LOGS[source.name]))[:50])
    other = source_of(BY_KEY[0] + "\n")
    with pytest.raises(SnapshotError, match="of another app"):
        KeyedApp(other, 0, states)


def test_a_key_whose_state_is_torn_ends_the_app_with_one_sentence() -> None:
    source, states = SOURCES[0], DictStates()
    log = list(enumerate(LOGS[source.name]))
    taken(source, states, log[:200])
    for key, state in states.keys.items():
        states.keys[key] = state[:-1]
    with pytest.raises(AppFailedError, match=r"row \d+ of partition 0 cannot be computed: the snapshot is torn"):
        taken(source, states, log[200:])


def test_a_key_that_keeps_too_much_ends_the_app_with_one_sentence() -> None:
    text = (
        "@App:host('structured') partition with (exchange of quotes) begin "
        "from quotes#window.length(10000) select exchange, avg(bid) as mean insert into Out; end;"
    )
    source = app_source(text, "a", terms=OperatorTerms(limits=AppLimits(state_bytes=4_000)))
    with pytest.raises(
        AppFailedError, match=r"the key '\w+' of partition 0 keeps more than 4,000 bytes \(state.bytes\)"
    ):
        taken(source, DictStates(), list(enumerate(LOGS["by-exchange"])))
