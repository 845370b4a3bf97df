"""What a webhook gets, and how it knows from whom."""

import hashlib
import hmac

from notices.channels.secrets import WebhookSecrets
from notices.channels.webhook import WebhookSender
from tests.notices.receivers import receiving
from tests.notices.samples import AT, KEY, message, trade


async def test_the_signature_is_over_time_and_body() -> None:
    async with receiving() as receiver:
        sender = WebhookSender(WebhookSecrets(f"{receiver.url}/x", KEY))
        await sender.send(message())
        await sender.close()
    (got,) = receiver.received
    signed = got.headers["X-Notice-Timestamp"].encode() + b"." + got.body
    expected = hmac.new(KEY.encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["X-Notice-Signature"] == f"sha256={expected}"
    assert abs(int(got.headers["X-Notice-Timestamp"]) - got.at // 1_000_000) <= 2


async def test_without_a_key_nothing_is_signed() -> None:
    async with receiving() as receiver:
        sender = WebhookSender(WebhookSecrets(f"{receiver.url}/x"))
        await sender.send(message())
        await sender.close()
    assert "X-Notice-Signature" not in receiver.received[0].headers


async def test_the_document() -> None:
    async with receiving() as receiver:
        sender = WebhookSender(WebhookSecrets(f"{receiver.url}/x/y?z=1"))
        await sender.send(message(trade(1, "0.123456789012345678")))
        await sender.close()
    (got,) = receiver.received
    assert (got.path, got.headers["Content-Type"]) == ("/x/y", "application/json")
    assert got.headers["X-Notice-Id"] == got.document["id"] == "trade:1"
    assert got.document["text"] == "PAPER 22:13:21 UTC Closed BTC 1"
    (notice,) = receiver.notices
    assert notice["facts"] == {
        "base": "BTC",
        "buy_exchange": "bitflyer",
        "sell_exchange": "kraken",
        "net": "0.123456789012345678",
        "currency": "USD",
    }
    assert (notice["at"], notice["time"]) == (AT + 1_000_000, "2023-11-14T22:13:21.000+00:00")
