"""Rows to a topic of Pub/Sub and back, by its protocol: a small server of ours, and in soak Google's own fake."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cep.apps.ends.sink_ends import PubSubTarget
from cep.apps.ends.source_ends import PubSubMessages
from cep.apps.transports.delivery import SinkDelivery
from cep.apps.transports.outbox import AddedRow, RowOutbox
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from cep.apps.transports.pubsub_client import PubSubClient, PubSubTerms, PulledMessage
from cep.apps.transports.pubsub_ends import BYTES_AT_ONCE, MESSAGES_AT_ONCE, PubSubReceiver, PubSubSender, most_messages
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.ends import sink_of, source_of
from tests.cep.apps.transports.kept_rows import KeptRows
from tests.cep.apps.transports.pubsub_server import PubSubServer, grpc, pubsub_server, types
from tests.tls_server import made_certificates

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
PSTEST = Path(__file__).parent / "pstest"
OPTIONS = "type = 'googlepubsub', project.id = 'our-project', topic.id = 'orders'"
LIMIT_SECONDS = 60.0


def sender_to(place: str, more: str = "") -> PubSubSender:
    sink = sink_of(f"{OPTIONS}{more}, @map(type = 'json')")
    assert isinstance(sink.target, PubSubTarget)
    return PubSubSender(sink.target, sink.writer, terms_of(place))


async def sent(sender: PubSubSender, batch: Sequence[OutgoingRow]) -> None:
    await sender.send(sender.destination(batch[0].values), batch)


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
        await sent(sender, rows(1, 2, 3))
        async with received(place, kept):
            await kept.until(3)
            await sent(sender, rows(*range(4, 904)))
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
        await sent(sender, rows(1, 2, 3))
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
                await sent(sender, rows(1))
            # one attempt: when the next one is, the queue says
            assert server.requests.count("publish") == 1
            server.refuses = None
            await sent(sender, rows(1))
        finally:
            await sender.close()


async def test_a_server_that_is_away_is_tried_again_and_gone_on_with() -> None:
    async with served() as server:
        sender, place = sender_to(server.place), server.place
        await sent(sender, rows(1))
    try:
        with pytest.raises(NotTakenError) as away:
            await sent(sender, rows(2))
        assert away.value.is_of_server
        async with pubsub_server(int(place.rpartition(":")[2]), server):
            async with asyncio.timeout(LIMIT_SECONDS):
                while True:
                    with suppress(NotTakenError):
                        await sent(sender, rows(2))
                        break
            kept = KeptRows()
            async with received(place, kept):
                await kept.until(2)
    finally:
        await sender.close()
    assert set(numbers_of(kept)) == {1, 2}


async def test_rows_of_many_keys_arrive_with_theirs(tmp_path: Path) -> None:
    failed, long = dict[str, str](), "x" * 1_025

    async def keep(refused: Sequence[OutgoingRow], reason: str) -> None:
        failed.update(dict.fromkeys((one.id for one in refused), reason))

    async with served() as server:
        sender, kept = sender_to(server.place, ", ordering.key = '{{place}}'"), KeptRows()
        outbox = RowOutbox(tmp_path / "outbox.db")
        # those of a text that gave them no key
        waiting = [AddedRow("S", "s", f"{sender.server('')}/orders", one) for one in rows(1, 2)]
        for number, place in enumerate(("eu", "us", "eu", "", "eu"), 3):
            (row,) = rows(number, place=place)
            waiting.append(AddedRow("S", "s", sender.destination(row.values), row))
        # as of rows whose sender says that they go nowhere
        waiting += [AddedRow("S", "", "", one) for one in rows(8, 9, place=long)]
        outbox.add(waiting, {}, now=0)
        async with asyncio.timeout(LIMIT_SECONDS):
            await SinkDelivery("S", sender, outbox, "store", keep, 0.001).run(until_done=True)
        outbox.close()
        with pytest.raises(RowsRefusedError, match="ordering key has more than 1,024 bytes"):
            sender.destination({"place": long})
        with pytest.raises(RowsRefusedError, match="no ordering key: 'place' is null"):
            sender.destination({"place": None})
        async with received(server.place, kept):
            await kept.until(7)
    found = dict(zip(numbers_of(kept), (one.properties["orderingKey"] for one in kept.messages), strict=True))
    assert found == {1: "", 2: "", 3: "eu", 4: "us", 5: "eu", 6: "", 7: "eu"}
    assert [number for number in numbers_of(kept) if found[number] == "eu"] == [3, 5, 7]
    assert failed.keys() == {"app:0:8:0", "app:0:9:0"}


class OddRows:
    """A `RowWriter` that refuses even ones."""

    media_type = "text/plain"

    def write(self, values: Mapping[str, Any]) -> bytes:
        if values["n"] % 2 == 0:
            raise ValueError("an even one")
        return str(values["n"]).encode()

    def join(self, messages: Sequence[bytes]) -> bytes:
        return b"".join(messages)


async def test_a_row_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    failed = list[str]()

    async def keep(refused: Sequence[OutgoingRow], reason: str) -> None:
        failed.extend(one.id for one in refused)

    async with served() as server:
        kept, outbox = KeptRows(), RowOutbox(tmp_path / "outbox.db")
        sender = PubSubSender(PubSubTarget("s", "orders", None), OddRows(), terms_of(server.place))
        outbox.add([AddedRow("S", "s", sender.destination({}), one) for one in rows(1, 2, 3)], {}, now=0)
        async with asyncio.timeout(LIMIT_SECONDS):
            await SinkDelivery("S", sender, outbox, "store", keep, 0.001).run(until_done=True)
        outbox.close()
        async with received(server.place, kept):
            await kept.until(2)
    assert sorted(one.properties["row_id"] for one in kept.messages) == ["app:0:1:0", "app:0:3:0"]
    assert failed == ["app:0:2:0"]


@asynccontextmanager
async def token_server(*answers: web.Response) -> AsyncIterator[str]:
    """Where a service account gets a token: these answers, in turn."""
    left = list(answers)

    async def answer(request: web.Request) -> web.Response:
        return left.pop(0)

    application = web.Application()
    application.router.add_post("/token", answer)
    async with TestServer(application) as server:
        yield str(server.make_url("/token"))


def account(server: PubSubServer, tokens: str, ca: Path) -> PubSubTerms:
    key = rsa.generate_private_key(65_537, 2_048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return PubSubTerms("our-project", server.place, False, "me@our.example", pem, str(ca), tokens)


async def test_a_service_account_shows_its_token_and_says_in_a_sentence_that_it_gets_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = made_certificates(tmp_path, "127.0.0.1")
    certificate = files.server("127.0.0.1").read_bytes()
    refused = web.json_response({"error": "invalid_grant", "error_description": "of PRIVATE"}, status=400)
    given = web.json_response({"access_token": "one", "expires_in": 3_600, "token_type": "Bearer"})
    topic = "projects/our-project/topics/orders"
    world = PubSubServer(subscriptions={"mine": topic}, waiting={"mine": {}})
    async with pubsub_server(0, world, certificate) as server, token_server(refused, given) as tokens:
        client = PubSubClient(account(server, tokens, files.ca))
        try:
            with pytest.raises(NotTakenError) as problem:
                await client.publish("orders", [(b"1", {})])
            assert str(problem.value) == f"Pub/Sub at {server.place}: the service account gets no token"
            assert not problem.value.is_of_server
            await asyncio.gather(*(client.publish("orders", [(b"1", {})]) for _ in range(3)))
        finally:
            await client.close()
    assert server.logins == 3 * ["Bearer one"]
    assert not [one for one in caplog.records if one.name.startswith("grpc")]


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
