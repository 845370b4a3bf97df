"""What a source took in, if the error store or Kafka is away in between."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from cep.apps.ends.source_ends import HttpPath, ReceivedSource
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.language.expression_tree import Place
from cep.apps.transports.ports import IncomingMessage, Intake
from launch.apps.app_intake import AppSourceIntake, RowsWriter
from streams.errors import StreamUnavailableError
from tests.cep.apps.formats.ends import reader

COLUMNS = "n int"
MESSAGES = (IncomingMessage(b'{"n": 1}', {}), IncomingMessage(b"no row", {}), IncomingMessage(b'{"n": 2}', {}))


@dataclass(slots=True)
class Written(RowsWriter):
    """Kafka, by what was written."""

    rows: list[bytes] = field(default_factory=list)

    async def write(self, rows: Sequence[bytes]) -> None:
        self.rows += rows


@dataclass(slots=True)
class Kept:
    """The error store."""

    is_away: bool = False
    messages: list[bytes] = field(default_factory=list)

    async def keep(self, _stream: str, refused: Sequence[tuple[IncomingMessage, str]]) -> None:
        if self.is_away:
            raise StreamUnavailableError("MongoDB is away")
        self.messages += [message.body for message, _ in refused]


class Nobody:
    async def run(self, _intake: Intake) -> None:
        """Nothing comes by itself."""


async def test_rows_are_not_written_again_while_refused_messages_cannot_be_kept() -> None:
    written, kept = Written("", "rows", "app", 1), Kept(is_away=True)
    source = ReceivedSource(Place(1, 1), "S", "http", HttpPath("/in"), reader("type='json'", COLUMNS), (("n", "int"),))
    intake = AppSourceIntake(source, "S", Nobody(), written, kept.keep, CountedWarnings({}))
    for _ in range(3):
        with pytest.raises(StreamUnavailableError):
            await intake.take(MESSAGES)
    assert (written.rows, intake.rejected) == ([], 0)
    kept.is_away = False
    assert (await intake.take(MESSAGES)).rows == 2
    assert (len(written.rows), kept.messages, intake.rejected) == (2, [b"no row"], 1)
