"""A destination that is a Telegram chat, reached by a bot of the user's own."""

import asyncio
import html
import json
import logging

from telegram import Bot, LinkPreviewOptions
from telegram._utils.types import ODVInput
from telegram.constants import ParseMode
from telegram.error import TelegramError, TimedOut
from telegram.request import HTTPXRequest, RequestData

from notices.channels.http_errors import LONGEST_WAIT, check_answer
from notices.channels.secrets import HiddenInLogs, TelegramSecrets
from notices.channels.sender_port import ANSWER_SECONDS
from notices.errors import DestinationUnavailableError
from notices.messages import NoticeMessage, shortened

TALKATIVE = ("httpx", "telegram.Bot", "telegram.request.HTTPXRequest", "telegram.request.BaseRequest")
"""Loggers that name the address of each request, and with it the bot's token."""
MAX_QUOTED = 120
STRANGE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)
"""Errors that the library makes of a 2xx whose JSON is no message; one destination's oddities must not end all."""


class TelegramSender:
    """`Sender` to one chat, with connections of its own. It only sends, and never reads the chat."""

    def __init__(self, url: str, secrets: TelegramSecrets, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._secrets = secrets
        self._seconds = answer_seconds
        self._hidden = HiddenInLogs(secrets.all)
        for name in TALKATIVE:
            logging.getLogger(name).addFilter(self._hidden)
        self._request = _Request(
            connection_pool_size=2,
            connect_timeout=answer_seconds / 2,
            read_timeout=answer_seconds,
            write_timeout=answer_seconds,
            pool_timeout=answer_seconds / 2,
            httpx_kwargs={"trust_env": False},
        )
        self._bot = Bot(
            secrets.token,
            base_url=f"{url}/bot",
            base_file_url=f"{url}/file/bot",
            request=self._request,
            get_updates_request=self._request,
        )

    async def send(self, message: NoticeMessage) -> None:
        try:
            # the library's own limits are for each read, and an answer may come in small pieces
            async with asyncio.timeout(self._seconds):
                await self._bot.send_message(
                    self._secrets.chat,
                    telegram_text(message),
                    parse_mode=ParseMode.HTML,
                    link_preview_options=LinkPreviewOptions(is_disabled=True),
                )
        except _AnsweredError as answered:
            check_answer(answered.status, answered.retry_after, self._secrets.hidden_in(answered.said)[:MAX_QUOTED])
        except (TimedOut, TimeoutError):
            raise DestinationUnavailableError(f"no answer within {self._seconds:g} s") from None
        except TelegramError:
            # the text of the error may hold the address, and with it the token
            raise DestinationUnavailableError("connection failed") from None
        except STRANGE:
            raise DestinationUnavailableError("the server that answers is not Telegram") from None

    async def close(self) -> None:
        await self._request.shutdown()
        for name in TALKATIVE:
            logging.getLogger(name).removeFilter(self._hidden)


class _AnsweredError(TelegramError):
    """An answer with its status; the library would make an error of it that has lost the status."""

    def __init__(self, status: int, said: str, retry_after: float | None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.said = said
        self.retry_after = retry_after


class _Request(HTTPXRequest):
    """Reports every answer but 2xx by its status."""

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: ODVInput[float] = HTTPXRequest.DEFAULT_NONE,
        write_timeout: ODVInput[float] = HTTPXRequest.DEFAULT_NONE,
        connect_timeout: ODVInput[float] = HTTPXRequest.DEFAULT_NONE,
        pool_timeout: ODVInput[float] = HTTPXRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        status, payload = await super().do_request(
            url, method, request_data, read_timeout, write_timeout, connect_timeout, pool_timeout
        )
        if 200 <= status < 300:
            return status, payload
        raise _AnsweredError(status, *_error_of(payload))


def _error_of(payload: bytes) -> tuple[str, float | None]:
    """Return its description and how long it asks to wait (core.telegram.org/bots/api#responseparameters), if it says
    so."""
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(document, dict):
        return "", None
    parameters = document.get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    wait = float(min(asked, LONGEST_WAIT)) if isinstance(asked, int | float) and asked >= 0 else None
    return str(document.get("description", "")), wait


def telegram_text(message: NoticeMessage) -> str:
    """Return the message as Telegram's HTML. It is shortened before anything is escaped, so that no cut leaves half of
    a mark."""
    lines = shortened("\n".join(message.lines))
    first, _, rest = html.escape(lines, quote=False).partition("\n")
    return f"<b>{html.escape(message.badge)}</b> {first}" + (f"\n{rest}" if rest else "")
