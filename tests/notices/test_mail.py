"""What a mail server gets, and what its answers mean."""

from email import message_from_string, policy

import pytest

from notices.channels.mail import MailSender, mail_of
from notices.channels.secrets import MailSecrets
from notices.errors import DestinationRejectedError, DestinationUnavailableError
from notices.messages import NoticeMessage
from store.records.notice import Notice
from streams.broker.embedded_broker import free_ports
from tests.notices.mail_server import mail_server
from tests.notices.samples import AT, message, trade

PASSWORD = "AAthePassword"


def secrets(port: int, user: str = "") -> MailSecrets:
    recipients = ("one@example.com", "two@example.com")
    return MailSecrets("127.0.0.1", port, "desk@example.com", recipients, user, PASSWORD if user else "")


async def test_a_mail_has_its_subject_its_text_and_one_id() -> None:
    async with mail_server() as server:
        sender = MailSender(secrets(server.port))
        for _ in range(2):
            await sender.send(message(trade(1)))
        await sender.close()
    first, second = (message_from_string(one, policy=policy.default) for one in server.mails)
    assert (first["Subject"], first["To"]) == ("PAPER 22:13:21 UTC Closed BTC 1", "one@example.com, two@example.com")
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Message-ID"].endswith("@example.com>")
    assert first.get_content().strip() == "PAPER 22:13:21 UTC Closed BTC 1"
    assert sum(line.upper().startswith("RCPT") for line in server.commands) == 4


def test_a_line_makes_no_header() -> None:
    line = "Closed\r\nBcc: thief@example.com " + "x" * 500
    odd = NoticeMessage("x", "paper", (Notice("x", "trading", "trading_halted", AT, line),))
    mail = mail_of(odd, secrets(25))
    assert mail["Bcc"] is None
    assert len(mail["Subject"]) <= 120


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ({"RCPT": "550 no such user"}, DestinationRejectedError, "SMTP 550"),
        ({"RCPT": "450 busy"}, DestinationUnavailableError, "SMTP 450"),
        ({"MAIL": "552 full"}, DestinationRejectedError, "SMTP 552"),
        ({".": "451 later"}, DestinationUnavailableError, "SMTP 451"),
        ({"DATA": "554 spam"}, DestinationRejectedError, "SMTP 554"),
        ({"EHLO": "421 closing", "HELO": "421 closing"}, DestinationUnavailableError, "SMTP 421"),
    ],
)
async def test_what_an_answer_means(answers: dict[str, str | None], error: type[Exception], words: str) -> None:
    async with mail_server(answers) as server:
        with pytest.raises(error, match=words):
            await MailSender(secrets(server.port)).send(message())


async def test_a_server_without_a_login_gets_no_password() -> None:
    async with mail_server() as server:
        with pytest.raises(DestinationRejectedError, match="no encryption, or no login"):
            await MailSender(secrets(server.port, "desk")).send(message())
    assert PASSWORD not in "".join(server.commands)


async def test_nobody_there_and_one_that_never_answers() -> None:
    (port,) = free_ports(1)
    with pytest.raises(DestinationUnavailableError, match="connection failed"):
        await MailSender(secrets(port)).send(message())
    async with mail_server({"MAIL": None}) as server:
        with pytest.raises(DestinationUnavailableError, match=r"no answer|connection failed"):
            await MailSender(secrets(server.port), 0.5).send(message())


def test_no_secret_is_shown() -> None:
    assert PASSWORD not in repr(secrets(25, "desk"))
