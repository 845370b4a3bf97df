"""The contract of a destination, on its adapters over HTTP and a real receiver: taken, tried again, rejected."""

import json
import logging
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Protocol

import pytest

from market.time_units import MICROSECONDS
from notices.channels.chat_webhook import ChatSender
from notices.channels.secrets import ChatSecrets, TelegramSecrets, WebhookSecrets
from notices.channels.sender_port import Sender
from notices.channels.telegram_bot import TelegramSender
from notices.channels.webhook import WebhookSender
from notices.errors import DestinationRejectedError, DestinationUnavailableError, NoticesError
from runtime.clock import wall_now
from streams.broker.embedded_broker import free_ports
from tests.notices.receivers import Answer, Receiver, receiving
from tests.notices.samples import CHAT, KEY, TOKEN, message, trade

PATH = "/hooks/AAthePathThatIsAKey"
SECONDS = 20.0
"""An answer's time; a busy machine needs some of it."""
SOON_SECONDS = 0.5
"""Where no answer will come."""


class Opened(Protocol):
    """Opens a sender to a receiver's address."""

    def __call__(self, url: str, seconds: float = SECONDS) -> Sender: ...


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture(params=["webhook", "telegram", "discord", "slack"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Opened]:
    """Return a sender to a receiver's address; every test of the contract runs on each."""
    senders: list[Sender] = []

    def open_to(url: str, seconds: float = SECONDS) -> Sender:
        if request.param == "webhook":
            senders.append(WebhookSender(WebhookSecrets(url + PATH, KEY), seconds))
        elif request.param == "telegram":
            senders.append(TelegramSender(url, TelegramSecrets(TOKEN, CHAT), seconds))
        else:
            senders.append(ChatSender(ChatSecrets(request.param, url + PATH), seconds))
        return senders[-1]

    yield open_to
    for sender in senders:
        await sender.close()


async def test_what_is_taken_arrives_once(opened: Opened, receiver: Receiver) -> None:
    await opened(receiver.url).send(message(trade(1), trade(2)))
    (got,) = receiver.received
    assert b"Closed" in got.body
    assert b"PAPER" in got.body


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_what_may_be_taken_later(opened: Opened, receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _: Answer(status, "<html>busy</html>")
    with pytest.raises(DestinationUnavailableError, match=f"HTTP {status}") as failed:
        await opened(receiver.url).send(message())
    assert failed.value.retry_after is None


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422])
async def test_what_is_rejected_for_good(opened: Opened, receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _: Answer(status, "no", {"Location": f"{receiver.url}/elsewhere"})
    with pytest.raises(DestinationRejectedError, match=f"HTTP {status}"):
        await opened(receiver.url).send(message())
    assert len(receiver.received) == 1, "a redirection is not followed"


@pytest.mark.parametrize("asked", [7, 3_600, 1_000_000])
async def test_it_says_how_long_to_wait(opened: Opened, receiver: Receiver, asked: int) -> None:
    body = {"ok": False, "error_code": 429, "description": "Too Many", "parameters": {"retry_after": asked}}
    receiver.answer = lambda _: Answer(429, json.dumps(body), {"Retry-After": str(asked)})
    with pytest.raises(DestinationUnavailableError) as failed:
        await opened(receiver.url).send(message())
    assert failed.value.retry_after == min(asked, 3_600)


async def test_a_slow_one_is_given_its_time_and_no_more(opened: Opened, receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(seconds=None)
    with pytest.raises(DestinationUnavailableError, match=r"no answer within 0\.5 s"):
        await opened(receiver.url, SOON_SECONDS).send(message())


async def test_nobody_there(opened: Opened) -> None:
    (port,) = free_ports(1)
    with pytest.raises(DestinationUnavailableError, match="connection failed"):
        await opened(f"http://127.0.0.1:{port}").send(message())


async def test_it_comes_back(opened: Opened, receiver: Receiver) -> None:
    sender = opened(receiver.url)
    receiver.answer = lambda _: Answer(503)
    with pytest.raises(DestinationUnavailableError):
        await sender.send(message())
    receiver.answer = lambda _: Answer()
    await sender.send(message())
    assert receiver.received[0].body == receiver.received[1].body


@pytest.mark.parametrize("status", [200, 404, 429, 500, None])
async def test_no_secret_is_logged_or_raised(
    opened: Opened, receiver: Receiver, status: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """At debug, on every logger that there is, the libraries' own included."""
    said = {"ok": status == 200, "description": f"no {TOKEN} in {CHAT}", "result": {"message_id": 1, "date": 1}}
    receiver.answer = lambda _: Answer(status or 200, json.dumps(said))
    url = receiver.url if status else "http://127.0.0.1:1"
    loggers = [name for name in logging.Logger.manager.loggerDict if not name.startswith("aiohttp.")]
    for name in ("", *loggers):
        caplog.set_level(logging.DEBUG, logger=name)
    raised = ""
    try:
        await opened(url).send(message())
    except NoticesError as error:
        raised = f"{error!r} {error}"
        logging.getLogger("notices").exception("it failed")
    formatter = logging.Formatter()
    logged = "\n".join(formatter.format(record) for record in caplog.records if record.name != "aiohttp.access")
    for secret in (TOKEN, CHAT, PATH, KEY):
        assert secret not in logged + raised
    assert raised or status == 200


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "[]"),
        (200, '{"ok": true, "result": "text"}'),
        (200, '{"ok": true, "result": {"message_id": 1, "date": "now", "chat": {"id": 5, "type": "private"}}}'),
        (200, f'{{"ok": true, "result": {{"message_id": 1, "date": {10**30}, "chat": {{"id": 5, "type": "x"}}}}}}'),
        (500, "[" * 100_000),
    ],
)
async def test_what_is_no_telegram_ends_nothing(receiver: Receiver, status: int, body: str) -> None:
    """Anything else raised would end the process of all destinations, and again after each restart."""
    receiver.answer = lambda _: Answer(status, body)
    sender = TelegramSender(receiver.url, TelegramSecrets(TOKEN, CHAT))
    with pytest.raises(DestinationUnavailableError):
        await sender.send(message())
    await sender.close()


async def test_a_date_says_how_long_to_wait(receiver: Receiver) -> None:
    at = wall_now() // MICROSECONDS + 90
    receiver.answer = lambda _: Answer(503, headers={"Retry-After": formatdate(at, usegmt=True)})
    sender = WebhookSender(WebhookSecrets(receiver.url))
    with pytest.raises(DestinationUnavailableError) as failed:
        await sender.send(message())
    await sender.close()
    assert failed.value.retry_after is not None
    assert 80 < failed.value.retry_after <= 90
