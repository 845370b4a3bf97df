"""Rows to a topic of Pub/Sub and back, by its protocol: a small server of ours, and in soak Google's own fake."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cep.apps.ends.sink_ends import PubSubTarget
from cep.apps.ends.source_ends import PubSubMessages
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from cep.apps.transports.pubsub_client import PubSubTerms, PulledMessage
from cep.apps.transports.pubsub_ends import BYTES_AT_ONCE, MESSAGES_AT_ONCE, PubSubReceiver, PubSubSender, most_messages
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.ends import sink_of, source_of
from tests.cep.apps.transports.kept_rows import KeptRows
from tests.cep.apps.transports.pubsub_server import PubSubServer, grpc, pubsub_server, types

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
PSTEST = Path(__file__).parent / "pstest"
OPTIONS = "type = 'googlepubsub', project.id = 'our-project', topic.id = 'orders'"
LIMIT_SECONDS = 60.0


def sender_to(place: str, more: str = "") -> PubSubSender:
    sink = sink_of(f"{OPTIONS}{more}, @map(type = 'json')")
    assert isinstance(sink.target, PubSubTarget)
    return PubSubSender(sink.target, sink.writer, terms_of(place))


def receiver_from(place: str) -> PubSubReceiver:
    source = source_of("type = 'googlepubsub', project.id = 'our-project', subscription.id = 'mine', @map(type='json')")
    assert isinstance(source.origin, PubSubMessages)
    return PubSubReceiver(source.origin, terms_of(place))


def terms_of(place: str) -> PubSubTerms:
    return PubSubTerms("our-project", place, is_plain=True)


def rows(*numbers: int, place: str = "x") -> list[OutgoingRow]:
    return [OutgoingRow(f"app:0:{n}:0", 1_000 + n, {"symbol": "BTC", "n": n, "place": place}) for n in numbers]


async def made(place: str) -> None:
    """Make the topic and the subscription."""
    topic = types.Topic(name="projects/our-project/topics/orders")
    subscription = types.Subscription(name="projects/our-project/subscriptions/mine", topic=topic.name)
    async with grpc.aio.insecure_channel(place) as channel:
        for method, one in (("Publisher/CreateTopic", topic), ("Subscriber/CreateSubscription", subscription)):
            await channel.unary_unary(f"/google.pubsub.v1.{method}", type(one).serialize, type(one).deserialize)(one)


@asynccontextmanager
async def served() -> AsyncIterator[PubSubServer]:
    async with pubsub_server() as server:
        await made(server.place)
        yield server


@asynccontextmanager
async def received(place: str, kept: KeptRows) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(receiver_from(place).run(kept))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def numbers_of(kept: KeptRows) -> list[int]:
    return [json.loads(one.body)["event"]["n"] for one in kept.messages]


@pytest.fixture
async def google(tmp_path: Path) -> AsyncIterator[str]:
    """Where Google's own fake listens."""
    assert GO is not None
    building = await asyncio.create_subprocess_exec(GO, "build", "-o", str(tmp_path / "pstest"), ".", cwd=PSTEST)
    assert await building.wait() == 0
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(tmp_path / "pstest", stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    place = (await process.stdout.readline()).decode().strip()
    await made(place)
    try:
        yield place
    finally:
        process.stdin.close()
        await process.wait()


async def rows_come_back(place: str) -> None:
    sender, kept = sender_to(place), KeptRows()
    try:
        await sender.send("", rows(1, 2, 3))
        async with received(place, kept):
            await kept.until(3)
            await sender.send("", rows(*range(4, 904)))
            await kept.until(903)
    finally:
        await sender.close()
    # the protocol promises no order without a key
    assert sorted(numbers_of(kept)) == list(range(1, 904))
    first = next(one for one in kept.messages if json.loads(one.body)["event"]["n"] == 2)
    assert first.properties["row_id"] == "app:0:2:0"
    assert first.properties["row_time"] == "1002"
    assert first.properties["messageId"]


async def test_rows_go_out_and_messages_come_in() -> None:
    async with served() as server:
        await rows_come_back(server.place)
        async with asyncio.timeout(LIMIT_SECONDS):
            await server.emptied.wait()


@pytest.mark.soak
@pytest.mark.skipif(GO is None, reason="Go is not installed here")
async def test_googles_own_fake_takes_rows_and_gives_messages(google: str) -> None:
    await rows_come_back(google)


@pytest.mark.soak
@pytest.mark.skipif(GO is None, reason="Go is not installed here")
async def test_googles_own_fake_gives_what_was_not_kept_again(google: str) -> None:
    await gives_again(google)


async def gives_again(place: str) -> None:
    sender, kept = sender_to(place), KeptRows(fails=2)
    try:
        await sender.send("", rows(1, 2, 3))
        while kept.fails:
            async with received(place, kept) as task:
                with pytest.raises(StreamUnavailableError):
                    await task
        async with received(place, kept):
            await kept.until(3)
    finally:
        await sender.close()
    assert sorted(numbers_of(kept)) == [1, 2, 3]


async def test_what_is_not_kept_is_not_acknowledged_and_comes_again() -> None:
    async with served() as server:
        await gives_again(server.place)
        assert server.requests.count("acknowledge") <= 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("UNAVAILABLE", NotTakenError),
        ("PERMISSION_DENIED", NotTakenError),
        ("NOT_FOUND", NotTakenError),
        ("RESOURCE_EXHAUSTED", NotTakenError),
        ("UNAUTHENTICATED", NotTakenError),
        ("INVALID_ARGUMENT", RowsRefusedError),
    ],
)
async def test_what_says_nothing_about_a_row_is_tried_again(code: str, kind: type[Exception]) -> None:
    async with served() as server:
        sender = sender_to(server.place)
        server.refuses = code
        try:
            with pytest.raises(kind, match=f"answers {code}"):
                await sender.send("", rows(1))
            # one attempt: when the next one is, the queue says
            assert server.requests.count("publish") == 1
            server.refuses = None
            await sender.send("", rows(1))
        finally:
            await sender.close()


async def test_a_server_that_is_away_is_tried_again_and_gone_on_with() -> None:
    async with served() as server:
        sender, place = sender_to(server.place), server.place
        await sender.send("", rows(1))
    try:
        with pytest.raises(NotTakenError) as away:
            await sender.send("", rows(2))
        assert away.value.is_of_server
        async with pubsub_server(int(place.rpartition(":")[2]), server):
            async with asyncio.timeout(LIMIT_SECONDS):
                while True:
                    with suppress(NotTakenError):
                        await sender.send("", rows(2))
                        break
            kept = KeptRows()
            async with received(place, kept):
                await kept.until(2)
    finally:
        await sender.close()
    assert set(numbers_of(kept)) == {1, 2}


async def test_rows_of_one_key_have_it_as_their_ordering_key() -> None:
    async with served() as server:
        sender, kept = sender_to(server.place, ", ordering.key = '{{place}}'"), KeptRows()
        try:
            await sender.send("", rows(1, place="eu"))
            with pytest.raises(RowsRefusedError, match="ordering key has more than"):
                await sender.send("", rows(2, place="x" * 1_025))
            async with received(server.place, kept):
                await kept.until(1)
        finally:
            await sender.close()
    assert kept.messages[0].properties["orderingKey"] == "eu"


def test_as_many_messages_are_asked_for_as_fit() -> None:
    def message(size: int) -> PulledMessage:
        return PulledMessage(bytes(size), {}, "", "", "")

    assert most_messages([message(10)]) == MESSAGES_AT_ONCE
    assert most_messages([message(0)]) == MESSAGES_AT_ONCE
    assert most_messages([message(1 << 20), message(1 << 20)]) == BYTES_AT_ONCE >> 20
    assert most_messages([message(BYTES_AT_ONCE * 2)]) == 1


def test_keys_are_shown_to_nobody() -> None:
    terms: Any = PubSubTerms("p", "pubsub.googleapis.com:443", False, "a@b.example", "-----BEGIN PRIVATE KEY-----")
    assert "PRIVATE" not in repr(terms)
