"""A destination that takes JSON by POST, signed if it has a key."""

import hashlib
import hmac
from datetime import UTC, datetime

import aiohttp
import orjson

from market.time_units import MICROSECONDS
from notices.channels.http_errors import check_answer, seconds_to_wait
from notices.channels.secrets import WebhookSecrets
from notices.channels.sender_port import ANSWER_SECONDS
from notices.errors import DestinationRejectedError, DestinationUnavailableError
from notices.messages import NoticeMessage
from runtime.clock import wall_now
from store.records.notice import Notice

FORM = 1
"""Version of the JSON; whoever reads this one may not understand a later one."""
ID_HEADER = "X-Notice-Id"
TIME_HEADER = "X-Notice-Timestamp"
SIGNATURE_HEADER = "X-Notice-Signature"


class WebhookSender:
    """`Sender` to one address, with connections of its own. It follows no redirects and reads no answer's body."""

    def __init__(self, secrets: WebhookSecrets, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._secrets = secrets
        self._seconds = answer_seconds
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=answer_seconds))

    async def send(self, message: NoticeMessage) -> None:
        body = orjson.dumps(message_document(message))
        try:
            async with self._http.post(
                self._secrets.url, data=body, headers=self._headers(message, body), allow_redirects=False
            ) as answer:
                status, asked = answer.status, seconds_to_wait(answer.headers.get("Retry-After"))
        except TimeoutError:
            raise DestinationUnavailableError(f"no answer within {self._seconds:g} s") from None
        except aiohttp.ClientConnectorCertificateError:
            raise DestinationUnavailableError("its certificate is not trusted") from None
        except aiohttp.ClientConnectorError:
            raise DestinationUnavailableError("connection failed") from None
        except (aiohttp.ClientError, OSError) as error:
            # the text of the error may hold the address, and with it a key
            raise DestinationUnavailableError(f"the connection broke ({type(error).__name__})") from None
        except ValueError:
            raise DestinationRejectedError("its address cannot be used") from None
        check_answer(status, asked)

    async def close(self) -> None:
        await self._http.close()

    def _headers(self, message: NoticeMessage, body: bytes) -> dict[str, str]:
        now = str(wall_now() // MICROSECONDS)
        headers = {"Content-Type": "application/json", ID_HEADER: message.message_id, TIME_HEADER: now}
        if self._secrets.signing_key is not None:
            headers[SIGNATURE_HEADER] = signature(self._secrets.signing_key, now, body)
        return headers


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return `sha256=` and the HMAC of `timestamp.body` in hex; the timestamp, in seconds, keeps eavesdroppers from
    sending old messages again."""
    return f"sha256={hmac.new(key.encode(), timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def message_document(message: NoticeMessage) -> dict[str, object]:
    """Return the document that is posted. Slack and Mattermost show only its `text`."""
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
