"""At each edge a number that no sum could hold is rejected by that edge's own error, in one short sentence."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from exchanges.books.errors import FrameRejectedError
from exchanges.books.frames import level_of
from exchanges.paper.journal import JournalRow
from exchanges.ports.orders import AnswerNotUnderstoodError, number_in
from launch.commands.options.arguments import decimal_number
from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import decimal_field
from store.errors import StoreError
from store.server.documents import amount_of
from streams.message_format import levels_of
from tick_sets.rows.quote_rows import level_of as imported_level

EDGES: dict[str, tuple[Callable[[str], Any], type[Exception]]] = {
    "an exchange's answer": (lambda text: number_in({"price": text}, "price"), AnswerNotUnderstoodError),
    "an exchange's stream": (lambda text: level_of(text, "1"), FrameRejectedError),
    "a simulator's request": (
        lambda text: decimal_field({"size": text}, "size", "amount_invalid"),
        RequestRejectedError,
    ),
    "a message of Kafka": (lambda text: levels_of(f'[["{text}","1"]]'), ValueError),
    "an importer's file": (lambda text: imported_level(text, "1"), ValueError),
    "a document": (amount_of, StoreError),
    "a paper journal": (
        lambda text: TypeAdapter(JournalRow).validate_json(f'{{"opening": {{"USD": "{text}"}}}}'),
        ValueError,
    ),
    "an option": (decimal_number, Exception),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("text", ["1e-999999999", "1e50000000", "9" * 1_000_000, "NaN", "1_000"])
def test_it_is_rejected(edge: str, text: str) -> None:
    read, error = EDGES[edge]
    with pytest.raises(error) as rejected:
        read(text)
    assert len(str(rejected.value)) < 600


@pytest.mark.parametrize("edge", EDGES)
def test_what_people_trade_is_read(edge: str) -> None:
    EDGES[edge][0]("67123.45000000")
