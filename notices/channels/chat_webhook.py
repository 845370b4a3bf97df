"""Destinations that are a channel of Discord or Slack, reached by a webhook of that channel."""

import re
from collections.abc import Mapping
from typing import Literal

import orjson

from notices.channels.http_post import HttpPost
from notices.channels.secrets import ChatSecrets
from notices.channels.sender_port import ANSWER_SECONDS
from notices.messages import NoticeMessage, shortened

Chat = Literal["discord", "slack"]
DISCORD_CHARACTERS = 2_000
"""discord.com/developers/docs/resources/webhook#execute-webhook: `content`, as it is sent."""
_MARKDOWN = re.compile(r"([\\*_~`|>#\[\]])")
_SLACK_SIGNS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""docs.slack.dev/messaging/formatting-message-text: what has to be escaped, and nothing else."""


class ChatSender:
    """`Sender` to one channel, with connections of its own. A message that arrives twice looks like two."""

    def __init__(self, secrets: ChatSecrets, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._secrets = secrets
        self._post = HttpPost(answer_seconds)

    async def send(self, message: NoticeMessage) -> None:
        await self._post.send(self._secrets.url, orjson.dumps(chat_document(self._secrets.chat, message)), {})

    async def close(self) -> None:
        await self._post.close()


def chat_document(chat: Chat, message: NoticeMessage) -> Mapping[str, object]:
    """Return the document that is posted: plain text, that calls nobody and shows no preview."""
    if chat == "discord":
        return {"content": discord_text(message.text), "allowed_mentions": {"parse": []}}
    return {"text": message.text.translate(_SLACK_SIGNS), "mrkdwn": False, "unfurl_links": False}


def discord_text(text: str) -> str:
    """Return it with signs of Discord's Markdown as signs, and short enough with them."""
    escaped = _MARKDOWN.sub(r"\\\1", text)
    most = len(text)
    while len(escaped) > DISCORD_CHARACTERS:
        # each sign takes two characters at most
        most -= max(1, (len(escaped) - DISCORD_CHARACTERS) // 2)
        escaped = _MARKDOWN.sub(r"\\\1", shortened(text, most))
    return escaped
