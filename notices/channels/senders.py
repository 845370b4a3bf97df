"""Opens the sender of each destination."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from notices.channels.chat_webhook import ChatSender
from notices.channels.mail import MailSender
from notices.channels.secrets import ChatSecrets, MailSecrets, Secrets, TelegramSecrets, WebhookSecrets
from notices.channels.sender_port import Sender
from notices.channels.telegram_bot import TelegramSender
from notices.channels.webhook import WebhookSender
from session.notice_destinations import Destination


@asynccontextmanager
async def opened_senders(
    destinations: Sequence[Destination], secrets: Mapping[str, Secrets]
) -> AsyncIterator[dict[str, Sender]]:
    """Yield the senders by the destination's name, and close them at the end; nothing is sent before the first
    message."""
    async with AsyncExitStack() as stack:
        senders = {}
        for destination in destinations:
            senders[destination.name] = sender = sender_of(destination, secrets[destination.name])
            stack.push_async_callback(sender.close)
        yield senders


def sender_of(destination: Destination, secrets: Secrets) -> Sender:
    """Return the destination's sender. Call it within an event loop."""
    match secrets:
        case TelegramSecrets():
            return TelegramSender(destination.telegram_url.rstrip("/"), secrets)
        case ChatSecrets():
            return ChatSender(secrets)
        case MailSecrets():
            return MailSender(secrets)
        case WebhookSecrets():
            return WebhookSender(secrets)
