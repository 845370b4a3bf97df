"""Destinations that are mailboxes, reached by one SMTP server (RFC 5321), encrypted unless it is on this machine."""

import asyncio
import smtplib
import ssl
from email.headerregistry import Address
from email.message import EmailMessage
from hashlib import sha256

from notices.channels.secrets import MailSecrets
from notices.channels.sender_port import ANSWER_SECONDS
from notices.errors import DestinationRejectedError, DestinationUnavailableError
from notices.messages import NoticeMessage, shortened
from runtime.loopback import is_loopback

SUBMISSIONS_PORT = 465
"""Encrypted from its first byte (RFC 8314); at other ports STARTTLS begins it."""
SUBJECT_CHARACTERS = 120


class MailSender:
    """`Sender` to the recipients of one destination. Each message has a connection of its own, in a thread."""

    def __init__(self, secrets: MailSecrets, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._secrets = secrets
        self._seconds = answer_seconds

    async def send(self, message: NoticeMessage) -> None:
        mail = mail_of(message, self._secrets)
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.to_thread(self._send, mail)
        except TimeoutError:
            raise DestinationUnavailableError(f"no answer within {self._seconds:g} s") from None
        except ssl.SSLCertVerificationError:
            raise DestinationUnavailableError("its certificate is not trusted") from None
        except smtplib.SMTPRecipientsRefused as error:
            raise _answered(max(code for code, _ in error.recipients.values())) from None
        except smtplib.SMTPNotSupportedError:
            raise DestinationRejectedError("the server offers no encryption, or no login") from None
        except smtplib.SMTPResponseException as error:
            # the server's words may repeat an address or a password
            raise _answered(error.smtp_code) from None
        except (smtplib.SMTPException, OSError) as error:
            raise DestinationUnavailableError(f"connection failed ({type(error).__name__})") from None

    async def close(self) -> None:
        """Nothing stays open."""

    def _send(self, mail: EmailMessage) -> None:
        secrets = self._secrets
        with self._connected() as server:
            if secrets.port != SUBMISSIONS_PORT and not is_loopback(secrets.host):
                server.starttls(context=ssl.create_default_context())
            if secrets.user:
                server.login(secrets.user, secrets.password)
            server.send_message(mail)

    def _connected(self) -> smtplib.SMTP:
        secrets = self._secrets
        if secrets.port == SUBMISSIONS_PORT:
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(secrets.host, secrets.port, timeout=self._seconds, context=context)
        return smtplib.SMTP(secrets.host, secrets.port, timeout=self._seconds)


def mail_of(message: NoticeMessage, secrets: MailSecrets) -> EmailMessage:
    """Return the mail; its Message-ID is the same however often it is sent, so that mailboxes know a repeat."""
    mail = EmailMessage()
    first, *_ = message.lines
    # one line, whatever an app or a rule says
    mail["Subject"] = shortened(" ".join(f"{message.badge} {first}".split()), SUBJECT_CHARACTERS)
    mail["From"] = Address(addr_spec=secrets.sender)
    mail["To"] = [Address(addr_spec=one) for one in secrets.recipients]
    name = sha256(message.message_id.encode()).hexdigest()[:32]
    mail["Message-ID"] = f"<{name}@{secrets.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    return mail


def _answered(code: int) -> DestinationUnavailableError | DestinationRejectedError:
    """4xx is a transient answer, 5xx a permanent one (RFC 5321, 4.2.1)."""
    words = f"SMTP {code}"
    return DestinationRejectedError(words) if code >= 500 else DestinationUnavailableError(words)
