"""A destination that takes JSON by POST, signed if it has a key."""

import hashlib
import hmac
from datetime import UTC, datetime

import orjson

from market.time_units import MICROSECONDS
from notices.channels.http_post import HttpPost
from notices.channels.secrets import WebhookSecrets
from notices.channels.sender_port import ANSWER_SECONDS
from notices.messages import NoticeMessage
from runtime.clock import wall_now
from store.records.notice import Notice

FORM = 1
"""Version of the JSON; whoever reads this one may not understand a later one."""
ID_HEADER = "X-Notice-Id"
TIME_HEADER = "X-Notice-Timestamp"
SIGNATURE_HEADER = "X-Notice-Signature"


class WebhookSender:
    """`Sender` to one address, with connections of its own."""

    def __init__(self, secrets: WebhookSecrets, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._secrets = secrets
        self._post = HttpPost(answer_seconds)

    async def send(self, message: NoticeMessage) -> None:
        body = orjson.dumps(message_document(message))
        await self._post.send(self._secrets.url, body, self._headers(message, body))

    async def close(self) -> None:
        await self._post.close()

    def _headers(self, message: NoticeMessage, body: bytes) -> dict[str, str]:
        now = str(wall_now() // MICROSECONDS)
        headers = {ID_HEADER: message.message_id, TIME_HEADER: now}
        if self._secrets.signing_key is not None:
            headers[SIGNATURE_HEADER] = signature(self._secrets.signing_key, now, body)
        return headers


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return `sha256=` and the HMAC of `timestamp.body` in hex; the timestamp, in seconds, keeps eavesdroppers from
    sending old messages again."""
    return f"sha256={hmac.new(key.encode(), timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def message_document(message: NoticeMessage) -> dict[str, object]:
    """Return the document that is posted. Mattermost shows only its `text`."""
    return {
        "form": FORM,
        "id": message.message_id,
        "mode": message.badge,
        "text": message.text,
        "notices": [_notice_document(notice) for notice in message.notices],
    }


def _notice_document(notice: Notice) -> dict[str, object]:
    return {
        "id": notice.notice_id,
        "kind": notice.kind,
        "event": notice.event,
        "at": notice.at,
        "time": datetime.fromtimestamp(notice.at / MICROSECONDS, UTC).isoformat(timespec="milliseconds"),
        "line": notice.line,
        "facts": dict(notice.facts),
    }
